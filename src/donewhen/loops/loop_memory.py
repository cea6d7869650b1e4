"""What a loop remembers of its own rounds, as tagged texts in the memory. The maker is told the newest.

It does not depend on `memory.enabled`, which is about hints for repairs. An error here never changes an outcome.
"""

import contextlib
import datetime
import os
from collections.abc import Mapping

from donewhen.errors import DonewhenError
from donewhen.events import RoundFinished
from donewhen.memory.open_store import RepairStoreHandle
from donewhen.memory.sanitise import hide_secrets
from donewhen.memory.tagged_texts import TaggedText
from donewhen.session.settings.settings import Settings
from donewhen.workspace.state_dir import state_root

RECALLED = 5
"""How many earlier rounds the maker is told about."""
TAG = "loop-state"
REPORT = "report"
"""The level at which what the maker says is the work."""
TROUBLE = (DonewhenError, OSError, ValueError)


class LoopMemory:
    def __init__(self, settings: Settings, repo: str) -> None:
        self._url = settings.text("storage", "url")
        self._repo = repo

    def recalled(self, loop: str) -> tuple[str, ...]:
        """Return one line for each of the last rounds, the newest first."""
        with contextlib.suppress(*TROUBLE), self._opened() as memory:
            found = memory.read(lambda store: store.texts.newest(self._repo, _source(loop), RECALLED), [])
            return tuple(f"{one.at[:16].replace('T', ' ')} {one.text}" for one in found)
        return ()

    def remember(self, finished: RoundFinished, session: str, secrets: Mapping[str, str]) -> None:
        """Keep how a round ended. A later end of the same round, such as after an approval, replaces it."""
        words = "; ".join(filter(None, (finished.reason, _summary(finished))))
        text = TaggedText(
            repo=self._repo,
            source=_source(finished.loop),
            session=session,
            tags=(TAG, finished.loop),
            text=hide_secrets(f"{finished.outcome} — {words}", secrets),
            at=datetime.datetime.now(datetime.UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        )
        with contextlib.suppress(*TROUBLE), self._opened() as memory:
            memory.write(lambda store: store.texts.put(text))

    def _opened(self) -> contextlib.closing[RepairStoreHandle]:
        return contextlib.closing(RepairStoreHandle(state_root(os.environ), self._url))


def _source(loop: str) -> str:
    return f"loop:{loop}"


def _summary(finished: RoundFinished) -> str:
    """Return what a report says, or what was said about the work: by the checker, else by the maker."""
    agents = (finished.checker, finished.maker)
    said = (str((agent or {}).get("text", "")) for agent in (agents[::-1] if finished.level == REPORT else agents))
    return next(filter(str.strip, said), finished.intent)
