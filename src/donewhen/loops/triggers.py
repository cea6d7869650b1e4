"""Triggers beside time, noticed by polling: the key `on` of a loop. Reads only; the scheduler compares and decides.

    commit:BRANCH     another commit at the tip of a local branch; several commits between two looks are one
    file:PATH         other content of a file in the checkout; PATH is relative to the top of the repository
    check-red:NAME    the newest baseline of HEAD that a session has recorded, and the check is red in it

A state is what is compared between two looks, and a key names the occurrence. A branch or a file that is removed
changes the state and is no occurrence. What happens and is undone between two looks is not noticed. `check-red` runs
nothing: as long as no session was started at this commit, there is no verdict.
"""

import hashlib
import os
from collections.abc import Collection, Iterable, Mapping
from itertools import count
from pathlib import Path

from donewhen.errors import BadInput
from donewhen.events import BaselineCompleted, Landed, SessionStarted
from donewhen.judge.verdict import CheckStatus
from donewhen.loops.loop_records import repo_key
from donewhen.records import frozen
from donewhen.storage.archive import Archive
from donewhen.workspace.beneath import Root
from donewhen.workspace.git import refs
from donewhen.workspace.git.repo import common_dir_of, head_of

COMMIT, FILE, CHECK_RED = "commit:", "file:", "check-red:"
NUMBER = "#"
MOST_BYTES = 64 << 20
"""Size limit of a file that is compared."""
MOST_SESSIONS = 50
"""Sessions of a repository that are searched for a verdict."""
BLOCK = 1 << 20
KINDS = (SessionStarted.type(), BaselineCompleted.type())
RED = {status.value for status in CheckStatus if status.is_red}


@frozen
class Sighting:
    """What a look at a trigger found."""

    state: str
    key: str = ""
    """The key of the occurrence; empty if there is nothing to do in this state."""
    commit: str = ""
    """The commit that caused it, if it may be one of the loop itself."""
    may_recur: bool = False
    """True if a later occurrence may have the same key: then its key gets a number."""


class Watch:
    """Looks at triggers. Without an archive there are no verdicts, and no commit is known to be the loop's own."""

    def __init__(self, archive: Archive | None = None) -> None:
        self._archive = archive

    def look(self, trigger: str, top: Path) -> Sighting:
        """Look at a trigger in the repository at `top`. Raise BadInput if it cannot be read."""
        try:
            if trigger.startswith(COMMIT):
                return _tip(top, trigger.removeprefix(COMMIT))
            if trigger.startswith(FILE):
                return _file(top, trigger.removeprefix(FILE))
            name, head = trigger.removeprefix(CHECK_RED), head_of(top)
            status = self.newest_statuses(top, head, {name}).get(name, "") if head else ""
            is_red = status in RED
            return Sighting(f"{head} {status}", f"{CHECK_RED}{name}:{head}" if is_red else "", head if is_red else "")
        except BadInput:
            raise
        except OSError as error:
            raise BadInput(f"the trigger {trigger} cannot be read: {error.strerror}") from error

    def is_own(self, sighting: Sighting, sessions: Iterable[str]) -> bool:
        """Return True if one of these sessions landed the commit that was seen."""
        if self._archive is None or not sighting.commit:
            return False
        for session in sessions:
            for record in self._archive.records(session, kinds=(Landed.type(),)):
                if record.body.get("commit") == sighting.commit:
                    return True
        return False

    def newest_statuses(self, top: Path, commit: str, checks: Collection[str]) -> Mapping[str, str]:
        """Return the status of each of these checks in the newest baseline of a commit that has it."""
        archive, found = self._archive, dict[str, str]()
        for row in archive.sessions(repo_key(top), MOST_SESSIONS) if archive else ():
            if len(found) == len(checks):
                break
            base = ""
            for record in archive.records(row.id, kinds=KINDS) if archive else ():
                match record.event:
                    case SessionStarted(base=base):
                        pass
                    case BaselineCompleted(results=results) if base == commit:
                        found = {one.name: one.status for one in results if one.name in checks} | found
                    case _:
                        pass
        return found


def commit_in(key: str) -> str:
    """Return the commit in the key of an occurrence that a commit caused."""
    return key.rpartition(":")[2].partition(NUMBER)[0]


def free_key(key: str, taken: Collection[str]) -> str:
    """Return a key with the first number that makes it a new one, if it needs one."""
    numbered = (f"{key}{NUMBER}{number}" for number in count(2))
    return key if key not in taken else next(one for one in numbered if one not in taken)


def _tip(top: Path, branch: str) -> Sighting:
    name = f"refs/heads/{branch}".encode("utf-8", "surrogateescape")
    if not refs.is_name(name):
        raise BadInput(f"the trigger {COMMIT}{branch} does not name a branch")
    commit = refs.follow(b"ref: " + name, Root(common_dir_of(top)))
    return Sighting(commit, f"{COMMIT}{branch}:{commit}" if commit else "", commit, may_recur=True)


def _file(top: Path, path: str) -> Sighting:
    """The key also has the time of the change, so that a file that gets an earlier content again is noticed."""
    content, size = hashlib.sha256(), 0
    try:
        with Root(top).file(path) as file:
            changed_at = os.fstat(file.fileno()).st_mtime_ns
            while block := file.read(BLOCK):
                size += len(block)
                content.update(block)
                if size > MOST_BYTES:
                    raise BadInput(f"the trigger {FILE}{path} is a file of more than {MOST_BYTES >> 20} MiB")
    except (FileNotFoundError, NotADirectoryError):
        return Sighting("")
    state = content.hexdigest()
    digest = hashlib.sha256(f"{path}\0{state}\0{changed_at}".encode("utf-8", "surrogateescape")).hexdigest()
    return Sighting(state, f"{FILE}{digest[:40]}")
