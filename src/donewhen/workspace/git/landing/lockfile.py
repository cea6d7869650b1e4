"""Git's lock files, taken by us: the existence of the file is the lock, so a real git waits or fails.

A killed git leaves its lock file behind, and it is impossible to know whether its owner is alive. Our files contain a
mark, and the holder keeps a kernel lock on the file while it lives. Where the file system allows it, both exist before
the file gets its name. A lock file of ours without a living holder is removed by the next process that finds it. Lock
files of others are only reported.
"""

import contextlib
import errno
import os
import stat
import time
from collections.abc import Generator
from pathlib import Path

from donewhen.workspace.beneath import AnyPath, Root
from donewhen.workspace.files import NO_HARD_LINKS, try_lock
from donewhen.workspace.git.landing.refusals import Locked

MARK = b"held by donewhen\n"
MOST_TRIES = 20
PAUSE_SECS = 0.025
NO_NAMELESS_FILES = {*NO_HARD_LINKS, errno.EISDIR, errno.ENOENT, errno.EINVAL}
"""Errors of file systems that have no unnamed files, or cannot name such a file later."""


@contextlib.contextmanager
def hold_lock(root: Root, path: AnyPath) -> Generator[None]:
    """Hold git's lock at a path; raise `Locked` if another process keeps it. The directory must exist."""
    with root.above(path) as (above, name):
        descriptor = _acquire_with_retries(above, name, root.full_path(path))
        try:
            yield
        finally:
            try:
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(name, dir_fd=above)
            finally:
                os.close(descriptor)


def _acquire_with_retries(above: int, name: bytes, shown: str) -> int:
    """Take the lock, with retries: a git command that only reads holds its locks for a short time."""
    for _ in range(MOST_TRIES):
        _remove_leftover(above, name)
        with contextlib.suppress(Locked):
            return _acquire(above, name, shown)
        time.sleep(PAUSE_SECS)
    return _acquire(above, name, shown)


def _acquire(above: int, name: bytes, shown: str) -> int:
    try:
        return _create_locked(above, name)
    except FileExistsError as error:
        raise Locked(shown) from error
    except OSError as error:
        if error.errno not in NO_NAMELESS_FILES or not os.fstat(above).st_nlink:
            raise
    try:
        flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        descriptor = os.open(name, flags, 0o644, dir_fd=above)
    except FileExistsError as error:
        raise Locked(shown) from error
    _mark(descriptor)
    return descriptor


def _create_locked(above: int, name: bytes) -> int:
    """Create the file complete and locked before it has a name, so that a crash cannot leave an incomplete file."""
    descriptor = os.open(b".", os.O_RDWR | os.O_TMPFILE | os.O_CLOEXEC, 0o644, dir_fd=above)
    try:
        _mark(descriptor)
        # Python follows the /proc link only if src_dir_fd is given. The absolute path ignores it.
        opened = f"/proc/self/fd/{descriptor}".encode()
        os.link(opened, name, src_dir_fd=descriptor, dst_dir_fd=above, follow_symlinks=True)
    except OSError:
        os.close(descriptor)
        raise
    return descriptor


def _mark(descriptor: int) -> None:
    try_lock(descriptor)
    os.write(descriptor, MARK)


def remove_leftover(root: Root, path: AnyPath) -> None:
    """Remove a lock file of ours whose holder is dead. Any other one stays."""
    with contextlib.suppress(FileNotFoundError), root.above(path) as (above, name):
        _remove_leftover(above, name)


def _remove_leftover(above: int, name: bytes) -> None:
    try:
        descriptor = os.open(name, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=above)
    except OSError:
        return  # no lock file, or not one of ours
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            return
        if os.read(descriptor, len(MARK) + 1) == MARK and try_lock(descriptor) and _is_at(descriptor, above, name):
            os.unlink(name, dir_fd=above)
    finally:
        os.close(descriptor)


def _is_at(descriptor: int, above: int, name: bytes) -> bool:
    """Return whether the path still refers to the open file and not to a replacement."""
    try:
        return os.path.samestat(os.fstat(descriptor), os.lstat(name, dir_fd=above))
    except FileNotFoundError:
        return False


def replace_file(root: Root, path: AnyPath, content: bytes, temporary: AnyPath) -> None:
    """Replace a file atomically and durably. Only the holder of the lock uses the temporary name."""
    before = root.status(path)
    with root.above(path) as (above, name):
        with contextlib.suppress(FileNotFoundError):  # remove anything there, also a pipe or a device
            os.unlink(temporary, dir_fd=above)
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        descriptor = os.open(temporary, flags, 0o666, dir_fd=above)
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            if before is not None and stat.S_ISREG(before.st_mode):
                os.fchmod(file.fileno(), before.st_mode & 0o777)
            root.share(file.fileno())
            os.fsync(file.fileno())
        os.rename(temporary, name, src_dir_fd=above, dst_dir_fd=above)
        os.fsync(above)


def sync_directory(directory: Path) -> None:
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
