"""A repository that comes with its own `.git` reaches nothing of its user, as root and as an ordinary user.

The kernel reports every file of the user that is opened or written meanwhile. With the defences off the same
repositories do reach it.
"""

import contextlib
import json
import os
import pwd
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any

from test_escapes import HERE, SOURCE, installed, somebody_else

from needs import leave_out, needs

IMPORTED = ("anyio", "click", "idna", "sniffio", "typing_extensions", "tree_sitter", "tree_sitter_bash")
SECONDS = 900


@contextlib.contextmanager
def users() -> Generator[dict[str, list[str]]]:
    """How to become each user: the one that runs the tests and, where that is root, an ordinary one."""
    with contextlib.ExitStack() as stack:
        found = {pwd.getpwuid(os.geteuid()).pw_name: list[str]()}
        if os.geteuid() == 0:
            account = stack.enter_context(somebody_else())
            becoming = [needs("setpriv"), f"--reuid={account.pw_uid}", f"--regid={account.pw_gid}", "--clear-groups"]
            found[account.pw_name] = [*becoming, "--"]
        yield found


@contextlib.contextmanager
def code_for_everybody() -> Generator[Path]:
    """donewhen, what it imports, and the attacks, where every user may read them."""
    with tempfile.TemporaryDirectory(dir="/var/tmp", prefix="hostile-") as name:
        code = Path(name)
        for package in (SOURCE / "donewhen", *map(installed, IMPORTED)):
            if package is not None:
                copy = shutil.copytree if package.is_dir() else shutil.copy
                copy(package, code / package.name)
        for module in HERE.glob("*.py"):
            shutil.copy(module, code)
        subprocess.run(["chmod", "-R", "u=rwX,go=rX", name], check=True)
        yield code


def interpreter(becoming: list[str]) -> str:
    """A Python that this user may run; the tests' own often lives in somebody's home."""
    program = "import subprocess, sys; sys.exit(sys.version_info < (3, 11) or subprocess.call([sys.executable, '-V']))"
    for python in (sys.executable, "/usr/bin/python3"):
        command = [*becoming, python, "-c", program]
        if subprocess.run(command, cwd="/", check=False, capture_output=True).returncode == 0:
            return python
    return leave_out("a python3 of 3.11 or later that every user may run")


def results() -> dict[str, list[dict[str, Any]]]:
    with users() as found, code_for_everybody() as code, contextlib.ExitStack() as stack:
        programs: dict[str, subprocess.Popen[str]] = {}
        for name, becoming in found.items():
            account = pwd.getpwnam(name)
            home = stack.enter_context(tempfile.TemporaryDirectory(dir=account.pw_dir, ignore_cleanup_errors=True))
            os.chown(home, account.pw_uid, account.pw_gid)
            only = [] if becoming else ["--control"]
            argv = [*becoming, interpreter(becoming), "-B", str(code / "hostile_repositories.py"), home, *only]
            env = {"PATH": "/usr/local/bin:/usr/bin:/bin", "PYTHONPATH": str(code)}
            program = subprocess.Popen(
                argv, env=env, cwd="/", stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
            )
            programs[name] = stack.enter_context(program)
        return {name: rows_of(program) for name, program in programs.items()}


def rows_of(program: subprocess.Popen[str]) -> list[dict[str, Any]]:
    try:
        output, complaints = program.communicate(timeout=SECONDS)
    except subprocess.TimeoutExpired:
        program.kill()
        raise
    assert program.returncode == 0, complaints
    rows: list[dict[str, Any]] = json.loads(output)
    return rows


def wrong(row: dict[str, Any]) -> str:
    """What speaks against one result; empty when it is as it should be."""
    if not row["defended"]:
        return "" if row["events"] or row["leaked"] else "the attack does nothing even without the defences"
    if row["events"] or row["leaked"] or row["traceback"]:
        return f"got out: {row['events']}, shown: {row['leaked']}, traceback: {row['traceback']}"
    if row["attack"] == "nothing at all":
        return "" if row["code"] == 0 else f"an honest repository ended with {row['code']}"
    if not row["goes_on"] and not row["landed"]:
        return "" if row["code"] == 2 and len(row["said"]) == 1 else "it was not refused in one line"
    return "" if row["code"] != 2 or not row["goes_on"] else "it was refused"


def test_no_hostile_repository_reaches_its_user_as_root_or_as_an_ordinary_user(
    show_table: Callable[[str], None],
) -> None:
    for program in ("bwrap", "git"):
        needs(program)
    rows = [(user, row) for user, found in results().items() for row in found]
    faults = [f"{user}: {row['attack']}: {why}\n{row}" for user, row in rows if (why := wrong(row))]
    attacks = {row["attack"] for _, row in rows}
    users_seen = {user for user, _ in rows}
    show_table(f"hostile repositories: {len(attacks)} attacks, {len(users_seen)} users, {len(rows)} runs")
    assert not faults, "\n".join(faults)
    if os.geteuid() == 0:
        assert len(users_seen) == 2
    assert len(attacks) >= 40
