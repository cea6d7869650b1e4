"""What keeps keys, the gateway, trust and hostile text in bounds holds for an ordinary user as it does for root.

The other tests of these things run as whoever runs the suite. Where that is root, they run here once more as a user
without any rights, in a copy of the checkout that everybody may read, below a path with a space. Often that user has
another Python: that of the system, because root's own lies in root's home.
"""

import os
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from attackers import Attacker, attacker, can_run, somebody_else

from clones import copy_checkout
from needs import leave_out, needs_root
from tiers import TIER

SECONDS = 900
FILES = {
    "settings and trust": ("session/test_settings.py", "session/test_toml.py", "session/test_widening.py"),
    "keys": ("model/test_keys_stay_home.py", "runs/test_keys_of_a_run.py", "session/test_model_server.py"),
    "the gateway": ("engines/external/test_gateway_endpoints.py", "engines/external/test_gateway_key.py"),
    "whole runs": (
        "cli/test_verify.py",
        "runs/test_hostile_text.py",
        "runs/test_refused_work.py",
        "runs/test_memory_sources.py",
        "runs/test_large_files.py",
    ),
    "landing": (
        "workspace/landing/test_apply.py",
        "workspace/landing/test_branches.py",
        "workspace/landing/test_delivery.py",
        "workspace/landing/test_shared_repository.py",
    ),
    "files and parsers": ("workspace/test_beneath.py", "workspace/test_no_hard_links.py", "fuzz/test_parsers.py"),
}


@pytest.fixture(scope="module")
def user_with_checkout() -> Iterator[tuple[Attacker, Path]]:
    needs_root()
    with somebody_else() as account, attacker(account) as who, tempfile.TemporaryDirectory(dir="/srv") as place:
        if not can_run(who):
            leave_out("a python3 of 3.11 or later that every user may run")
        Path(place).chmod(0o755)
        yield who, copy_checkout(Path(place, "a clone"), who.python)


@pytest.mark.sample(1)
@pytest.mark.parametrize("about", FILES)
def test_these_tests_pass_for_an_ordinary_user(user_with_checkout: tuple[Attacker, Path], about: str) -> None:
    who, checkout = user_with_checkout
    env = {
        "PATH": f"{checkout}/.venv/bin:{os.environ['PATH']}",
        "HOME": str(who.home),
        "TMPDIR": str(who.world),
        "HYPOTHESIS_STORAGE_DIRECTORY": str(who.home),
        "DONEWHEN_TESTS": TIER,
    }
    files = [f"tests/{file}" for file in FILES[about]]
    command = [f"{checkout}/.venv/bin/python", "-m", "pytest", "-q", "-p", "no:cacheprovider", *files]
    ran = subprocess.run(
        [*who.becoming(), *command], cwd=checkout, env=env, capture_output=True, text=True, timeout=SECONDS, check=False
    )
    assert ran.returncode == 0, ran.stdout[-6000:] + ran.stderr[-2000:]
    left_out = [line for line in ran.stdout.splitlines() if line.startswith("SKIPPED")]
    assert [line for line in left_out if not line.endswith("not run: root is missing")] == []
