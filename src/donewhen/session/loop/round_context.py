"""What every round of a session uses: repository, log, budget, maker tree, person and memory. Data, and no rules."""

import time

import anyio

from donewhen.engines.interface import Asker
from donewhen.model.interface import OnText
from donewhen.records import frozen
from donewhen.session.log.start_record import StartRecord
from donewhen.session.log.writer import LogWriter
from donewhen.session.loop.budget import Budget
from donewhen.session.recall.session_memory import SessionMemory
from donewhen.session.workplace import Workplace
from donewhen.workspace.trees.maker import Maker


@frozen(kw_only=True)
class RoundContext:
    workplace: Workplace
    start_record: StartRecord
    log: LogWriter
    budget: Budget
    maker: Maker
    asker: Asker | None
    memory: SessionMemory
    on_text: OnText | None = None
    task: str = ""
    """The text of the maker's task if it is more than the intent."""
    rules: str = ""
    """Replaces the engine's rules for a maker; empty keeps them."""

    @property
    def silence_secs(self) -> float:
        return self.start_record.settings.number("limits", "silence_secs")

    async def silence(self) -> None:
        """Return when nothing was written to the log for `silence_secs`."""
        left = self.silence_secs
        while left > 0:
            await anyio.sleep(left)  # every write to the log extends the deadline
            left = self.log.last + self.silence_secs - time.monotonic()
