"""The one way to leave a test out: it needs something that this machine lacks, and the summary says what.

Call these inside a test or a fixture. With CI=true nothing may be left out, so there a lack is a failure. A
house test sees to it that no other file skips anything.
"""

import functools
import os
import shutil
import subprocess
from typing import NoReturn

import pytest

HOME = os.environ.get("HOME", "/")
"""Read at import, before any test has a home of its own: toolchains live there."""
VERSION = {"go": "version", "javac": "-version", "openssl": "version", "tmux": "-V"}
"""What makes a program say its version, where that is not `--version`."""
SECONDS = 60


def needs(program: str) -> str:
    """The path of a program on PATH that runs; without it the test is not run."""
    return usable(program) or leave_out(program)


def usable(program: str, path: str | None = None) -> str:
    """The path of a program on PATH; empty when there is none, or it does not run, as a shim without a toolchain."""
    found = shutil.which(program, path=path)
    return found if found and _runs(found) else ""


@functools.cache
def _runs(path: str) -> bool:
    command = [path, VERSION.get(os.path.basename(path), "--version")]
    try:
        ran = subprocess.run(
            command, env={**os.environ, "HOME": HOME}, capture_output=True, timeout=SECONDS, check=False
        )
    except OSError:
        return False
    return ran.returncode == 0


def needs_root() -> None:
    """For tests that only root can set up, such as becoming another user."""
    if os.geteuid() != 0:
        leave_out("root")


def leave_out(what: str) -> NoReturn:
    """End the test because `what` is missing; for a lack that is neither a program nor root."""
    reason = f"not run: {what} is missing"
    if os.environ.get("CI") == "true":
        pytest.fail(reason, pytrace=False)
    pytest.skip(reason)
