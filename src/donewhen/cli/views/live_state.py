"""State of the live view: events in, facts about the current moment out. It does not format rows or use a terminal.

Every event also returns the lines that stay in the scrollback, so that they show what happened when the view is gone.
"""

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field

from donewhen.cli.views.check_states import CheckStates
from donewhen.cli.views.event_fields import LONGEST, Body, amount, counted, short, subtask_of, whole
from donewhen.cli.views.event_lines import OUR_ENGINES, SAID_AT_THE_END, call_words, lines_of, of_subtask, phase_words
from donewhen.cli.views.subtask_states import SubtaskStates
from donewhen.model.prices import is_free
from donewhen.storage.record import Record

LATEST = 6
LONGEST_PARTIAL = 2_000
PASSING = ("tool_call", "tool_result", "plan_text")
"""Events that are shown only briefly and not kept in the scrollback."""
IN_THE_ROWS = ("iteration_started", "baseline_completed")
"""Events whose content is always in a row, or is shown for each check."""
ASKING = ("question_asked", "question_answered", "question_expired", "gate_opened", "gate_decided")
ROUND_ENDS = ("iteration_started", "engine_declined", "session_finished", "diff_ready", "gate_opened")


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
        return self.engine in OUR_ENGINES and not self.agent and is_free(self.model)

    def take(self, record: Record, now: float) -> list[str]:
        """Process one event and return the lines that stay in the scrollback."""
        self.session = record.session  # a resumed session has no second session_started event
        kept = [*self._end_of_round(record, now)]
        self.subtasks.take(record, now)
        self._note(record, now)
        if self._is_said_elsewhere(record):
            return kept
        if record.kind in PASSING or self.checks.is_on_the_way(record):
            self.latest.extend(_passing_lines(record))
        elif record.kind not in (*SAID_AT_THE_END, *IN_THE_ROWS):
            kept += lines_of(record)
        return kept

    def remember(self, record: Record, now: float) -> None:
        """Process an event of an earlier run of the same session: nothing of that run is still active."""
        self.take(record, now)
        self._nothing_runs()
        self.subtasks.break_off(now)
        self.latest.clear()
        self.round.is_open = False
        self._do("preparing", now)

    def streamed(self, text: str) -> None:
        """Add a piece of the text that a model is writing; an event repeats the complete text."""
        self.partial = (self.partial + text)[-LONGEST_PARTIAL:]

    def now_doing(self) -> tuple[str, float]:
        """Return the current activity and its start: a check, a tool, the subtasks or the session's state."""
        if check := self.checks.running():
            return f"checking {check.name}{phase_words(check.phase)}", check.since
        if self.calls:
            words, since = next(iter(self.calls.values()))
            return f"→ {words}", since
        hands = self.subtasks.under_way()
        if hands and self.doing != _STATES["waiting"]:
            return self.subtasks.summary(), min(one.since for one in hands)
        return self.doing, self.since

    def _is_said_elsewhere(self, record: Record) -> bool:
        if record.kind == "question_asked":
            return self.person_here
        return record.kind == "check_completed" and self.round.n > 0 and record.body.get("phase") == "baseline"

    def _nothing_runs(self) -> None:
        """Clear running calls and checks: an interrupted one has no result that ends it."""
        self.calls.clear()
        self.checks.stop()

    def _do(self, what: str, now: float) -> None:
        self.doing, self.since = what, now

    # -- state changes by events --

    def _note(self, record: Record, now: float) -> None:
        body = record.body
        match record.kind:
            case "session_started":
                self.intent = short(body.get("intent"))
                self.engine, self.model = str(body.get("engine") or ""), str(body.get("model") or "")
                self.checks.promise(body.get("contract"))
            case "state_changed":
                self._nothing_runs()
                self._do(_STATES.get(str(body.get("to")), self.doing), now)
            case "engine_selected":
                self.engine, self.agent = str(body.get("engine")), str(body.get("agent") or "")
            case "model_selected" | "model_fallback":
                self.model = str(body.get("model"))
            case "iteration_started":
                self.round = RoundState(whole(body.get("n")), whole(body.get("max")), 0, self.tokens, now, True)
            case "spend":
                self.tokens, self.usd = whole(body.get("tokens")), amount(body.get("usd"))
            case "planning_completed" if body.get("items"):
                self._do(_STATES["running"], now)
            case _ if record.kind in _STEPS:
                self._do(_STEPS[record.kind], now)
            case _ if subtask_of(body) and record.kind not in ASKING:
                self.round.calls += record.kind == "tool_call"
            case _:
                self._note_work(record.kind, body, now)

    def _note_work(self, kind: str, body: Body, now: float) -> None:
        match kind:
            case "model_turn" | "plan_text" | "error":
                self.partial = ""
            case "tool_call":
                self.round.calls += 1
                self.calls[str(body.get("id"))] = (call_words(body), now)
            case "tool_result":
                self.calls.pop(str(body.get("id")), None)
                self._do(_STATES["running"], now)
            case "check_started":
                self.checks.begin(body, now, self.round.n > 0)
            case "check_completed":
                self.round.is_judged |= self.checks.end(body, self.round.n > 0)
            case "question_asked" | "gate_opened":
                self._do(_STATES["waiting"], now)
            case "question_answered" | "question_expired" | "gate_decided":
                self._do("going on", now)
            case _:
                pass

    def _end_of_round(self, record: Record, now: float) -> Iterator[str]:
        waits = record.kind == "state_changed" and record.body.get("to") in ("waiting", "finished")
        last_look = record.kind == "check_started" and record.body.get("phase") == "final"
        if self.round.is_open and (waits or last_look or record.kind in ROUND_ENDS):
            self.round.is_open = False
            verdict = self.checks.verdict() if self.round.is_judged else "not judged"
            tokens = self.tokens - self.round.tokens_before
            spent = f"{counted(self.round.calls, 'call')}, {counted(tokens, 'token')}, {now - self.round.since:.0f} s"
            yield f"round {self.round.n} of {self.round.most}: {verdict} ({spent})"


_STEPS = {
    "planning_started": "planning",
    "planning_completed": "preparing the subtasks",
    "evaluation_started": "evaluating",
    "evaluation_completed": "thinking",
    "subtasks_farmed": "putting the patches together",
    "diff_ready": "finishing",
}
_STATES = {"running": "thinking", "judging": "judging", "waiting": "waiting for a person", "finished": "finishing"}


def _passing_lines(record: Record) -> Iterator[str]:
    subtask = subtask_of(record.body)
    if record.kind == "plan_text":
        lines = [line[:LONGEST] for line in str(record.body.get("text")).splitlines() if line.strip()]
        yield from (of_subtask(line, subtask) for line in lines[-LATEST:])
    elif record.kind == "tool_result" and record.body.get("ok"):
        yield of_subtask(f"    {short(record.body.get('preview'))}", subtask)
    else:
        yield from lines_of(record)
