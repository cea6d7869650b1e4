"""The locks that git takes, held by us: a file whose being there is the lock, so a real git waits or fails against it.

Git leaves such a file behind when it is killed, and nobody can tell whether its owner lives. Ours can be told: it says
whose it is from its first moment, and the kernel holds a second lock on it for as long as the holder lives. One of ours
without a holder is removed by whoever meets it. Anybody else's is only ever reported.
"""

import contextlib
import errno
import os
import time
from collections.abc import Generator
from pathlib import Path

from donewhen.workspace.files import try_lock
from donewhen.workspace.landing.refusals import Locked

MARK = b"held by donewhen\n"
MOST_TRIES = 20
PAUSE_SECS = 0.025
NO_NAMELESS_FILES = {errno.EOPNOTSUPP, errno.EISDIR, errno.ENOENT, errno.EINVAL, errno.EPERM, errno.EXDEV}
"""What a file system answers that has no files without a name, or cannot give one a name later."""


@contextlib.contextmanager
def held(path: Path) -> Generator[None]:
    """Hold git's lock at a path; `Locked` when somebody else keeps it. The directory must be there."""
    descriptor = _take_patiently(path)
    try:
        yield
    finally:
        try:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(path)
        finally:
            os.close(descriptor)


def _take_patiently(path: Path) -> int:
    """A git that only looks in holds its locks for a moment."""
    for _ in range(MOST_TRIES):
        remove_leftover(path)
        with contextlib.suppress(Locked):
            return _take(path)
        time.sleep(PAUSE_SECS)
    return _take(path)


def _take(path: Path) -> int:
    try:
        return _take_at_once(path)
    except FileExistsError as error:
        raise Locked(str(path)) from error
    except OSError as error:
        if error.errno not in NO_NAMELESS_FILES or not path.parent.is_dir():
            raise
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o644)
    except FileExistsError as error:
        raise Locked(str(path)) from error
    _mark(descriptor)
    return descriptor


def _take_at_once(path: Path) -> int:
    """Make the file complete and locked before it has a name, so that no crash can leave half of it."""
    descriptor = os.open(path.parent, os.O_RDWR | os.O_TMPFILE | os.O_CLOEXEC, 0o644)
    try:
        _mark(descriptor)
        # A directory must be given for the link of /proc to be followed; an absolute path makes nothing of it.
        os.link(f"/proc/self/fd/{descriptor}", path, src_dir_fd=descriptor, follow_symlinks=True)
    except OSError:
        os.close(descriptor)
        raise
    return descriptor


def _mark(descriptor: int) -> None:
    try_lock(descriptor)
    os.write(descriptor, MARK)


def remove_leftover(path: Path) -> None:
    """Take away a lock of ours whose holder is dead; any other one stays."""
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return  # there is none, or one that was never ours
    try:
        if os.read(descriptor, len(MARK) + 1) == MARK and try_lock(descriptor) and _is_at(descriptor, path):
            os.unlink(path)
    finally:
        os.close(descriptor)


def _is_at(descriptor: int, path: Path) -> bool:
    """Whether the path still means the open file, and not one that somebody made in its place."""
    try:
        return os.path.samestat(os.fstat(descriptor), os.lstat(path))
    except FileNotFoundError:
        return False


def put(path: Path, content: bytes, scratch: Path) -> None:
    """Make a file that content in one step, durably. The scratch path is ours alone under the lock that is held."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC
    descriptor = os.open(scratch, flags, 0o666)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
        file.flush()
        if path.is_file():
            os.fchmod(file.fileno(), path.stat().st_mode & 0o777)
        os.fsync(file.fileno())
    os.rename(scratch, path)
    sync_directory(path.parent)


def sync_directory(directory: Path) -> None:
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
