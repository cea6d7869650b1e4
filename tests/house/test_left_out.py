"""The one way to leave a test out: the missing thing is named, and nothing may be missing in CI."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from needs import usable

ROOT = Path(__file__).parents[2]


def test_an_installed_program_that_does_not_run_counts_as_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, does in {"shim": "exit 1", "tool": "test $1 = --version", "go": "test $1 = version"}.items():
        (tmp_path / name).write_text(f"#!/bin/sh\n{does}\n")
        (tmp_path / name).chmod(0o755)
    (tmp_path / "dangling").write_text("#!/no/such/interpreter\n")
    (tmp_path / "dangling").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    assert [usable(name) for name in ("shim", "dangling", "not-there")] == ["", "", ""]
    assert [usable(name) for name in ("tool", "go")] == [f"{tmp_path}/tool", f"{tmp_path}/go"]


@pytest.mark.parametrize(
    ("ci", "ends_as", "also_printed"),
    [("", "1 skipped", "missing (1)\n  test_lack.py::test_it_needs_it\n"), ("true", "1 failed", "FAILED")],
    ids=["anywhere", "where CI is true"],
)
def test_a_missing_tool_is_named_in_the_summary_and_fails_in_ci(
    tmp_path: Path, ci: str, ends_as: str, also_printed: str
) -> None:
    for name in ("conftest.py", "needs.py", "tiers.py"):
        shutil.copy(ROOT / "tests" / name, tmp_path)
    test = "from needs import needs\ndef test_it_needs_it() -> None:\n    needs('no-such-program')\n"
    (tmp_path / "test_lack.py").write_text(test)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_lack.py"]
    environment = {**os.environ, "CI": ci, "PYTEST_ADDOPTS": ""}
    run = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert "not run: no-such-program is missing" in run.stdout
    assert ends_as in run.stdout
    assert also_printed in run.stdout
