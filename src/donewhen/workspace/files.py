"""File operations that must not stop half-way: atomic writes, locks that die with their holder, removal."""

import contextlib
import fcntl
import os
import shutil
import uuid
from collections.abc import AsyncGenerator
from pathlib import Path

import anyio


@contextlib.asynccontextmanager
async def locked(path: Path) -> AsyncGenerator[None]:
    """Hold an exclusive lock that the kernel takes back if this process dies."""
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
    """Remove a file, a link or a directory, whatever modes its contents have; no link is followed."""
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
    """Put every directory below a place directly into it, open to us: however deep they were, they can be removed."""
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
