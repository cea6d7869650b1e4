"""A session as its log tells it: what was opened, tried, judged, asked and spent. State is a fold of the log, no more.

Events are what everybody may read; notes are what only a session that goes on needs. Both are folded in the order in
which they were written. Nothing is decided here.
"""

import datetime
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from donewhen.engines.base import Note
from donewhen.storage.record import Record

OPENED, OWNED, TREE, ROUND, ATTEMPTED, JUDGED, LANDING, DISCARDED = (
    "opened", "owned", "tree", "round", "attempted", "judged", "landing", "discarded"
)  # fmt: skip
"""The kinds of a session's own notes. An engine's are RUNG.KIND."""

Plain = Mapping[str, Any]


@dataclass(slots=True)
class Round:
    """One iteration: work, then judgement."""

    n: int
    rung: str
    attempted: Plain | None = None
    judged: Plain | None = None


@dataclass(slots=True)
class Gate:
    id: str
    kind: str
    decision: str = ""
    """Empty while it waits for a person."""
    reason: str = ""
    detail: str = ""
    """What the decision is about, in full."""


@dataclass(slots=True)
class Question:
    id: str
    prompt: str
    expires_at: str | None
    answer: str | None = None
    expired: bool = False


@dataclass(frozen=True, slots=True)
class Before:
    """All that was used when a session that had reached a limit was resumed: it does not count again."""

    rounds: int = 0
    tokens: int = 0
    usd: float = 0.0
    secs: float = 0.0


class Story:
    def __init__(self) -> None:
        self.state = "created"
        self.created_at = ""
        self.opened: Plain = {}
        self.started: Plain = {}
        self.baseline: Plain | None = None
        self.engine = ""
        self.model = ""
        self.tree = ""
        """The name of the maker tree."""
        self.rounds: list[Round] = []
        self.notes: dict[str, list[Note]] = {}
        self.turns: Counter[str] = Counter()
        self.tokens = 0
        self.usd: float | None = 0.0
        self.active_secs = 0.0
        """How long somebody worked on it, pauses between owners left out."""
        self.before = Before()
        """What was used up before the allowances began anew."""
        self.questions: dict[str, Question] = {}
        self.gates: dict[str, Gate] = {}
        self.landing: Plain | None = None
        self.landed: Plain | None = None
        self.discarded = False
        self.finished: Plain | None = None
        """The last `session_finished`; a session that goes on after it has none."""
        self.position = 0
        self._since: datetime.datetime | None = None

    @property
    def iterations(self) -> int:
        """How many rounds were really worked on."""
        return sum(one.attempted is not None for one in self.rounds)

    @property
    def allowed_rounds(self) -> list[Round]:
        """Those that count against the limits now."""
        return self.rounds[self.before.rounds :]

    @property
    def last_judged(self) -> Plain | None:
        return next((one.judged for one in reversed(self.rounds) if one.judged is not None), None)

    @property
    def question(self) -> Question | None:
        """The one that waits for an answer."""
        waiting = [one for one in self.questions.values() if one.answer is None and not one.expired]
        return waiting[-1] if waiting else None

    @property
    def gate(self) -> Gate | None:
        """The one that waits for a decision."""
        waiting = [one for one in self.gates.values() if not one.decision]
        return waiting[-1] if waiting else None

    def take(self, record: Record) -> None:
        """Let one more record count."""
        self.position = record.position
        self._tick(record)
        if record.seq is None:
            self._take_note(record.kind, record.body)
        else:
            self._take_event(record.kind, record.body)

    def _tick(self, record: Record) -> None:
        now = datetime.datetime.fromisoformat(record.at)
        self.created_at = self.created_at or record.at
        if self._since is not None and record.kind != OWNED:
            self.active_secs += max(0.0, (now - self._since).total_seconds())
        self._since = now

    def _take_note(self, kind: str, body: Plain) -> None:
        rung, dot, inner = kind.partition(".")
        if dot:
            self.notes.setdefault(rung, []).append(Note(inner, body))
            if inner in ("turn", "turn_failed"):
                self.turns[str(body.get("role", ""))] += 1
            return
        match kind:
            case "opened":
                self.opened = body
            case "owned" if body.get("anew"):
                self.before = Before(len(self.rounds), self.tokens, self.usd or 0.0, self.active_secs)
            case "tree":
                self.tree = str(body["name"])
            case "round":
                self.rounds.append(Round(body["n"], body["rung"]))
            case "attempted":
                self.rounds[-1].attempted = body
            case "judged":
                self.rounds[-1].judged = body
            case "landing":
                self.landing = body
            case "discarded":
                self.discarded = True
            case _:
                pass

    def _take_event(self, kind: str, body: Plain) -> None:
        match kind:
            case "session_started":
                self.started = body
            case "state_changed":
                self.state = str(body["to"])
                self.finished = None if self.state != "finished" else self.finished
            case "baseline_completed":
                self.baseline = body
            case "engine_selected":
                self.engine = str(body["engine"])
            case "model_selected" | "model_fallback":
                self.model = str(body["model"])
            case "spend":
                self.tokens, self.usd = body["tokens"], body["usd"]
            case "landed":
                self.landed = body
            case "session_finished":
                self.finished = body
            case _:
                self._take_decision(kind, body)

    def _take_decision(self, kind: str, body: Plain) -> None:
        match kind:
            case "question_asked":
                self.questions[body["id"]] = Question(body["id"], body["prompt"], body["expires_at"])
            case "question_answered":
                self.questions[body["id"]].answer = str(body["answer"])
            case "question_expired":
                self.questions[body["id"]].expired = True
            case "gate_opened":
                self.gates[body["id"]] = Gate(
                    body["id"], body["gate"], reason=str(body.get("reason", "")), detail=str(body.get("detail", ""))
                )
            case "gate_decided":
                self.gates[body["id"]].decision = str(body["decision"])
            case _:
                pass


def told(records: Iterable[Record]) -> Story:
    """The story so far."""
    story = Story()
    for record in records:
        story.take(record)
    return story
