"""Receivers of what happens in a running session, and the person it may ask. The caller provides them."""

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from donewhen.model.interface import OnText
from donewhen.records import frozen
from donewhen.session.log.open_archive import Say, silent
from donewhen.session.log.writer import Barrier, OnRecord, no_barrier
from donewhen.session.person.gates import Person
from donewhen.storage.record import Record

if TYPE_CHECKING:
    from donewhen.session.workplace import AgentTools


def never(record: Record | None) -> bool:
    del record
    return False


def no_tools(session: str) -> "AgentTools | None":
    del session
    return None


async def at_once(session: str) -> None:
    del session


def nothing(session: str) -> None:
    del session


@frozen(kw_only=True)
class SessionWatcher:
    """Receivers of what happens in a session, and the person who may be asked."""

    on_record: OnRecord
    say: Say = silent
    """Receives one line for a person, in addition to the events."""
    person: Person | None = None
    on_text: OnText | None = None
    """Receives the model's text as it streams in."""
    barrier: Barrier = no_barrier
    handles_signals: bool = True
    """False if the caller handles signals itself, because several sessions run in one process."""
    stops: Callable[[Record | None], bool] = never
    """Returns True to cancel the session. It is called at its start and after every event."""
    before_work: Callable[[str], Awaitable[None]] = at_once
    """Is awaited with the id of the session when it is stored and can be cancelled, and before it works."""
    after_work: Callable[[str], None] = nothing
    """Is called with the id of the session when this process works on it no longer."""
    agent_tools: "Callable[[str], AgentTools | None]" = no_tools
    """Returns the MCP server that an agent of this session is offered."""
    may_be_asked: bool = False
    """True if a person may answer from elsewhere, although none is at the terminal."""
