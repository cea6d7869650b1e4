"""Interruption-safe file operations: atomic writes, locks that end with their process, tree removal."""

import contextlib
import errno
import fcntl
import os
import shutil
import uuid
from collections.abc import AsyncGenerator
from pathlib import Path

import anyio

NO_HARD_LINKS = {errno.EPERM, errno.EACCES, errno.EXDEV, errno.ENOTSUP, errno.ENOSYS, errno.EMLINK}
"""Errors of a file system that cannot make a hard link, or no further one."""


@contextlib.asynccontextmanager
async def locked(path: Path) -> AsyncGenerator[None]:
    """Hold an exclusive lock. The kernel releases it if this process dies."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        if not try_lock(descriptor):
            await anyio.to_thread.run_sync(fcntl.flock, descriptor, fcntl.LOCK_EX, abandon_on_cancel=True)
        yield
    finally:
        os.close(descriptor)


def try_lock(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def disk_use(directory: Path) -> int:
    total = 0
    for folder, _, names in os.walk(directory):
        for name in names:
            with contextlib.suppress(OSError):
                total += os.lstat(os.path.join(folder, name)).st_blocks * 512
    return total


def remove_tree(place: Path) -> None:
    """Remove a file, a link or a directory, whatever modes its contents have. Follow no link."""
    if not os.path.lexists(place):
        return
    if place.is_symlink() or not place.is_dir():
        place.unlink()
        return
    try:
        shutil.rmtree(place)
    except (PermissionError, RecursionError):
        _flatten(place)
        shutil.rmtree(place)


def _flatten(place: Path) -> None:
    """Move every directory below `place` directly into it and make it accessible, so that any depth can be removed."""
    os.chmod(place, 0o700)
    pending = [entry.name for entry in os.scandir(place) if entry.is_dir(follow_symlinks=False)]
    for name in pending:
        folder = place / name
        folder.chmod(0o700)
        for entry in [entry for entry in os.scandir(folder) if entry.is_dir(follow_symlinks=False)]:
            inner = f".{uuid.uuid4().hex}"
            os.chmod(entry.path, 0o700)
            os.rename(entry.path, place / inner)
            pending.append(inner)


def write_atomically(path: Path, text: str) -> None:
    temporary = path.with_name(f".{path.name}.{uuid.uuid4().hex[:8]}")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    with os.fdopen(descriptor, "w") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    temporary.rename(path)


def link_or_copy(source: Path, target: Path) -> None:
    """Hard-link a file that is never written to, or copy it where hard links are not possible."""
    try:
        os.link(source, target)
    except OSError as error:
        if error.errno not in NO_HARD_LINKS:
            raise
        shutil.copyfile(source, target)
