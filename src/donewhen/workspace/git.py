"""The one function that starts git. Nothing here is found by looking around: git dir, index and work tree are given.

Git runs what a repository's configuration, attributes, hooks and helpers tell it to run. Ours is told nothing: no
inherited environment, no system or user configuration, no discovery, no transport, no prompt, and a git dir that
nobody but us writes. The program itself comes from the system's own directories, never from a tree.

Which commands are asked for, and where, is the business of `repo` and `store`.
"""

import shutil
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from donewhen.errors import MachineryBroke
from donewhen.records import frozen
from donewhen.workspace.command import Command, Confinement, End, Finished
from donewhen.workspace.process import Launcher
from donewhen.workspace.sandbox.level import SYSTEM_PATH

KEEP_BYTES = 1 << 30
"""Of what git prints, this much is kept from the head and as much from the tail; more is an error, never a cut."""
TIMEOUT_SECS = 600.0
"""Nothing we ask for takes this long, short of rules made to keep git busy for ever."""
OLDEST = (2, 39)
"""Debian 12 has it; nothing older was tried."""
ALONE = {
    "PATH": SYSTEM_PATH,
    "LC_ALL": "C",
    "TZ": "UTC",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_SYSTEM": "/dev/null",
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_ATTR_NOSYSTEM": "1",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_ALLOW_PROTOCOL": "",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_EDITOR": "/bin/false",
    "GIT_PAGER": "/bin/cat",
}
"""The whole environment, but for the place."""

Settings = Sequence[tuple[str, str]]


class GitFailed(MachineryBroke):
    """Git ended with an error where we expected none. `said` is what it printed about it."""

    def __init__(self, command: str, said: str) -> None:
        lines = [line.strip() for line in said.splitlines() if line.strip()]
        grave = [line for line in lines if line.startswith(("fatal:", "error:"))]
        super().__init__(f"git {command} failed: {[*grave, *lines, 'no reason given'][0]}")
        self.said = said


@frozen(kw_only=True)
class Place:
    """Everything git would otherwise look for."""

    git_dir: Path
    work_tree: Path
    index: Path


NOWHERE = Place(git_dir=Path("/dev/null"), work_tree=Path("/"), index=Path("/dev/null"))
"""For the few commands that need no repository, such as reading a file in git's configuration syntax."""


async def git(
    launcher: Launcher,
    place: Place,
    *arguments: str,
    stdin: bytes = b"",
    settings: Settings = (),
    date: str = "",
    memory: int = 0,
) -> bytes:
    """Run one git command and give back what it printed.

    `date` also gives commits made by it a neutral identity. `memory` bounds what it may use, in bytes.
    """
    command = Command(
        argv=[git_program(), *arguments],
        cwd=place.work_tree,
        env={**ALONE, **_place(place), **_settings(settings), **(_identity(date) if date else {})},
        stdin=stdin,
        keep_bytes=KEEP_BYTES,
        timeout_secs=TIMEOUT_SECS,
        confinement=Confinement(rlimits={"DATA": memory} if memory else {}),
    )
    finished = await launcher.run(command)
    if finished.end is End.COULD_NOT_START:
        raise MachineryBroke(f"git could not be started: {finished.reason}")
    if not finished.ok:
        raise GitFailed(arguments[0], _complaint(finished))
    if finished.stdout.cut:
        raise GitFailed(arguments[0], f"it printed {finished.stdout.total} bytes, more than can be kept")
    return finished.stdout.whole()


@cache
def git_program() -> str:
    found = shutil.which("git", path=SYSTEM_PATH)
    if found is None:
        raise MachineryBroke("git is not installed")
    return found


async def check_version(launcher: Launcher) -> None:
    said = (await git(launcher, NOWHERE, "version")).decode().split()
    numbers = tuple(int(part) for part in said[2].split(".")[:2])
    if numbers < OLDEST:
        raise MachineryBroke(f"git {said[2]} is too old: {OLDEST[0]}.{OLDEST[1]} or newer is needed")


def _place(place: Place) -> dict[str, str]:
    return {
        "GIT_DIR": str(place.git_dir),
        "GIT_WORK_TREE": str(place.work_tree),
        "GIT_INDEX_FILE": str(place.index),
        "GIT_CEILING_DIRECTORIES": str(place.work_tree),
    }


def _settings(settings: Settings) -> dict[str, str]:
    """Settings for one command, handed over so that no character in them can mean anything else."""
    numbered = {f"GIT_CONFIG_KEY_{n}": key for n, (key, _) in enumerate(settings)}
    numbered |= {f"GIT_CONFIG_VALUE_{n}": value for n, (_, value) in enumerate(settings)}
    return {**numbered, "GIT_CONFIG_COUNT": str(len(settings))}


def _identity(date: str) -> dict[str, str]:
    who = {"NAME": "donewhen", "EMAIL": "donewhen@localhost", "DATE": date}
    return {f"GIT_{role}_{what}": value for role in ("AUTHOR", "COMMITTER") for what, value in who.items()}


def _complaint(finished: Finished) -> str:
    if finished.end is End.TIMED_OUT:
        return f"it took longer than {TIMEOUT_SECS:.0f} seconds"
    said = finished.stderr.whole().decode("utf-8", "replace")
    return said if said.strip() else f"it ended with {finished.exit_code}"
