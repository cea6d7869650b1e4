"""Notes of the native engine: everything that a conversation is rebuilt from. Kinds and keys never change.

A key that a log lacks has a default, and keys of later versions are kept. `conversation` interprets the notes.
"""

from typing import Self

from donewhen.engines.interface import EngineNote, NoChange
from donewhen.model.interface import Bill, ModelFailed, Reply, Usage


class SystemNote(EngineNote):
    """The system text of the conversation from here on."""

    KIND = "system"
    text: str


class RoundNote(EngineNote):
    """A round began with this message."""

    KIND = "round"
    iteration: int
    fresh: bool
    """True if the conversation starts again with this message."""
    text: str


class TurnNote(EngineNote):
    """The model replied."""

    KIND = "turn"
    role: str
    iteration: int
    turn: int
    """Number of the turn in the round, from 0."""
    reply: Reply = Reply()


class TurnFailedNote(EngineNote):
    """The model gave no reply."""

    KIND = "turn_failed"
    role: str
    iteration: int
    message: str
    kind: str
    final: bool
    usage: Usage = Usage()
    cost_usd: float | None = None

    @classmethod
    def of(cls, role: str, iteration: int, failure: ModelFailed) -> Self:
        bill = failure.bill
        return cls(role, iteration, str(failure), failure.kind, failure.final, bill.usage, bill.usd)

    def failure(self) -> ModelFailed:
        """Return a new exception that says the same."""
        failure = ModelFailed(self.message, self.kind, self.final)
        failure.bill = Bill(self.usage, self.cost_usd)
        return failure


class CallBegunNote(EngineNote):
    """A tool call that may change the tree is about to run."""

    KIND = "begun"
    OPTIONAL = frozenset({"refused"})
    call_id: str
    snapshot: str
    """The tree before the call, or the last tree that could be saved."""
    refused: str | None = None
    """Why the tree before the call could not be saved."""


class CallResultNote(EngineNote):
    """A tool call has its answer."""

    KIND = "result"
    OPTIONAL = frozenset({"claim"})
    call_id: str
    text: str
    ok: bool
    failed: bool
    """True if the same call is likely to fail again."""
    claim: NoChange | None = None
