"""When a worker was heard of last. One that waits for a person is not expected to say anything."""

import contextlib
import time
from collections.abc import Generator, Sequence

import anyio

from donewhen.engines.base import Asker, Note, Notebook
from donewhen.events import Event
from donewhen.records import frozen


@frozen
class PatientAsker:
    """While a person is asked, nobody expects to hear of whoever asks."""

    asker: Asker
    notebook: "Heard"

    async def ask(self, id: str, prompt: str) -> str:
        with self.notebook.patience():
            return await self.asker.ask(id, prompt)


class Heard:
    """A notebook that knows when it was written to last."""

    def __init__(self, notebook: Notebook) -> None:
        self._notebook = notebook
        self._last = time.monotonic()
        self._asks = 0

    def notes(self) -> Sequence[Note]:
        return self._notebook.notes()

    def write(self, note: Note | None, *events: Event) -> None:
        self._notebook.write(note, *events)
        self._last = time.monotonic()

    def turns(self, role: str) -> int:
        return self._notebook.turns(role)

    @contextlib.contextmanager
    def patience(self) -> Generator[None]:
        """For as long as the block runs, there is no silence."""
        self._asks += 1
        try:
            yield
        finally:
            self._asks -= 1
            self._last = time.monotonic()

    async def silence(self, secs: float, scope: anyio.CancelScope) -> None:
        """Cancels the scope when nothing was written for so long."""
        left = secs
        while left > 0:
            await anyio.sleep(left)  # every write moves the end
            left = secs if self._asks else self._last + secs - time.monotonic()
        scope.cancel()
