"""State of the live view: events in, facts about the current moment out. It does not format rows or use a terminal.

Every event also returns the lines that stay in the scrollback, so that they show what happened when the view is gone.
"""

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field

from donewhen import events
from donewhen.cli.views.check_states import CheckStates
from donewhen.cli.views.event_fields import LONGEST, amount, count_text, short, whole
from donewhen.cli.views.event_lines import (
    SHOWN_AT_THE_END,
    call_words,
    lines_of,
    of_subtask,
    phase_words,
    subtask_of,
)
from donewhen.cli.views.subtask_states import SubtaskStates
from donewhen.engines.spec import is_ours
from donewhen.events import Event
from donewhen.model.prices import is_free
from donewhen.storage.record import Record

LATEST = 6
LONGEST_PARTIAL = 2_000
PASSING = (events.ToolCall, events.ToolResult, events.PlanText)
"""Events that are shown only briefly and not kept in the scrollback."""
IN_THE_ROWS = (events.IterationStarted, events.BaselineCompleted)
"""Events whose content is always in a row, or is shown for each check."""
ASKING = (events.QuestionAsked, events.QuestionAnswered, events.QuestionExpired, events.GateOpened, events.GateDecided)
ROUND_ENDS = (
    events.IterationStarted, events.EngineDeclined, events.SessionFinished, events.DiffReady, events.GateOpened,
)  # fmt: skip


@dataclass(slots=True)
class RoundState:
    n: int = 0
    most: int = 0
    calls: int = 0
    tokens_before: int = 0
    since: float = 0.0
    is_open: bool = False
    is_judged: bool = field(default=False, init=False)


class LiveState:
    """The current state of a session. `now` is any clock in seconds."""

    def __init__(self, now: float, person_here: bool = False) -> None:
        self.began = now
        self.person_here = person_here
        """True if a person at this terminal is asked, with the full text of a question instead of one line."""
        self.session = self.intent = self.engine = self.agent = self.model = ""
        self.round = RoundState()
        self.checks = CheckStates()
        self.subtasks = SubtaskStates()
        self.calls: dict[str, tuple[str, float]] = {}
        self.doing, self.since = "preparing", now
        self.tokens = 0
        self.usd: float | None = None
        self.latest: deque[str] = deque(maxlen=LATEST)
        self.partial = ""
        """The text that a model is writing."""

    @property
    def is_free(self) -> bool:
        """True if the current engine and model are known to be free."""
        return is_ours(self.engine) and not self.agent and is_free(self.model)

    def add(self, record: Record, now: float) -> list[str]:
        """Process one event and return the lines that stay in the scrollback."""
        self.session = record.session  # a resumed session has no second session_started event
        event = record.event
        kept = [*self._end_of_round(event, now)]
        self.subtasks.note(event, now)
        self._note(event, now)
        if self._is_shown_elsewhere(event):
            return kept
        if isinstance(event, PASSING) or self.checks.is_intermediate(event):
            self.latest.extend(_passing_lines(record))
        elif not isinstance(event, (*SHOWN_AT_THE_END, *IN_THE_ROWS)):
            kept += lines_of(record)
        return kept

    def remember(self, record: Record, now: float) -> None:
        """Process an event of an earlier run of the same session: nothing of that run is still active."""
        self.add(record, now)
        self._nothing_runs()
        self.subtasks.stop_all(now)
        self.latest.clear()
        self.round.is_open = False
        self._do("preparing", now)

    def add_text(self, text: str) -> None:
        """Add a piece of the text that a model is writing; an event repeats the complete text."""
        self.partial = (self.partial + text)[-LONGEST_PARTIAL:]

    def now_doing(self) -> tuple[str, float]:
        """Return the current activity and its start: a check, a tool, the subtasks or the session's state."""
        if check := self.checks.running():
            return f"checking {check.name}{phase_words(check.phase)}", check.since
        if self.calls:
            words, since = next(iter(self.calls.values()))
            return f"→ {words}", since
        active = self.subtasks.active()
        if active and self.doing != _STATES["waiting"]:
            return self.subtasks.summary(), min(one.since for one in active)
        return self.doing, self.since

    def _is_shown_elsewhere(self, event: Event) -> bool:
        if isinstance(event, events.QuestionAsked):
            return self.person_here
        return isinstance(event, events.CheckCompleted) and self.round.n > 0 and event.phase == "baseline"

    def _nothing_runs(self) -> None:
        """Clear running calls and checks: an interrupted one has no result that ends it."""
        self.calls.clear()
        self.checks.stop()

    def _do(self, what: str, now: float) -> None:
        self.doing, self.since = what, now

    # -- state changes by events --

    def _note(self, event: Event, now: float) -> None:
        match event:
            case events.SessionStarted():
                self.intent = short(event.intent)
                self.engine, self.model = event.engine or "", event.model or ""
                self.checks.set_contract(event.contract)
            case events.StateChanged():
                self._nothing_runs()
                self._do(_STATES.get(event.to, self.doing), now)
            case events.EngineSelected():
                self.engine, self.agent = event.engine, event.agent
            case events.ModelSelected() | events.ModelFallback():
                self.model = event.model
            case events.IterationStarted():
                self.round = RoundState(whole(event.n), whole(event.max), 0, self.tokens, now, True)
            case events.Spend():
                self.tokens, self.usd = whole(event.tokens), amount(event.usd)
            case events.PlanningCompleted() if event.items:
                self._do(_STATES["running"], now)
            case _ if type(event) in _STEPS:
                self._do(_STEPS[type(event)], now)
            case _ if event.subtask and not isinstance(event, ASKING):
                self.round.calls += isinstance(event, events.ToolCall)
            case _:
                self._note_work(event, now)

    def _note_work(self, event: Event, now: float) -> None:
        match event:
            case events.ModelTurn() | events.PlanText() | events.Error():
                self.partial = ""
            case events.ToolCall():
                self.round.calls += 1
                self.calls[event.id] = (call_words(event), now)
            case events.ToolResult():
                self.calls.pop(event.id, None)
                self._do(_STATES["running"], now)
            case events.CheckStarted():
                self.checks.begin(event, now, self.round.n > 0)
            case events.CheckCompleted():
                self.round.is_judged |= self.checks.end(event, self.round.n > 0)
            case events.GateOpened(optional=True):
                pass  # the session does not wait
            case events.QuestionAsked() | events.GateOpened():
                self._do(_STATES["waiting"], now)
            case events.QuestionAnswered() | events.QuestionExpired() | events.GateDecided():
                self._do("continuing", now)
            case _:
                pass

    def _end_of_round(self, event: Event, now: float) -> Iterator[str]:
        waits = isinstance(event, events.StateChanged) and event.to in ("waiting", "finished")
        last_look = isinstance(event, events.CheckStarted) and event.phase == "final"
        if self.round.is_open and (waits or last_look or isinstance(event, ROUND_ENDS)):
            self.round.is_open = False
            verdict = self.checks.verdict() if self.round.is_judged else "not judged"
            tokens = self.tokens - self.round.tokens_before
            spent = (
                f"{count_text(self.round.calls, 'call')}, {count_text(tokens, 'token')}, {now - self.round.since:.0f} s"
            )
            yield f"round {self.round.n} of {self.round.most}: {verdict} ({spent})"


_STEPS: dict[type[Event], str] = {
    events.PlanningStarted: "planning",
    events.PlanningCompleted: "preparing the subtasks",
    events.EvaluationStarted: "evaluating",
    events.EvaluationCompleted: "thinking",
    events.SubtasksFarmed: "combining the patches",
    events.DiffReady: "finishing",
}
_STATES = {"running": "thinking", "judging": "judging", "waiting": "waiting for a person", "finished": "finishing"}


def _passing_lines(record: Record) -> Iterator[str]:
    match record.event:
        case events.PlanText() as event:
            lines = [line[:LONGEST] for line in event.text.splitlines() if line.strip()]
            yield from (of_subtask(line, subtask_of(event)) for line in lines[-LATEST:])
        case events.ToolResult() as event if event.ok:
            yield of_subtask(f"    {short(event.preview)}", subtask_of(event))
        case _:
            yield from lines_of(record)
