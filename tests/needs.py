"""The only way to skip a test: it needs something that this machine lacks, and the summary says what.

Call these functions inside a test or a fixture. With CI=true nothing may be skipped, so a missing tool is a failure. A
house test ensures that no other file skips anything.
"""

import functools
import os
import shutil
import subprocess
from pathlib import Path
from typing import NoReturn

import pytest

HOME = os.environ.get("HOME", "/")
"""Read at import, before a test gets its own home: toolchains are there."""
VERSION = {
    "awk": "-Wversion", "go": "version", "javac": "-version", "lua5.4": "-v", "newlisp": "-v", "openssl": "version",
    "rc": "-v", "tmux": "-V",
}  # fmt: skip
"""The argument that prints the version of a program, where it is not `--version`."""
SECONDS = 60
NEWER_GIT = Path(__file__).parents[1] / ".cache" / "test-runners" / "git" / "bin"
"""The directory in which scripts/test-runners installs a git with the reftable format, if the machine's is older."""


def needs(program: str) -> str:
    """Return the path of a program on PATH that runs. Without it, skip the test."""
    return usable(program) or leave_out(program)


def usable(program: str, path: str | None = None) -> str:
    """Return the path of a program on PATH; empty if there is none, or it does not run (a shim, for example)."""
    found = shutil.which(program, path=path)
    return found if found and _runs(found) else ""


@functools.cache
def _runs(path: str) -> bool:
    command = [path, VERSION.get(os.path.basename(path), "--version")]
    try:
        ran = subprocess.run(
            command,
            env={**os.environ, "HOME": HOME},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=SECONDS,
            check=False,
        )
    except OSError:
        return False
    return ran.returncode == 0


def needs_reftable_git() -> str:
    """Return PATH with a git first that knows the reftable format. Without one, skip the test."""
    paths = (os.environ["PATH"], f"{NEWER_GIT}:{os.environ['PATH']}")
    fit = [path for path in paths if (git := usable("git", path)) and "--ref-format" in _usage_of_init(git)]
    return fit[0] if fit else leave_out("a git with the reftable format (scripts/test-runners installs it)")


@functools.cache
def _usage_of_init(git: str) -> str:
    return subprocess.run([git, "init", "-h"], capture_output=True, timeout=SECONDS, check=False, text=True).stdout


def needs_root() -> None:
    """Skip the test unless it runs as root, for example because it becomes another user."""
    if os.geteuid() != 0:
        leave_out("root")


def leave_out(what: str) -> NoReturn:
    """Skip the test because `what` is missing, which is neither a program nor root."""
    reason = f"not run: {what} is missing"
    if os.environ.get("CI") == "true":
        pytest.fail(reason, pytrace=False)
    pytest.skip(reason)
