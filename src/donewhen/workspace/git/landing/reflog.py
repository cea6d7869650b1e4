"""Writes the reflog of a moved branch, if the repository keeps reflogs.

A line is not written twice: after a crash between the line and the move, the repeated move finds its line.

A reflog with a second name (a hard link) is replaced by a copy first. The other name may be a backup, which must not
change, or a file that is not a reflog.
"""

import contextlib
import datetime
import errno
import os
import secrets
import stat

from donewhen.workspace.beneath import Root
from donewhen.workspace.git import refs
from donewhen.workspace.git.landing.commits import identity, stamp
from donewhen.workspace.git.landing.deliver_objects import git_dirs
from donewhen.workspace.git.objects import raw
from donewhen.workspace.git.repo import Repo

OFF = ("false", "no", "off", "0")
LAST_BYTES = 4096
MOST_TRIES = 5
LARGEST_COPY = 64 << 20
"""Git does not keep a larger reflog for long."""


def record(repo: Repo, ref: bytes, old: str, new: str, why: str) -> None:
    """Record the move of a branch, also in the reflog of every HEAD that points to it."""
    keeps = repo.setting("core.logallrefupdates", "true").lower() not in OFF
    on_it = [git for git in git_dirs(repo.common) if refs.target(refs.read(git, "HEAD")) == ref]
    now = stamp(datetime.datetime.now().astimezone())
    line = raw(f"{old} {new} {identity(repo, 'committer')} {now}\t{why}\n")
    for root, log in ((repo.common, b"logs/" + ref), *((git, b"logs/HEAD") for git in on_it)):
        if (keeps or root.is_file(log)) and not _has_last_line(root, log, raw(f"{old} {new} ")):
            with root.directory(log.rpartition(b"/")[0], make=True):
                pass
            _append(root, log, line)


def _append(root: Root, log: bytes, line: bytes) -> None:
    for _ in range(MOST_TRIES):
        with os.fdopen(root.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NONBLOCK), "wb") as file:
            status = os.fstat(file.fileno())
            if not stat.S_ISREG(status.st_mode):
                raise OSError(errno.EINVAL, "is not a regular file", root.full_path(log))
            if status.st_nlink == 1:
                root.share(file.fileno())
                file.write(line)
                return
        _unshare_file(root, log, status)
    raise OSError(errno.EMLINK, "has a second hard link, and another process writes to it", root.full_path(log))


def _unshare_file(root: Root, log: bytes, status: os.stat_result) -> None:
    """Replace a reflog that has another name by a copy, unless another process writes to it meanwhile."""
    if status.st_size > LARGEST_COPY:
        raise OSError(errno.EMLINK, "has a second hard link, and is too large to copy", root.full_path(log))
    with root.above(log) as (above, name), root.file(log) as old:
        temporary = b".%s.%s" % (name[:200], secrets.token_hex(6).encode())
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        with os.fdopen(os.open(temporary, flags, 0o600, dir_fd=above), "wb") as copy:
            try:
                copy.write(old.read(LARGEST_COPY))
                copy.flush()
                with contextlib.suppress(PermissionError):  # only root may change the owner
                    os.fchown(copy.fileno(), status.st_uid, status.st_gid)
                os.fchmod(copy.fileno(), status.st_mode & 0o777)
                os.fsync(copy.fileno())
                if os.fstat(old.fileno()).st_size == copy.tell():
                    os.rename(temporary, name, src_dir_fd=above, dst_dir_fd=above)
            finally:
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(temporary, dir_fd=above)


def _has_last_line(root: Root, log: bytes, start: bytes) -> bool:
    """Return whether the last line starts with `start`."""
    if not root.is_file(log):
        return False
    with root.file(log) as file:
        file.seek(max(0, file.seek(0, os.SEEK_END) - LAST_BYTES))
        lines = file.read().splitlines()
    return bool(lines) and lines[-1].startswith(start)


def remove_log(repo: Repo, ref: bytes) -> None:
    """Remove the reflog of a removed branch, as git does."""
    log = b"logs/" + ref
    with contextlib.suppress(FileNotFoundError), repo.common.above(log) as (above, name):
        os.unlink(name, dir_fd=above)
    remove_empty(repo.common, log.rpartition(b"/")[0], b"logs/refs/heads")


def remove_empty(root: Root, directory: bytes, up_to: bytes) -> None:
    """Remove empty directories from `directory` upwards, but not `up_to`."""
    while directory != up_to:
        try:
            with root.above(directory) as (above, name):
                os.rmdir(name, dir_fd=above)
        except OSError:
            return
        directory = directory.rpartition(b"/")[0]
