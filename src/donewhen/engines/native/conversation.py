"""The state of a conversation, folded from notes: the same in the process that wrote them and in any later process.

This module calls no model and runs no tool. A conversation can stop between any two notes, and its state shows what is
still missing. A message with tool calls is always followed by the answers to all of them before the next message.
"""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from donewhen.engines.interface import NoChange, Note
from donewhen.engines.native.notes import (
    CallBegunNote,
    CallResultNote,
    RoundNote,
    SystemNote,
    TurnFailedNote,
    TurnNote,
)
from donewhen.engines.native.prompt import CUT_OFF, NO_TEXT
from donewhen.engines.native.tools import ERROR
from donewhen.model.interface import Answers, Assistant, Call, Message, Reply, ToolAnswer, User

INTERRUPTED = f"{ERROR}the round ended before this was answered; it may have been carried out in part"


@dataclass(slots=True)
class TurnCounts:
    """Counters for the limits."""

    in_round: int = 0
    """Turns in this round, failed turns included."""
    replies: int = 0
    """Turns in this round that returned a reply."""
    failures: int = 0
    """Failed turns in a row, over all rounds."""
    filled: int = 0
    """Tokens of the last prompt."""


@dataclass(slots=True)
class RepeatedFailure:
    """Counter for the same call failing several times in a row."""

    call_key: str = ""
    times: int = 0

    def times_with(self, call: Call) -> int:
        """Return the count if this call fails as well."""
        return self.times + 1 if key_of(call) == self.call_key else 1

    def count(self, call: Call, failed: bool) -> None:
        self.times = self.times_with(call) if failed else 0
        self.call_key = key_of(call) if failed else ""


@dataclass(slots=True)
class Conversation:
    system: str = ""
    iteration: int = 0
    messages: list[Message] = field(default_factory=list[Message])
    turns: TurnCounts = field(default_factory=TurnCounts)
    model: str = ""
    """The model that answered last; a change of model is reported once."""
    last_reply: Reply | None = field(default=None, init=False)
    """The last reply of this round."""
    answers: dict[str, ToolAnswer] = field(default_factory=dict[str, ToolAnswer], init=False)
    """Answers so far to the calls of the last reply."""
    snapshots: dict[str, str] = field(default_factory=dict[str, str], init=False)
    """The tree before each of these calls, for calls that have begun."""
    last_snapshot: str = field(default="", init=False)
    """The last tree that could be saved."""
    repeated: RepeatedFailure = field(default_factory=RepeatedFailure, init=False)
    claim: NoChange | None = field(default=None, init=False)
    ids: set[str] = field(default_factory=set[str], init=False)

    @classmethod
    def of(cls, notes: Iterable[Note]) -> "Conversation":
        conversation = cls()
        for note in notes:
            conversation.apply(note)
        return conversation

    def apply(self, note: Note) -> None:
        """Apply one note to the state: one step of the fold."""
        match note.kind:
            case SystemNote.KIND:
                self.system = SystemNote.load(note.body).text
            case RoundNote.KIND:
                self._begin_round(RoundNote.load(note.body))
            case TurnNote.KIND:
                self._apply_reply(TurnNote.load(note.body).reply)
            case TurnFailedNote.KIND:
                self.turns.in_round += 1
                self.turns.failures += 1
            case CallBegunNote.KIND:
                begun = CallBegunNote.load(note.body)
                self.snapshots[begun.call_id] = begun.snapshot
                self.last_snapshot = begun.snapshot
            case CallResultNote.KIND:
                result = CallResultNote.load(note.body)
                call = next(call for call in self.unanswered if call.id == result.call_id)
                self.repeated.count(call, result.failed)
                self.claim = result.claim or self.claim
                self._answer(ToolAnswer(call.id, call.name, result.text, result.ok))
            case _:
                pass  # written by a later version

    @property
    def unanswered(self) -> Sequence[Call]:
        return [call for call in self.last_reply.calls if call.id not in self.answers] if self.last_reply else []

    @property
    def final_text(self) -> str | None:
        """The text of the reply in which the model stopped calling tools; None if it has not stopped."""
        if self.last_reply is None or self.last_reply.calls or self.last_reply.stop == "length":
            return None
        return self.last_reply.text

    def _begin_round(self, begun: RoundNote) -> None:
        for call in self.unanswered:
            self._answer(ToolAnswer(call.id, call.name, INTERRUPTED, ok=False))
        if begun.fresh:
            self.messages.clear()
        self.iteration = begun.iteration
        self.messages.append(User(begun.text))
        self.turns.in_round = self.turns.replies = 0
        self.last_reply, self.claim, self.repeated = None, None, RepeatedFailure()

    def _apply_reply(self, reply: Reply) -> None:
        self.model = reply.model or self.model
        self.last_reply = reply
        self.answers, self.snapshots = {}, {}
        self.ids.update(call.id for call in reply.calls)
        self.turns.in_round += 1
        self.turns.replies += 1
        self.turns.failures = 0
        self.turns.filled = reply.filled or reply.usage.input
        empty = not reply.calls and not reply.text.strip()
        self.messages.append(Assistant(NO_TEXT) if empty else Assistant(reply.text, reply.calls, reply.raw))
        if reply.stop == "length" and not reply.calls:
            self.messages.append(User(CUT_OFF))

    def _answer(self, answer: ToolAnswer) -> None:
        assert self.last_reply is not None
        self.answers[answer.call_id] = answer
        if not self.unanswered:
            self.messages.append(Answers(tuple(self.answers[call.id] for call in self.last_reply.calls)))


def key_of(call: Call) -> str:
    """Return a key that is equal for calls with the same name and input."""
    return json.dumps([call.name, call.problem, dict(call.input)], sort_keys=True, default=str)
