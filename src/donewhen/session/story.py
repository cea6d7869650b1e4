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
from donewhen.records import frozen
from donewhen.storage.record import Record

OPENED, OWNED, CLOCK, TREE, ROUND, ATTEMPTED, JUDGED, LANDING, DISCARDED = (
    "opened", "owned", "clock", "tree", "round", "attempted", "judged", "landing", "discarded"
)  # fmt: skip
PROPOSED, WISH, OPINION = "proposed", "wish", "opinion"
BASELINE = "baseline"
"""The kinds of a session's own notes. An engine's are RUNG.KIND."""

Plain = Mapping[str, Any]


@dataclass(slots=True)
class Round:
    """One iteration: work, then judgement."""

    n: int
    rung: str
    attempted: Plain | None = None
    judged: Plain | None = None
    hint: Plain | None = None
    """What is remembered of an earlier repair; one without text is withheld."""
    resumed: bool = False
    """Whether the session was gone on with since."""
    opinion: Plain | None = None
    """What was said about green work that somebody else is asked about as well."""

    @property
    def is_refused(self) -> bool:
        """Whether the contract is green and the work is not good enough all the same."""
        return self.opinion is not None and self.opinion["status"] != "passed"

    @property
    def counts(self) -> bool:
        """One that ended because only a person or time helps, or that an engine declined, is not held against the
        limits."""
        return (self.attempted or {}).get("stop") not in ("waits", "declines")

    @property
    def worked_on(self) -> bool:
        return self.attempted is not None and self.attempted.get("stop") != "declines"


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


@frozen
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
        self.proposals: list[Plain] = []
        """Plans and contracts that were made here, the last one counts."""
        self.wish = ""
        """What a person wants to be different in the last of them; empty when that was looked at."""
        self.baseline: Plain | None = None
        self.before_work: Plain = {}
        """What only the memory needs to know of the baseline."""
        self.engine = ""
        self.agent = ""
        """The last agent of others that worked on it."""
        self.model = ""
        self.declined: set[str] = set()
        """Engines that are not asked again."""
        self.tree = ""
        """The name of the maker tree."""
        self.parts: dict[str, str] = {}
        """The names of the maker trees of parts of the work."""
        self.rounds: list[Round] = []
        self.notes: dict[str, list[Note]] = {}
        self.turns: Counter[str] = Counter()
        self.tokens = 0
        self.usd: float | None = 0.0
        self.active_secs = 0.0
        """How long somebody worked on it: pauses between owners and jumps of the clock are left out."""
        self.before = Before()
        """What was used up before the allowances began anew."""
        self.errors: set[str] = set()
        """Of which kinds some were told."""
        self.questions: dict[str, Question] = {}
        self.gates: dict[str, Gate] = {}
        self.landing: Plain | None = None
        self.landed: Plain | None = None
        self.discarded = False
        self.finished: Plain | None = None
        """The last `session_finished`; a session that goes on after it has none."""
        self.position = 0
        self.count = 0
        """How many records were taken; fewer than the position of the last one when some were lost."""
        self._is_over = False
        """From its end until somebody goes on with it."""
        self._since: datetime.datetime | None = None
        self._generation = 0

    @property
    def iterations(self) -> int:
        """How many rounds were really worked on."""
        return sum(one.worked_on for one in self.rounds)

    @property
    def allowed_rounds(self) -> list[Round]:
        """Those that count against the limits now."""
        return self.rounds[self.before.rounds :]

    @property
    def lost(self) -> int:
        """How many records of the log could not be read; to be asked when all of it was taken."""
        return self.position - self.count

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
        """The one that waits for a decision. That of a session which has ended waits again when it goes on."""
        waiting = [one for one in self.gates.values() if not one.decision and not self._is_over]
        return waiting[-1] if waiting else None

    def take(self, record: Record) -> None:
        """Let one more record count."""
        self.position = record.position
        self.count += 1
        self._tick(record)
        if record.seq is None:
            self._take_note(record.kind, record.body)
        else:
            self._take_event(record.kind, record.body)

    def _tick(self, record: Record) -> None:
        now = datetime.datetime.fromisoformat(record.at)
        self.created_at = self.created_at or record.at
        if self._since is not None and record.generation == self._generation:
            self.active_secs += max(0.0, (now - self._since).total_seconds())
        self._since, self._generation = now, record.generation

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
            case "owned":
                self._go_on(anew=bool(body.get("anew")))
            case "clock":
                self.active_secs = max(0.0, self.active_secs + body["secs"])
            case "tree" if "part" in body:
                self.parts[str(body["part"])] = str(body["name"])
            case "tree":
                self.tree = str(body["name"])
            case "round":
                self.rounds.append(Round(body["n"], body["rung"], hint=body.get("hint")))
            case "attempted":
                self._round(body["n"]).attempted = body
            case "judged":
                self._round(body["n"]).judged = body
            case "proposed":
                self.proposals.append(body)
                self.wish = ""
                if body["contract"] is not None:
                    self.opened, self.baseline = {**self.opened, "contract": body["contract"]}, None
            case "wish":
                self.wish = str(body["text"])
            case "opinion":
                self._round(body["n"]).opinion = body
            case "baseline":
                self.before_work = body
            case "landing":
                self.landing = body
            case "discarded":
                self.discarded = True
            case _:
                pass

    def _go_on(self, anew: bool) -> None:
        self._is_over = False
        for one in self.rounds[-1:]:
            one.resumed = True
        if anew:
            self.before = Before(len(self.rounds), self.tokens, self.usd or 0.0, self.active_secs)
            self.declined.clear()

    def _round(self, n: int) -> Round:
        """The newest; where the record that began it was lost, one that says nothing about itself."""
        if not self.rounds or self.rounds[-1].n != n:
            self.rounds.append(Round(n, "?"))
        return self.rounds[-1]

    def _take_event(self, kind: str, body: Plain) -> None:
        match kind:
            case "session_started":
                self.started = body
            case "state_changed":
                self.state = str(body["to"])
                self._is_over = self.state == "finished"
                self.finished = self.finished if self._is_over else None
            case "baseline_completed":
                self.baseline = body
            case "engine_selected":
                self.engine, self.agent = str(body["engine"]), str(body.get("agent", "")) or self.agent
            case "engine_declined":
                self.declined.add(str(body["engine"]))
            case "model_selected" | "model_fallback":
                self.model = str(body["model"])
            case "spend":
                self.tokens, self.usd = body["tokens"], body["usd"]
            case "landed":
                self.landed = body
            case "error":
                self.errors.add(str(body["kind"]))
            case "session_finished":
                self.finished = body
                for question in self.questions.values():
                    question.expired |= question.answer is None  # whoever asked does not listen any more
            case _:
                self._take_decision(kind, body)

    def _take_decision(self, kind: str, body: Plain) -> None:
        """What was answered or decided counts, even where the record of what was asked is lost."""
        asked = self.questions
        match kind:
            case "question_asked":
                asked[body["id"]] = Question(body["id"], body["prompt"], body["expires_at"])
            case "question_answered":
                asked.setdefault(body["id"], Question(body["id"], "", None)).answer = str(body["answer"])
            case "question_expired":
                asked.setdefault(body["id"], Question(body["id"], "", None)).expired = True
            case "gate_opened":
                self.gates[body["id"]] = Gate(
                    body["id"], body["gate"], reason=str(body.get("reason", "")), detail=str(body.get("detail", ""))
                )
            case "gate_decided":
                gate = self.gates.setdefault(body["id"], Gate(body["id"], body["gate"]))
                gate.decision = str(body["decision"])
            case _:
                pass


def told(records: Iterable[Record]) -> Story:
    """The story so far."""
    story = Story()
    for record in records:
        story.take(record)
    return story
