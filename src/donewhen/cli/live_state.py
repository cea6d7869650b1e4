"""What a live view knows: events in, plain facts about now out. How that looks is not known here, nor is any terminal.

Every event also gives the lines that stay in the scrollback, so that they tell the story when the view is gone.
"""

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field

from donewhen.cli.event_lines import DECIDING, LONGEST, SAID_AT_THE_END, Body, call_words, counted, line_of, short
from donewhen.model.prices import is_free
from donewhen.storage.record import Record

LATEST = 6
LONGEST_PARTIAL = 2_000
PASSING = ("tool_call", "tool_result", "plan_text")
"""Shown while they happen, but not kept in the scrollback."""
IN_THE_ROWS = ("iteration_started", "baseline_completed")
"""What a row says all the time, or each check for itself."""
ROUND_ENDS = ("iteration_started", "engine_declined", "session_finished", "diff_ready", "gate_opened")


@dataclass(slots=True)
class CheckSeen:
    name: str
    status: str = ""
    duration_ms: int = 0
    phase: str = ""
    """While it runs."""
    since: float = 0.0


@dataclass(slots=True)
class RoundSeen:
    n: int = 0
    most: int = 0
    calls: int = 0
    tokens_before: int = 0
    since: float = 0.0
    is_open: bool = False
    is_judged: bool = field(default=False, init=False)


class Seen:
    """A session so far. `now` is any clock in seconds."""

    def __init__(self, now: float, person_here: bool = False) -> None:
        self.began = now
        self.person_here = person_here
        """Whether questions are put to somebody right here, in more words than a line has."""
        self.session = self.intent = self.engine = self.agent = self.model = ""
        self.round = RoundSeen()
        self.checks: dict[str, CheckSeen] = {}
        self.calls: dict[str, tuple[str, float]] = {}
        self.doing, self.since = "preparing", now
        self.tokens = 0
        self.usd: float | None = None
        self.latest: deque[str] = deque(maxlen=LATEST)
        self.partial = ""
        """What a model is writing."""

    @property
    def is_free(self) -> bool:
        """Whether whoever works now is known to cost nothing."""
        return self.engine == "native" and is_free(self.model)

    def take(self, record: Record, now: float) -> list[str]:
        """Let one more event count; the lines that stay."""
        self.session = record.session  # of one that goes on after a pause, the beginning is not told again
        kept = [*self._end_of_round(record, now)]
        self._note(record, now)
        if record.kind in PASSING:
            self.latest.extend(_passing_lines(record))
        elif record.kind not in (*SAID_AT_THE_END, *IN_THE_ROWS) and not self._is_said_elsewhere(record):
            kept += filter(None, [line_of(record)])
        return kept

    def remember(self, record: Record, now: float) -> None:
        """An event of an earlier run of the same session: it is known, but nothing of it goes on."""
        self.take(record, now)
        self._nothing_runs()
        self.latest.clear()
        self.round.is_open = False
        self._do("preparing", now)

    def streamed(self, text: str) -> None:
        """A piece of what a model is writing; once it is whole, an event says it again."""
        self.partial = (self.partial + text)[-LONGEST_PARTIAL:]

    def now_doing(self) -> tuple[str, float]:
        """What goes on, and since when: a check, a tool, or whatever the session is in."""
        running = [check for check in self.checks.values() if check.phase]
        if running:
            check = max(running, key=lambda one: one.since)
            return f"checking {check.name}{'' if check.phase == 'round' else f' ({check.phase})'}", check.since
        if self.calls:
            words, since = next(iter(self.calls.values()))
            return f"→ {words}", since
        return self.doing, self.since

    def _is_said_elsewhere(self, record: Record) -> bool:
        if record.kind == "question_asked":
            return self.person_here
        return record.kind == "check_completed" and self.round.n > 0 and record.body.get("phase") == "baseline"

    def _nothing_runs(self) -> None:
        """Whatever was broken off has no result to end it."""
        self.calls.clear()
        for check in self.checks.values():
            check.phase = ""

    def _do(self, what: str, now: float) -> None:
        self.doing, self.since = what, now

    # -- what an event changes --

    def _note(self, record: Record, now: float) -> None:
        body = record.body
        match record.kind:
            case "session_started":
                self.intent = short(body.get("intent"))
                self.engine, self.model = str(body.get("engine") or ""), str(body.get("model") or "")
                names = [str(check["name"]) for check in body.get("contract", {}).get("checks", ())]
                self.checks = {name: CheckSeen(name) for name in names}
            case "state_changed":
                self._nothing_runs()
                self._do(_STATES.get(str(body.get("to")), self.doing), now)
            case "engine_selected":
                self.engine, self.agent = str(body.get("engine")), str(body.get("agent") or "")
            case "model_selected" | "model_fallback":
                self.model = str(body.get("model"))
            case "iteration_started":
                self.round = RoundSeen(body["n"], body["max"], 0, self.tokens, now, True)
            case "spend":
                self.tokens, self.usd = body["tokens"], body["usd"]
            case "diff_ready":
                self._do("finishing", now)
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
                check = self.checks.setdefault(str(body["name"]), CheckSeen(str(body["name"])))
                check.phase, check.since = str(body["phase"]), now
            case "check_completed":
                self._note_check(body)
            case "question_asked" | "gate_opened":
                self._do(_STATES["waiting"], now)
            case "question_answered" | "question_expired" | "gate_decided":
                self._do("going on", now)
            case _:
                pass

    def _note_check(self, body: Body) -> None:
        check = self.checks.setdefault(str(body["name"]), CheckSeen(str(body["name"])))
        decides = body.get("phase") in DECIDING
        self.round.is_judged |= decides
        counts = decides or not self.round.n
        if counts:
            check.status, check.duration_ms = str(body["status"]), int(body["duration_ms"])
        if counts or check.phase == body.get("phase"):
            check.phase = ""

    def _end_of_round(self, record: Record, now: float) -> Iterator[str]:
        waits = record.kind == "state_changed" and record.body.get("to") in ("waiting", "finished")
        last_look = record.kind == "check_started" and record.body.get("phase") == "final"
        if self.round.is_open and (waits or last_look or record.kind in ROUND_ENDS):
            self.round.is_open = False
            tokens = self.tokens - self.round.tokens_before
            spent = f"{counted(self.round.calls, 'call')}, {counted(tokens, 'token')}, {now - self.round.since:.0f} s"
            yield f"round {self.round.n} of {self.round.most}: {self._verdict()} ({spent})"

    def _verdict(self) -> str:
        if not self.round.is_judged:
            return "not judged"
        red = [f"{one.name} {one.status or 'not run'}" for one in self.checks.values() if one.status != "pass"]
        return ", ".join(red) or "every check passed"


_STATES = {"running": "thinking", "judging": "judging", "waiting": "waiting for a person", "finished": "finishing"}


def _passing_lines(record: Record) -> Iterator[str]:
    if record.kind == "plan_text":
        lines = [line[:LONGEST] for line in str(record.body.get("text")).splitlines() if line.strip()]
        yield from lines[-LATEST:]
    elif record.kind == "tool_result" and record.body.get("ok"):
        yield f"    {short(record.body.get('preview'))}"
    elif line := line_of(record):
        yield line
