"""The one way to leave a test out: it needs something that this machine lacks, and the summary says what.

Call these inside a test or a fixture. With CI=true nothing may be left out, so there a lack is a failure. A
house test sees to it that no other file skips anything.
"""

import os
import shutil
from typing import NoReturn

import pytest


def needs(program: str) -> str:
    """The path of a program on PATH; without it the test is not run."""
    return shutil.which(program) or leave_out(program)


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
