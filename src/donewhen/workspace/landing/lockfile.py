"""The locks that git takes, held by us: a file whose being there is the lock, so a real git waits or fails against it.

Git leaves such a file behind when it is killed, and nobody can tell whether its owner lives. Ours can be told: it says
whose it is from its first moment, and the kernel holds a second lock on it for as long as the holder lives. One of ours
without a holder is removed by whoever meets it. Anybody else's is only ever reported.
"""

import contextlib
import errno
import os
import stat
import time
from collections.abc import Generator
from pathlib import Path

from donewhen.workspace.beneath import AnyPath, Root
from donewhen.workspace.files import try_lock
from donewhen.workspace.landing.refusals import Locked

MARK = b"held by donewhen\n"
MOST_TRIES = 20
PAUSE_SECS = 0.025
NO_NAMELESS_FILES = {errno.EOPNOTSUPP, errno.EISDIR, errno.ENOENT, errno.EINVAL, errno.EPERM, errno.EXDEV}
"""What a file system answers that has no files without a name, or cannot give one a name later."""


@contextlib.contextmanager
def held(root: Root, path: AnyPath) -> Generator[None]:
    """Hold git's lock at a path; `Locked` when somebody else keeps it. The directory must be there."""
    with root.above(path) as (above, name):
        descriptor = _take_patiently(above, name, root.place(path))
        try:
            yield
        finally:
            try:
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(name, dir_fd=above)
            finally:
                os.close(descriptor)


def _take_patiently(above: int, name: bytes, shown: str) -> int:
    """A git that only looks in holds its locks for a moment."""
    for _ in range(MOST_TRIES):
        _remove_leftover(above, name)
        with contextlib.suppress(Locked):
            return _take(above, name, shown)
        time.sleep(PAUSE_SECS)
    return _take(above, name, shown)


def _take(above: int, name: bytes, shown: str) -> int:
    try:
        return _take_at_once(above, name)
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


def _take_at_once(above: int, name: bytes) -> int:
    """Make the file complete and locked before it has a name, so that no crash can leave half of it."""
    descriptor = os.open(b".", os.O_RDWR | os.O_TMPFILE | os.O_CLOEXEC, 0o644, dir_fd=above)
    try:
        _mark(descriptor)
        # The source directory must be given for the link of /proc to be followed; an absolute path ignores it.
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
    """Take away a lock of ours whose holder is dead; any other one stays."""
    with contextlib.suppress(FileNotFoundError), root.above(path) as (above, name):
        _remove_leftover(above, name)


def _remove_leftover(above: int, name: bytes) -> None:
    try:
        descriptor = os.open(name, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=above)
    except OSError:
        return  # there is none, or one that was never ours
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            return
        if os.read(descriptor, len(MARK) + 1) == MARK and try_lock(descriptor) and _is_at(descriptor, above, name):
            os.unlink(name, dir_fd=above)
    finally:
        os.close(descriptor)


def _is_at(descriptor: int, above: int, name: bytes) -> bool:
    """Whether the path still means the open file, and not one that somebody made in its place."""
    try:
        return os.path.samestat(os.fstat(descriptor), os.lstat(name, dir_fd=above))
    except FileNotFoundError:
        return False


def put(root: Root, path: AnyPath, content: bytes, scratch: AnyPath) -> None:
    """Make a file that content in one step, durably. The scratch name is ours alone under the lock that is held."""
    before = root.status(path)
    with root.above(path) as (above, name):
        with contextlib.suppress(FileNotFoundError):  # whatever it is, a pipe or a device too
            os.unlink(scratch, dir_fd=above)
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        descriptor = os.open(scratch, flags, 0o666, dir_fd=above)
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            if before is not None and stat.S_ISREG(before.st_mode):
                os.fchmod(file.fileno(), before.st_mode & 0o777)
            os.fsync(file.fileno())
        os.rename(scratch, name, src_dir_fd=above, dst_dir_fd=above)
        os.fsync(above)


def sync_directory(directory: Path) -> None:
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
