"""State of a session, computed from its log alone: how it started, and what was tried, judged, asked and spent.

Events are public facts. Notes are facts that only a resumed session needs. Both are folded in the order in which they
were written. Nothing is decided here.
"""

import datetime
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from donewhen import events
from donewhen.engines.interface import Note
from donewhen.event_records import Amendment, CheckResult, TestCounts
from donewhen.events import Event
from donewhen.records import frozen
from donewhen.session.log.notes import (
    AmendmentIntent,
    AmendmentRed,
    Attempted,
    Baseline,
    ChangeRequest,
    ClockChanged,
    Discarded,
    Judged,
    LandingIntent,
    MakerTree,
    Opinion,
    OwnerChanged,
    ProposalNote,
    RoundBegun,
    ShownHint,
)
from donewhen.storage.record import Record

Plain = Mapping[str, Any]


@dataclass(slots=True)
class Round:
    """One round: an attempt, then its verdict."""

    n: int
    step: str
    attempted: Attempted | None = None
    judged: Judged | None = None
    hint: ShownHint | None = None
    """Hint from an earlier repair; a hint without text is withheld."""
    is_resumed: bool = False
    """True if the session was resumed after this round."""
    opinion: Opinion | None = None
    """Result of the evaluation of green work; None without one."""

    @property
    def has_failed_evaluation(self) -> bool:
        """True if the contract is green but the evaluation did not pass."""
        return self.opinion is not None and self.opinion.status != "passed"

    @property
    def is_counted(self) -> bool:
        """False if the round ended because only a person or time helps, or because the engine declined.

        Such a round does not count against the limits.
        """
        return self.attempted is None or self.attempted.stop not in ("waits", "declines")

    @property
    def was_worked_on(self) -> bool:
        return self.attempted is not None and self.attempted.stop != "declines"


@dataclass(slots=True)
class Gate:
    id: str
    kind: str
    decision: str = ""
    """Empty while it waits for a person."""
    reason: str = ""
    detail: str = ""
    """Full text of what the decision is about."""
    amendment: Amendment | None = None
    """The edits that it is about, and what they cost."""
    expires_at: str = ""
    """When it counts as denied; empty if it waits without a limit."""


LEFT_OUT_ID = "amendment-left-out"
"""The id of the optional decision on edits that were left out."""


@dataclass(slots=True)
class LeftOutEdits:
    """Edits of protected paths that a verified session left out. A person may approve them. Nothing waits for that."""

    detail: str = ""
    amendment: Amendment | None = None
    expires_at: str = ""
    decision: str = ""
    red: str = ""
    """Why the approved edits did not count: what was red."""
    intent: AmendmentIntent | None = None
    landed: events.Landed | None = None


@dataclass(slots=True)
class Question:
    id: str
    prompt: str
    expires_at: str | None
    answer: str | None = None
    expired: bool = False


@frozen
class EarlierUse:
    """What was used when a finished session was resumed. It does not count against the limits again."""

    rounds: int = 0
    tokens: int = 0
    usd: float = 0.0
    secs: float = 0.0


class SessionState:
    def __init__(self) -> None:
        self.run_state = "created"
        """The `to` of the last `state_changed`."""
        self.created_at = ""
        self.start_note: Plain = {}
        self.started: events.SessionStarted | None = None
        self.proposals: list[ProposalNote] = []
        """Plans and contracts that were proposed in this session; the last one counts."""
        self.change_request = ""
        """Change request for the last proposal; empty once the next proposal is made."""
        self.baseline: events.BaselineCompleted | None = None
        self.baseline_note: Baseline | None = None
        """Data about the baseline that only the memory needs."""
        self.base_tests: dict[str, TestCounts | None] = {}
        """The test counts of each check on the base, where it was run."""
        self.engine = ""
        self.agent = ""
        """The last agent that worked on the session."""
        self.model = ""
        self.declined: set[str] = set()
        """Engines that are not used again."""
        self.tree = ""
        """The name of the maker tree."""
        self.parts: dict[str, str] = {}
        """Names of the maker trees of parts of the work, by part."""
        self.rounds: list[Round] = []
        self.notes: dict[str, list[Note]] = {}
        self.turns: Counter[str] = Counter()
        """Model turns of our engines by role, failed ones included."""
        self.agent_turns: Counter[str] = Counter()
        """Turns that agents report, by role."""
        self.tokens = 0
        self.input_tokens, self.output_tokens = 0, 0
        self.usd: float | None = 0.0
        self.active_secs = 0.0
        """Seconds that owners worked on the session, without pauses between owners and jumps of the clock."""
        self.earlier_use = EarlierUse()
        """What was used up before the limits were reset."""
        self.errors: set[str] = set()
        """Kinds of errors that were reported."""
        self.questions: dict[str, Question] = {}
        self.gates: dict[str, Gate] = {}
        self.deciders: dict[str, str] = {}
        """Who decided, by the id of the gate."""
        self.landing: LandingIntent | None = None
        self.landed: events.Landed | None = None
        self.landings: list[events.Landed] = []
        """Every landing of the judged tree, without approved left-out edits."""
        self.left_out: LeftOutEdits | None = None
        """Edits that a verified session left out; None if there are none."""
        self.discarded = False
        self.finished: events.SessionFinished | None = None
        """The last `session_finished`; None once the session runs again."""
        self.position = 0
        self.count = 0
        """Number of folded records; less than the position of the last one if some were lost."""
        self._is_over = False
        """True from the end of the session until it is resumed."""
        self._since: datetime.datetime | None = None
        self._generation = 0

    @property
    def iterations(self) -> int:
        """Number of rounds that were really worked on."""
        return sum(one.was_worked_on for one in self.rounds)

    @property
    def allowed_rounds(self) -> list[Round]:
        """Rounds that count against the current limits."""
        return self.rounds[self.earlier_use.rounds :]

    @property
    def lost(self) -> int:
        """Number of records of the log that could not be read. Valid once all records are folded."""
        return self.position - self.count

    @property
    def baseline_results(self) -> tuple[CheckResult, ...]:
        """The results before any work; empty if the baseline was not run."""
        return self.baseline.results if self.baseline is not None else ()

    @property
    def last_judged(self) -> Judged | None:
        return next((one.judged for one in reversed(self.rounds) if one.judged is not None), None)

    @property
    def question(self) -> Question | None:
        """The question that waits for an answer."""
        waiting = [one for one in self.questions.values() if one.answer is None and not one.expired]
        return waiting[-1] if waiting else None

    @property
    def gate(self) -> Gate | None:
        """The gate that waits for a decision. A gate of a finished session waits again after a resume."""
        waiting = [one for one in self.gates.values() if not one.decision and not self._is_over]
        return waiting[-1] if waiting else None

    def fold(self, record: Record) -> None:
        """Fold one more record."""
        self.position = record.position
        self.count += 1
        self._count_time(record)
        if record.seq is None:
            self._fold_note(record.kind, record.body)
        else:
            self._fold_event(record.event)

    def _count_time(self, record: Record) -> None:
        now = datetime.datetime.fromisoformat(record.at)
        self.created_at = self.created_at or record.at
        if self._since is not None and record.generation == self._generation:
            self.active_secs += max(0.0, (now - self._since).total_seconds())
        self._since, self._generation = now, record.generation

    def _fold_note(self, kind: str, body: Plain) -> None:
        notebook, dot, inner = kind.partition(".")
        if dot:
            self.notes.setdefault(notebook, []).append(Note(inner, body))
            if inner in ("turn", "turn_failed"):
                self.turns[str(body.get("role", ""))] += 1
            if inner == "turn":
                self.agent_turns[str(body.get("role", ""))] -= 1  # its event is counted like that of an agent
            return
        match kind:
            case "opened":
                self.start_note = body
            case OwnerChanged.KIND:
                self._resume(OwnerChanged.load(body).restarts)
            case ClockChanged.KIND:
                self.active_secs = max(0.0, self.active_secs + ClockChanged.load(body).secs)
            case MakerTree.KIND:
                self._fold_tree(MakerTree.load(body))
            case RoundBegun.KIND:
                begun = RoundBegun.load(body)
                self.rounds.append(Round(begun.n, begun.step, hint=begun.hint))
            case Attempted.KIND:
                attempted = Attempted.load(body)
                self._round(attempted.n).attempted = attempted
            case Judged.KIND:
                judged = Judged.load(body)
                self._round(judged.n).judged = judged
            case ProposalNote.KIND:
                self._fold_proposal(ProposalNote.load(body))
            case ChangeRequest.KIND:
                self.change_request = ChangeRequest.load(body).text
            case Opinion.KIND:
                opinion = Opinion.load(body)
                self._round(opinion.n).opinion = opinion
            case Baseline.KIND:
                self.baseline_note = Baseline.load(body)
            case _:
                self._fold_end(kind, body)

    def _fold_end(self, kind: str, body: Plain) -> None:
        match kind:
            case LandingIntent.KIND:
                self.landing = LandingIntent.load(body)
            case AmendmentIntent.KIND:
                self._left_out().intent = AmendmentIntent.load(body)
            case AmendmentRed.KIND:
                self._left_out().red = AmendmentRed.load(body).reason
            case Discarded.KIND:
                self.discarded = True
            case _:
                pass

    def _left_out(self) -> LeftOutEdits:
        """Return the left-out edits. If the record of the offer was lost, create them without details."""
        if self.left_out is None:
            self.left_out = LeftOutEdits()
        return self.left_out

    def _fold_tree(self, tree: MakerTree) -> None:
        if tree.part is None:
            self.tree = tree.name
        else:
            self.parts[tree.part] = tree.name

    def _fold_proposal(self, proposal: ProposalNote) -> None:
        self.proposals.append(proposal)
        self.change_request = ""
        if proposal.contract is not None:
            self.start_note, self.baseline = {**self.start_note, "contract": proposal.contract}, None

    def _resume(self, restarts: bool) -> None:
        self._is_over = False
        for one in self.rounds[-1:]:
            one.is_resumed = True
        if restarts:
            self.earlier_use = EarlierUse(len(self.rounds), self.tokens, self.usd or 0.0, self.active_secs)
            self.declined.clear()

    def _round(self, n: int) -> Round:
        """Return the newest round. If the record that began it was lost, create a round without details."""
        if not self.rounds or self.rounds[-1].n != n:
            self.rounds.append(Round(n, "?"))
        return self.rounds[-1]

    def _fold_event(self, event: Event) -> None:
        match event:
            case events.SessionStarted():
                self.started = event
            case events.StateChanged():
                self.run_state = event.to
                self._is_over = self.run_state == "finished"
                self.finished = self.finished if self._is_over else None
            case events.BaselineCompleted():
                self.baseline = event
            case events.EngineSelected():
                self.engine, self.agent = event.engine, event.agent or self.agent
            case events.EngineDeclined():
                self.declined.add(event.engine)
            case events.ModelSelected() | events.ModelFallback():
                self.model = event.model
            case events.ModelTurn():
                self.agent_turns[event.role] += 1
            case events.Spend():
                self.tokens, self.usd = event.tokens, event.usd
                self.input_tokens, self.output_tokens = event.input, event.output
            case events.Landed():
                self._fold_landed(event)
            case events.CheckCompleted() if event.phase == "baseline" and not event.subtask:
                self.base_tests[event.name] = event.tests
            case events.Error():
                self.errors.add(event.kind)
            case events.SessionFinished():
                self.finished = event
                for question in self.questions.values():
                    question.expired |= question.answer is None  # the asker is gone
            case _:
                self._fold_decision(event)

    def _fold_landed(self, event: events.Landed) -> None:
        if event.amended:
            self._left_out().landed = event
            self.landed = self.landed or event
        else:
            self.landed = event
            self.landings.append(event)

    def _fold_decision(self, event: Event) -> None:
        """Fold questions and gates. An answer or decision counts even if the record of its question or gate is lost."""
        match event:
            case events.QuestionAsked():
                self.questions[event.id] = Question(event.id, event.prompt, event.expires_at)
            case events.QuestionAnswered():
                self.questions.setdefault(event.id, Question(event.id, "", None)).answer = event.answer
            case events.QuestionExpired():
                self.questions.setdefault(event.id, Question(event.id, "", None)).expired = True
            case events.GateOpened() if event.optional:
                self.left_out = LeftOutEdits(event.detail, event.amendment, event.expires_at or "")
            case events.GateOpened():
                self.gates[event.id] = Gate(
                    event.id,
                    event.gate,
                    reason=event.reason,
                    detail=event.detail,
                    amendment=event.amendment,
                    expires_at=event.expires_at or "",
                )
            case events.GateDecided(id=id) if id == LEFT_OUT_ID:
                self._left_out().decision = event.decision
                self.deciders[id] = event.by
            case events.GateDecided():
                self.gates.setdefault(event.id, Gate(event.id, event.gate)).decision = event.decision
                self.deciders[event.id] = event.by
            case _:
                pass


def turns_of(state: SessionState, role: str) -> int:
    """Return the model turns of a role, over our engines and agents."""
    return state.turns[role] + state.agent_turns[role]


def replay_log(records: Iterable[Record]) -> SessionState:
    """Return the state after these records."""
    state = SessionState()
    for record in records:
        state.fold(record)
    return state
