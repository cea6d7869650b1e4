"""Protection against pipes and devices that would block git when it reads files written by others.

Git opens `.gitignore`, `.gitattributes` and the git directories of nested repositories, whatever type they have. It
waits at a pipe until a process writes to it. Checking all of these in advance would cost as much as git's own walk
through the files. So they are checked only if git is slow or fails.
"""

import stat
from collections.abc import Awaitable, Callable, Iterator
from itertools import chain
from os import stat_result

import anyio
import anyio.to_thread

from donewhen.errors import BadInput
from donewhen.workspace.beneath import Root
from donewhen.workspace.git.objects import RULES, shown
from donewhen.workspace.git.run_git import GitFailed

SLOW_SECS = 2.0
"""If git takes longer than this, the files are checked while it continues."""
MODULES = b".git/modules"
"""The only part of a repository's own git directory that git reads for us: the git directories of its submodules."""


async def run_unless_blocked(ask: Callable[[], Awaitable[bytes]], check: Callable[[], None]) -> bytes:
    """Return the output of a git command on files of others. `check` raises if something could block git; git
    is then stopped."""
    answer = b""
    try:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_check_when_slow, check)
            answer = await ask()
            tasks.cancel_scope.cancel()
    except ExceptionGroup as group:
        error = group.exceptions[0]
        if isinstance(error, GitFailed):
            await anyio.to_thread.run_sync(check)
        raise error from group
    return answer


async def _check_when_slow(check: Callable[[], None]) -> None:
    await anyio.sleep(SLOW_SECS)
    await anyio.to_thread.run_sync(check, abandon_on_cancel=True)


def refuse_traps(files: Root) -> None:
    """Raise BadInput for the first pipe or device in a working tree that git would read."""
    found = read_by_git(files, b"", lambda path: path != b".git")
    modules = read_by_git(files, MODULES) if files.is_directory(".git") else ()
    for path, status in chain(found, modules):
        refuse_trap(path, status)


def refuse_trap(path: bytes, status: stat_result) -> None:
    if stat.S_ISFIFO(status.st_mode) or stat.S_ISCHR(status.st_mode) or stat.S_ISBLK(status.st_mode):
        raise BadInput(f"{shown(path)} is a pipe or a device, and git would read from it: remove it")


def read_by_git(
    files: Root, directory: bytes, enter: Callable[[bytes], bool] = lambda _: True
) -> Iterator[tuple[bytes, stat_result]]:
    """Yield rule files, and everything in git directories, below a directory."""
    for path in files.files_below(directory, enter):
        *above, name = path.split(b"/")
        status = files.status(path) if b".git" in above or name in RULES else None
        if status is not None:
            yield path, status
