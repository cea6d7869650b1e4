"""A scheduler on a store of its own, with a clock that a test sets and rounds that it ends itself."""

import datetime
import itertools
from datetime import UTC, timedelta
from pathlib import Path
from typing import Any

from donewhen.loops.due import key_at
from donewhen.loops.due_words import time_words
from donewhen.loops.loop_records import Occurrence, RoundEnd
from donewhen.loops.loop_store import LoopStore
from donewhen.loops.scheduler import INVALID, RepoLoops, Scheduler, Start, Tick
from donewhen.loops.spec import spec_of
from donewhen.loops.spec_files import StatedLoop
from donewhen.loops.triggers import Watch

TOP = Path("/repo")


def moment(text: str) -> datetime.datetime:
    return datetime.datetime.fromisoformat(text).replace(tzinfo=UTC)


def local(text: str) -> str:
    """Return a moment in the words of a line that is printed on the day of these scenes."""
    return time_words(moment(text), moment("2026-11-18T09:00:00"))


def stated(name: str = "sweeper", is_accepted: bool = True, **keys: Any) -> StatedLoop:
    entry = {"name": name, "intent": "keep it green", "timezone": "UTC", "schedule": "every 10m", **keys}
    return StatedLoop(spec_of(entry, ""), Path(f"/repo/.donewhen/loops/{name}.toml"), (), is_accepted, TOP, entry)


class Scene:
    def __init__(self, store: LoopStore, *loops: StatedLoop, top: Path = TOP, watch: Watch | None = None) -> None:
        self.store = store
        self.loops = loops
        self.errors: tuple[str, ...] = ()
        self.why = INVALID
        self.top = top
        self.said: list[str] = []
        numbers = itertools.count(1)
        self.scheduler = Scheduler(
            store, lambda: [self.state_of_files()], watch or Watch(), lambda: f"s{next(numbers)}", self.said.append
        )

    def state_of_files(self) -> RepoLoops:
        return RepoLoops(top=self.top, loops=self.loops, errors=self.errors, why=self.why)

    def state(self, *loops: StatedLoop) -> None:
        """Replace loops of these names, or the last loop if none is given."""
        names = {loop.spec.name for loop in loops}
        kept = [loop for loop in self.loops if loop.spec.name not in names]
        self.loops = (*kept, *loops) if loops else self.loops[:-1]

    def tick(self, at: str | datetime.datetime, places: int = 10) -> Tick:
        return self.scheduler.tick(moment(at) if isinstance(at, str) else at, places)

    def started(self, at: str | datetime.datetime, places: int = 10) -> list[str]:
        """Look once. Return the keys of the rounds that were claimed; they stay running."""
        return [start.claim.key for start in self.tick(at, places).starts]

    def ran(self, at: str, outcome: str = "reported", minutes: int = 0) -> list[str]:
        """Look once and end each claimed round some minutes later. Return their keys."""
        starts = self.tick(at).starts
        for start in starts:
            self.end(start, moment(at) + timedelta(minutes=minutes), outcome)
        return [start.claim.key for start in starts]

    def end(self, start: Start, at: datetime.datetime, outcome: str = "reported") -> None:
        self.store.finish(start.claim, RoundEnd(outcome=outcome, usd=0.0), at)

    def rows(self, name: str = "sweeper") -> list[Occurrence]:
        """The rows of a loop, the oldest first."""
        return self.store.history(str(self.top), name, 5000)[::-1]

    def statuses(self, name: str = "sweeper") -> dict[str, str]:
        return {row.key: row.status.value for row in self.rows(name)}

    def due(self, name: str = "sweeper") -> str:
        due_at = self.store.state(str(self.top), name).due_at
        return key_at(due_at) if due_at else ""
