"""When a worker is stopped: after too long a silence, but never while it waits for a person."""

from collections.abc import Sequence

import anyio
import pytest

from donewhen.engines.foreman.run_workers import PausingAsker, WatchedNotebook
from donewhen.engines.interface import Note
from donewhen.events import Event

pytestmark = pytest.mark.anyio


class Silent:
    """A notebook without writes."""

    def notes(self) -> Sequence[Note]:
        return ()

    def write(self, note: Note | None, *events: Event) -> None:
        del note, events

    def turns(self, role: str) -> int:
        return len(role)


class Slow:
    """A person who answers after another worker was stopped."""

    def __init__(self, until: anyio.Event) -> None:
        self._until = until

    async def ask(self, id: str, prompt: str) -> str:
        await self._until.wait()
        return f"{id}: {prompt}"


async def test_a_worker_waiting_for_a_person_is_kept_and_a_silent_one_is_stopped() -> None:
    over = anyio.Event()
    waits, silent = WatchedNotebook(Silent()), WatchedNotebook(Silent())
    waiting, given_up = anyio.CancelScope(), anyio.CancelScope()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(waits.cancel_when_silent, 0.05, waiting)

        async def listen() -> None:
            await silent.cancel_when_silent(0.2, given_up)
            over.set()

        tasks.start_soon(listen)
        assert await PausingAsker(Slow(over), waits).ask("q", "may I?") == "q: may I?"
        tasks.cancel_scope.cancel()
    assert (waiting.cancel_called, given_up.cancel_called) == (False, True)
