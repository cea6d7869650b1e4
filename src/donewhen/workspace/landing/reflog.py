"""What a moved branch leaves in the history of references, where the repository keeps one.

A line is not written twice: after a crash between the line and the move, the repeated move finds its line there.
"""

import contextlib
import datetime
import errno
import os
import stat

from donewhen.workspace import refs
from donewhen.workspace.beneath import Root
from donewhen.workspace.landing.commits import stamp, who
from donewhen.workspace.landing.delivery import git_dirs
from donewhen.workspace.objects import raw
from donewhen.workspace.repo import Repo

OFF = ("false", "no", "off", "0")
LAST_BYTES = 4096


def record(repo: Repo, ref: bytes, old: str, new: str, why: str) -> None:
    """Write that a branch moves; also to the history of every HEAD that stands on it."""
    keeps = repo.setting("core.logallrefupdates", "true").lower() not in OFF
    on_it = [git for git in git_dirs(repo.common) if refs.target(refs.read(git, "HEAD")) == ref]
    now = stamp(datetime.datetime.now().astimezone())
    line = raw(f"{old} {new} {who(repo, 'committer')} {now}\t{why}\n")
    for root, log in ((repo.common, b"logs/" + ref), *((git, b"logs/HEAD") for git in on_it)):
        if (keeps or root.is_file(log)) and not _ends_with(root, log, raw(f"{old} {new} ")):
            with root.directory(log.rpartition(b"/")[0], make=True):
                pass
            with os.fdopen(root.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NONBLOCK), "wb") as file:
                if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                    raise OSError(errno.EINVAL, "is not a regular file", root.place(log))
                file.write(line)


def _ends_with(root: Root, log: bytes, start: bytes) -> bool:
    """Whether the last line begins like this."""
    if not root.is_file(log):
        return False
    with root.file(log) as file:
        file.seek(max(0, file.seek(0, os.SEEK_END) - LAST_BYTES))
        lines = file.read().splitlines()
    return bool(lines) and lines[-1].startswith(start)


def forget(repo: Repo, ref: bytes) -> None:
    """A branch that is removed takes its history along, as with git."""
    log = b"logs/" + ref
    with contextlib.suppress(FileNotFoundError), repo.common.above(log) as (above, name):
        os.unlink(name, dir_fd=above)
    remove_empty(repo.common, log.rpartition(b"/")[0], b"logs/refs/heads")


def remove_empty(root: Root, directory: bytes, up_to: bytes) -> None:
    """Remove directories that hold nothing, upwards, but not the last one."""
    while directory != up_to:
        try:
            with root.above(directory) as (above, name):
                os.rmdir(name, dir_fd=above)
        except OSError:
            return
        directory = directory.rpartition(b"/")[0]
