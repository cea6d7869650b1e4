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
from donewhen.engines.native.prompt import CUT_OFF, NO_WORDS
from donewhen.engines.native.tools import ERROR
from donewhen.model.interface import Answers, Assistant, Call, Message, Reply, ToolAnswer, User

INTERRUPTED = f"{ERROR}the round ended before this was answered; it may have been carried out in part"


@dataclass(slots=True)
class Turns:
    """Counters for the limits."""

    here: int = 0
    """Turns in this round, failed turns included."""
    replies: int = 0
    """Turns in this round that returned a reply."""
    failures: int = 0
    """Failed turns in a row, over all rounds."""
    filled: int = 0
    """Tokens of the last prompt."""


@dataclass(slots=True)
class Repeated:
    """Counter for the same call failing several times in a row."""

    what: str = ""
    times: int = 0

    def times_with(self, call: Call) -> int:
        """Return the count if this call fails as well."""
        return self.times + 1 if key_of(call) == self.what else 1

    def count(self, call: Call, failed: bool) -> None:
        self.times = self.times_with(call) if failed else 0
        self.what = key_of(call) if failed else ""


@dataclass(slots=True)
class Conversation:
    system: str = ""
    iteration: int = 0
    messages: list[Message] = field(default_factory=list[Message])
    turns: Turns = field(default_factory=Turns)
    model: str = ""
    """The model that answered last; a change of model is reported once."""
    last: Reply | None = field(default=None, init=False)
    """The last reply of this round."""
    answers: dict[str, ToolAnswer] = field(default_factory=dict[str, ToolAnswer], init=False)
    """Answers so far to the calls of the last reply."""
    snapshots: dict[str, str] = field(default_factory=dict[str, str], init=False)
    """The tree before each of these calls, for calls that have begun."""
    saved: str = field(default="", init=False)
    """The last tree that could be saved."""
    repeated: Repeated = field(default_factory=Repeated, init=False)
    claim: NoChange | None = field(default=None, init=False)
    ids: set[str] = field(default_factory=set[str], init=False)

    @classmethod
    def of(cls, notes: Iterable[Note]) -> "Conversation":
        conversation = cls()
        for note in notes:
            conversation.take(note)
        return conversation

    def take(self, note: Note) -> None:
        """Apply one note to the state: one step of the fold."""
        match note.kind:
            case SystemNote.KIND:
                self.system = SystemNote.load(note.body).text
            case RoundNote.KIND:
                self._begin_round(RoundNote.load(note.body))
            case TurnNote.KIND:
                self._take_reply(TurnNote.load(note.body).reply)
            case TurnFailedNote.KIND:
                self.turns.here += 1
                self.turns.failures += 1
            case CallBegunNote.KIND:
                begun = CallBegunNote.load(note.body)
                self.snapshots[begun.call_id] = begun.snapshot
                self.saved = begun.snapshot
            case CallResultNote.KIND:
                self._take_result(CallResultNote.load(note.body))
            case _:
                pass  # written by a later version

    @property
    def unanswered(self) -> Sequence[Call]:
        return [call for call in self.last.calls if call.id not in self.answers] if self.last else []

    @property
    def closing_words(self) -> str | None:
        """The text of the reply in which the model stopped calling tools; None if it has not stopped."""
        if self.last is None or self.last.calls or self.last.stop == "length":
            return None
        return self.last.text

    def _begin_round(self, begun: RoundNote) -> None:
        for call in self.unanswered:
            self._answer(ToolAnswer(call.id, call.name, INTERRUPTED, ok=False))
        if begun.fresh:
            self.messages.clear()
        self.iteration = begun.iteration
        self.messages.append(User(begun.text))
        self.turns.here = self.turns.replies = 0
        self.last, self.claim, self.repeated = None, None, Repeated()

    def _take_reply(self, reply: Reply) -> None:
        self.model = reply.model or self.model
        self.last = reply
        self.answers, self.snapshots = {}, {}
        self.ids.update(call.id for call in reply.calls)
        self.turns.here += 1
        self.turns.replies += 1
        self.turns.failures = 0
        self.turns.filled = reply.filled or reply.usage.input
        empty = not reply.calls and not reply.text.strip()
        self.messages.append(Assistant(NO_WORDS) if empty else Assistant(reply.text, reply.calls, reply.raw))
        if reply.stop == "length" and not reply.calls:
            self.messages.append(User(CUT_OFF))

    def _take_result(self, result: CallResultNote) -> None:
        call = next(call for call in self.unanswered if call.id == result.call_id)
        self.repeated.count(call, result.failed)
        self.claim = result.claim or self.claim
        self._answer(ToolAnswer(call.id, call.name, result.text, result.ok))

    def _answer(self, answer: ToolAnswer) -> None:
        assert self.last is not None
        self.answers[answer.call_id] = answer
        if not self.unanswered:
            self.messages.append(Answers(tuple(self.answers[call.id] for call in self.last.calls)))


def key_of(call: Call) -> str:
    """Return a key that is equal for calls with the same name and input."""
    return json.dumps([call.name, call.problem, dict(call.input)], sort_keys=True, default=str)
