"""Sessions made of facts, as the log would hold them, for tests of the views."""

from collections.abc import Sequence

from donewhen import events
from donewhen.events import Event
from donewhen.storage.record import Record

ID = "5e551011"
CONTRACT = {"checks": [{"name": "lint"}, {"name": "tests"}]}
RESULTS = (events.CheckResult("lint", "pass", 0, 300), events.CheckResult("tests", "pass", 0, 1200))


def record(event: Event, seq: int = 1) -> Record:
    return Record(ID, seq, f"2026-01-02T03:04:{seq % 60:02}.000Z", event.type(), event.fields(), seq)


def records(facts: Sequence[Event]) -> list[Record]:
    return [record(event, number) for number, event in enumerate(facts, 1)]


def started(intent: str = "fix add") -> Event:
    return events.SessionStarted(
        intent=intent,
        repo="/repo",
        base="b" * 40,
        engine="auto",
        model="scripted:s.json",
        contract=CONTRACT,
        isolation="bubblewrap",
        path_transparent=True,
    )


def checked(name: str, status: str, phase: str = "round", *reasons: str) -> Event:
    return events.CheckCompleted(
        name=name,
        phase=phase,
        attempt=1,
        status=status,
        exit_code=0 if status == "pass" else 1,
        signal=None,
        duration_ms=1200,
        output_tail="",
        tests=events.TestCounts(collected=3, passed=2, failed=1) if status == "fail" else None,
        evidence="sidecar",
        cached=False,
        reasons=reasons,
    )


def running(name: str, phase: str = "round") -> Event:
    return events.CheckStarted(name=name, phase=phase)


def state(to: str, before: str = "running") -> Event:
    return events.StateChanged(from_=before, to=to)


def call(id: str, tool: str, preview: str) -> Event:
    return events.ToolCall(id=id, tool=tool, params_preview=preview)


def result(id: str, tool: str, preview: str, ok: bool = True) -> Event:
    return events.ToolResult(id=id, tool=tool, ok=ok, preview=preview)


def round_started(n: int) -> Event:
    return events.IterationStarted(n=n, max=8)


BASELINE: list[Event] = [
    started(),
    state("judging", "created"),
    running("lint", "baseline"),
    checked("lint", "pass", "baseline"),
    running("tests", "baseline"),
    checked("tests", "fail", "baseline", "exit code 1"),
    events.BaselineCompleted(results=RESULTS),
    events.ModelSelected(model="scripted:s.json", reason="asked for"),
    events.EngineSelected(engine="native", reason="asked for"),
]
FIRST_ROUND: list[Event] = [
    round_started(1),
    state("running", "judging"),
    events.Spend(tokens=1234, usd=None),
    events.PlanText(text="I read it first.\n\nThen I change it."),
    call("1", "read_file", '{"path": "calc.py"}'),
    result("1", "read_file", "def add(a, b):\n    return a - b\n"),
    call("2", "shell", '{"command": "python -c \\"print(1)\\""}'),
    result("2", "shell", "ERROR: no such program", ok=False),
    state("judging"),
    running("lint"),
    checked("lint", "pass"),
    running("tests"),
    checked("tests", "fail"),
]
SECOND_ROUND: list[Event] = [
    round_started(2),
    state("running", "judging"),
    events.Spend(tokens=2234, usd=0.0125),
    call("3", "edit_file", '{"path": "calc.py", "old": "a - b", "new": "a + b"}'),
    result("3", "edit_file", "edited calc.py"),
    state("judging"),
    checked("lint", "pass"),
    running("tests"),
    running("tests", "baseline"),
    checked("tests", "fail", "baseline"),
    checked("tests", "pass"),
]
VERIFIED: list[Event] = [
    events.DiffReady(files=1, insertions=1, deletions=1),
    events.Landed(branch=f"donewhen/{ID}", commit="c" * 40),
    state("finished", "judging"),
    events.SessionFinished(
        outcome="verified", reason="every check passed", iterations=2, results=RESULTS, summary="", tree="t" * 40
    ),
]
WHOLE: list[Event] = [*BASELINE, *FIRST_ROUND, *SECOND_ROUND, *VERIFIED]
