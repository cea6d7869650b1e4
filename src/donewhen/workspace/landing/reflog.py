"""What a moved branch leaves in the history of references, where the repository keeps one.

A line is not written twice: after a crash between the line and the move, the repeated move finds its line there.
"""

import datetime
from pathlib import Path

from donewhen.workspace import refs
from donewhen.workspace.landing.commits import stamp, who
from donewhen.workspace.landing.delivery import git_dirs
from donewhen.workspace.objects import raw
from donewhen.workspace.repo import Repo

OFF = ("false", "no", "off", "0")
LAST_BYTES = 4096


def record(repo: Repo, ref: str, old: str, new: str, why: str) -> None:
    """Write that a branch moves; also to the history of every HEAD that stands on it."""
    keeps = repo.setting("core.logallrefupdates", "true").lower() not in OFF
    on_it = [git_dir for git_dir in git_dirs(repo.common_dir) if refs.target(refs.read(git_dir / "HEAD")) == raw(ref)]
    now = stamp(datetime.datetime.now().astimezone())
    line = raw(f"{old} {new} {who(repo, 'committer')} {now}\t{why}\n")
    for log in (repo.common_dir / "logs" / ref, *(git_dir / "logs" / "HEAD" for git_dir in on_it)):
        if (keeps or log.is_file()) and not _ends_with(log, raw(f"{old} {new} ")):
            log.parent.mkdir(parents=True, exist_ok=True)
            with log.open("ab") as file:
                file.write(line)


def _ends_with(log: Path, start: bytes) -> bool:
    """Whether the last line begins like this."""
    if not log.is_file():
        return False
    with log.open("rb") as file:
        file.seek(max(0, log.stat().st_size - LAST_BYTES))
        lines = file.read().splitlines()
    return bool(lines) and lines[-1].startswith(start)


def forget(repo: Repo, ref: str) -> None:
    """A branch that is removed takes its history along, as with git."""
    log = repo.common_dir / "logs" / ref
    log.unlink(missing_ok=True)
    remove_empty(log.parent, repo.common_dir / "logs" / "refs" / "heads")


def remove_empty(directory: Path, up_to: Path) -> None:
    """Remove directories that hold nothing, upwards, but not the last one."""
    while directory != up_to:
        try:
            directory.rmdir()
        except OSError:
            return
        directory = directory.parent
