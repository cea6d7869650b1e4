"""The only function that starts git. The caller gives git directory, index and work tree; git discovers nothing.

Git runs programs that a repository's configuration, attributes, hooks and helpers name. Our git process gets none of
them: no inherited environment, no system or user configuration, no discovery, no prompt, and a git directory that only
we write. Only `push` lets it use the network. The git program comes from the system's directories, never from a tree.

`repo` and `store` decide which commands run, and where.
"""

import shutil
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path

from donewhen.errors import MachineryBroke
from donewhen.records import frozen
from donewhen.workspace.process.command import Command, Confinement, End, Finished
from donewhen.workspace.process.launch import Launcher
from donewhen.workspace.sandbox.level import SYSTEM_PATH

KEEP_BYTES = 1 << 30
"""Output kept from the head, and the same amount from the tail. More output is an error; it is never truncated."""
TIMEOUT_SECS = 600.0
"""No command of ours takes this long, except with ignore or attribute rules made to keep git busy without end."""
OLDEST = (2, 39)
"""Minimum git version: the one of Debian 12. Older versions are untested."""
ENVIRONMENT = {
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
"""The whole environment of git, except the variables of GitLocation, settings and identity."""

Settings = Sequence[tuple[str, str]]


class GitFailed(MachineryBroke):
    """An unexpected failure of git. `stderr` is the error text that it printed."""

    def __init__(self, command: str, stderr: str) -> None:
        lines = [line.strip() for line in stderr.splitlines() if line.strip()]
        grave = [line for line in lines if line.startswith(("fatal:", "error:"))]
        super().__init__(f"git {command} failed: {[*grave, *lines, 'no reason given'][0]}")
        self.stderr = stderr


@frozen(kw_only=True)
class GitLocation:
    """The paths that git would otherwise discover."""

    git_dir: Path
    work_tree: Path
    index: Path
    check: Callable[[], None] | None = None
    """Check for a work tree that others wrote: raises if something in it could block git."""


NO_LOCATION = GitLocation(git_dir=Path("/dev/null"), work_tree=Path("/"), index=Path("/dev/null"))
"""Location for the few commands that need no repository, such as parsing git's configuration syntax."""


async def git(
    launcher: Launcher,
    location: GitLocation,
    *arguments: str,
    stdin: bytes = b"",
    settings: Settings = (),
    date: str = "",
    memory: int = 0,
    network: Mapping[str, str] | None = None,
) -> bytes:
    """Run one git command and return its standard output.

    If `date` is set, commits made by the command also get a neutral identity. `memory` limits its memory, in bytes.
    `network` has the variables of a command that may use the network (`workspace.git.push`).
    """
    command = Command(
        argv=[git_program(), *arguments],
        cwd=location.work_tree,
        env={
            **ENVIRONMENT,
            **_location_variables(location),
            **_settings(settings),
            **(_identity(date) if date else {}),
            **(network or {}),
        },
        stdin=stdin,
        keep_bytes=KEEP_BYTES,
        timeout_secs=TIMEOUT_SECS,
        confinement=Confinement(rlimits={"DATA": memory} if memory else {}),
    )
    finished = await launcher.run(command)
    if finished.end is End.COULD_NOT_START:
        raise MachineryBroke(f"git could not be started: {finished.reason}")
    if not finished.ok:
        raise GitFailed(arguments[0], _error_text(finished))
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
    fields = (await git(launcher, NO_LOCATION, "version")).decode().split()
    numbers = tuple(int(part) for part in fields[2].split(".")[:2])
    if numbers < OLDEST:
        raise MachineryBroke(f"git {fields[2]} is too old: {OLDEST[0]}.{OLDEST[1]} or newer is needed")


def _location_variables(location: GitLocation) -> dict[str, str]:
    return {
        "GIT_DIR": str(location.git_dir),
        "GIT_WORK_TREE": str(location.work_tree),
        "GIT_INDEX_FILE": str(location.index),
        "GIT_CEILING_DIRECTORIES": str(location.work_tree),
    }


def _settings(settings: Settings) -> dict[str, str]:
    """Return settings for one command as environment variables: no character in them has a special meaning there."""
    numbered = {f"GIT_CONFIG_KEY_{n}": key for n, (key, _) in enumerate(settings)}
    numbered |= {f"GIT_CONFIG_VALUE_{n}": value for n, (_, value) in enumerate(settings)}
    return {**numbered, "GIT_CONFIG_COUNT": str(len(settings))}


def _identity(date: str) -> dict[str, str]:
    who = {"NAME": "donewhen", "EMAIL": "donewhen@localhost", "DATE": date}
    return {f"GIT_{role}_{what}": value for role in ("AUTHOR", "COMMITTER") for what, value in who.items()}


def _error_text(finished: Finished) -> str:
    if finished.end is End.TIMED_OUT:
        return f"it took longer than {TIMEOUT_SECS:.0f} seconds"
    text = finished.stderr.whole().decode("utf-8", "replace")
    return text if text.strip() else f"it exited with {finished.exit_code}"
