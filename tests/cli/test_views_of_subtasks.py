"""What a person sees while several workers run: lines, rows at several sizes, closing lines, `show`."""

import io
import json
import re
import threading
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from recorded_session import BASELINE, ID, call, checked, record, records, result, round_started, running, state
from rich.console import Console

from donewhen import events
from donewhen.cli.group import one_line
from donewhen.cli.views.ending import EndingFacts, facts_of
from donewhen.cli.views.event_lines import line_of, lines_of
from donewhen.cli.views.live import LiveView
from donewhen.cli.views.live_rows import MOST_ROWS, rows
from donewhen.cli.views.live_state import LiveState
from donewhen.cli.views.session_audience import PlainLines
from donewhen.cli.views.subtask_states import SubtaskStates
from donewhen.event_records import GateReason, RejectionCause
from donewhen.events import Event
from donewhen.storage.record import Record
from program import donewhen
from runs.scenes import run, say, scene, script, write
from tiers import examples

GREEN = re.compile(r"\x1b\[[0-9;]*\b(?:32|92)m")
OUTSIDE = GateReason("outside_footprint", "is not in the footprint", "e.py", "OTHER")


def subtask(id: str) -> dict[str, Any]:
    return {"id": id, "prompt": f"do {id}", "files": [f"{id}.py"], "writes": [], "reads": []}


def planned(*levels: Iterable[str], single: bool = False) -> Event:
    ids = [id for level in levels for id in level]
    return events.PlanningCompleted(
        subtasks=tuple(map(subtask, ids)), levels=tuple(map(tuple, levels)), prefer_single_session=single
    )


def began(id: str, attempt: int = 1) -> Event:
    return events.SubtaskStarted(id=id, index=0, level=0, total=4, attempt=attempt)


def gated(id: str, status: str = "accepted", *reasons: GateReason) -> Event:
    return events.SubtaskGated(id=id, status=status, reasons=reasons)


def verifying(id: str) -> Event:
    return events.SubtaskVerifying(id=id)


def applied(*ids: str) -> list[Event]:
    return [*(events.SubtaskApplied(id=id) for id in ids), events.UnionVerified(applied=ids)]


def dropped(culprit: str, partner: str | None, reason: str, detail: str) -> RejectionCause:
    return RejectionCause(culprit, partner, reason, None, (), detail)


def rejected(*causes: RejectionCause) -> Event:
    first = causes[0]
    culprits = tuple(cause.culprit for cause in causes)
    return events.UnionRejected(
        culprits=culprits, partner=first.partner, reason=first.reason, detail=first.detail, causes=causes
    )


BROKEN = dropped("c", "a", "build_test_failed", "tests turns red together with a")
CONFLICT = dropped("d", None, "patch_conflict", "cannot be merged together with a and b: x.py")
SELECTED = events.EngineSelected(engine="foreman", reason="asked for")
PLANNED: list[Event] = [*BASELINE, SELECTED, round_started(1), state("running", "judging"), planned("abcde", "f")]
FARMED: list[Event] = [
    *PLANNED,
    *(began(id) for id in "abcd"),
    call("1", "edit_file", '{"path": "a.py", "old": "x"}').of_subtask("a"),
    verifying("c"),
    running("tests", "gate").of_subtask("c"),
    gated("d"),
    began("e"),
    gated("e", "rejected", OUTSIDE),
]
"""a and b are running, c is judged, d is accepted, e is rejected, f waits."""


# -- lines --


def of(event: Event) -> str:
    return line_of(record(event))


def test_a_plan_line_shows_its_size_and_dependencies() -> None:
    assert of(planned("abcd")) == "planned: 4 subtasks in 1 level: a, b, c, d"
    assert of(planned("ab", "c")) == "planned: 3 subtasks in 2 levels: a, b → c"
    assert of(planned("a", single=True)) == "planned: 1 subtask in 1 level: a; one session is better"


def test_a_plan_of_any_size_is_one_line_of_bounded_length() -> None:
    many = planned([f"{number}-{'x' * 60}" for number in range(500)])
    assert len(of(many)) < 400


def test_a_worker_s_line_names_its_subtask() -> None:
    assert of(call("1", "edit_file", '{"path": "a.py"}').of_subtask("a")) == "  [a] → edit_file a.py"
    assert of(result("1", "shell", "ERROR: no", ok=False).of_subtask("a")) == "    [a] ERROR: no"
    assert of(events.PlanText(text="I\nlook").of_subtask("a")) == "  [a] I look"
    assert of(events.Error(kind="worker", message="busy").of_subtask("a")) == "  [a] error (worker): busy"
    assert of(checked("tests", "pass", "gate").of_subtask("a")) == "  [a] ✓ tests: pass (gate) 1.2 s"
    denied = events.PolicyDenied(command="rm -r /", rule="destroys", reason="").of_subtask("a")
    assert of(denied) == "  [a] denied by destroys: rm -r /"


def test_a_question_names_its_worker_once() -> None:
    question = events.QuestionAsked(id="q", prompt="[a] Which one?", expires_at=None)
    assert of(question) == "question: [a] Which one?"
    assert of(question.of_subtask("a")) == "  [a] question: Which one?"


def test_a_retried_subtask_says_why() -> None:
    assert of(began("a")) == "  subtask a started"
    assert of(began("a", 2)) == "  subtask a is retried after a failure"
    assert of(began("a", 3)) == "  subtask a is retried on top of the combined patches"


def test_a_gate_decision_is_shown_with_its_reasons_in_words() -> None:
    failed = GateReason("worker_failed", "the server is busy")
    assert of(gated("e")) == "  subtask e: accepted"
    assert of(gated("e", "rejected", OUTSIDE)) == "  subtask e: rejected: e.py: OTHER is not in the footprint"
    assert of(gated("e", "error", failed)) == "  subtask e: error: the server is busy"
    assert of(gated("e", "rejected", OUTSIDE, failed)).endswith("footprint; the server is busy")
    noted = events.SubtaskGated(id="e", status="accepted", reasons=(), notes=("no grammar for e.txt",))
    assert of(noted) == "  subtask e: accepted (no grammar for e.txt)"


def test_a_union_says_how_many_pass_and_what_was_merged_by_syntax() -> None:
    assert of(applied("a")[-1]) == "union: 1 subtask passes"
    assert of(applied(*"abcd")[-1]) == "union: 4 subtasks pass together"
    merged = events.UnionVerified(applied=("a", "b"), reconciled=(("x.py", "imports"),))
    assert of(merged) == "union: 2 subtasks pass together; merged by syntax: x.py"


def test_every_patch_left_out_of_a_union_has_a_line_with_its_cause() -> None:
    told = record(rejected(CONFLICT, BROKEN))
    assert lines_of(told) == [
        "union rejected (patch_conflict): d: cannot be merged together with a and b: x.py",
        "union rejected (build_test_failed): c with a: tests turns red together with a",
    ]
    assert line_of(told) == "; ".join(lines_of(told))
    assert len(lines_of(record(rejected(*[BROKEN] * 40)))) == 11


def test_a_union_rejected_without_causes_names_all_culprits() -> None:
    older = events.UnionRejected(culprits=("b", "c"), partner="a", reason="rejected", detail="why")
    assert lines_of(record(older)) == ["union rejected (rejected): b, c with a: why"]


def test_a_cached_union_verdict_prints_no_line() -> None:
    seen_before = Record(ID, 1, "", "check_completed", {**checked("t", "pass", "union").fields(), "cached": True}, 1)
    assert line_of(seen_before) == ""
    assert of(checked("t", "pass", "union")) == "  ✓ t: pass (union) 1.2 s"


def test_the_same_check_of_two_patches_is_announced_for_each_patch(capsys: pytest.CaptureFixture[str]) -> None:
    plain = PlainLines(slow_secs=3600)
    with plain.written():
        for id in "ab":
            plain.on_record(record(running("tests", "gate").of_subtask(id)))
        assert sum(isinstance(thread, threading.Timer) for thread in threading.enumerate()) >= 2
        plain.on_record(record(checked("tests", "pass", "gate").of_subtask("a")))
        plain.on_record(record(rejected(CONFLICT, BROKEN)))
    assert [line.split()[:2] for line in capsys.readouterr().out.splitlines()] == [
        ["[a]", "✓"],
        ["union", "rejected"],
        ["union", "rejected"],
    ]


# -- verdicts on single patches --


def kept(facts: Iterable[Event]) -> tuple[LiveState, list[str]]:
    known = LiveState(0.0)
    lines = [line for at, event in enumerate(facts, 1) for line in known.add(record(event, at), float(at))]
    return known, lines


def shown(known: LiveState, width: int = 100, height: int = 30, now: float = 99.0) -> list[str]:
    return [row.plain for row in rows(known, width, height, now)]


ON_THE_WAY: list[Event] = [
    *(checked("lint", "fail", phase).of_subtask("a") for phase in ("gate", "rerun")),
    running("build", "gate").of_subtask("a"),
    checked("build", "fail", "gate").of_subtask("a"),
    *(fact for name in ("lint", "tests", "build") for fact in (running(name, "union"), checked(name, "fail", "union"))),
    running("lint", "rerun"),
    checked("lint", "fail", "rerun"),
]


def test_intermediate_verdicts_do_not_change_the_state_of_a_check() -> None:
    known, lines = kept([*FARMED, *ON_THE_WAY])
    assert "✓ lint 1.2 s   ✗ tests 1.2 s" in shown(known)
    assert not any("build" in line or "lint: fail" in line for line in lines)
    assert EndingFacts(records([*FARMED, *ON_THE_WAY])).checks == {}


def test_a_round_with_only_patch_verdicts_counts_as_not_judged() -> None:
    declined = events.EngineDeclined(engine="foreman", reason="nothing_accepted", detail="", next="native")
    assert kept([*FARMED, *ON_THE_WAY, declined])[1][-2].startswith("round 1 of 8: not judged (1 call,")


def test_after_the_union_the_round_is_judged_by_its_own_results() -> None:
    judged = [state("judging"), checked("lint", "pass"), checked("tests", "fail"), checked("tests", "flaky", "rerun")]
    facts = [*FARMED, *ON_THE_WAY, *judged]
    known, lines = kept([*facts, state("waiting", "judging")])
    assert lines[-1].startswith("round 1 of 8: tests flaky (")
    assert "✓ lint 1.2 s   ~ tests flaky 1.2 s" in shown(known)
    assert [*facts_of(EndingFacts(records(facts)))][:2] == ["  ✓ lint: pass, 1.2 s", "  ~ tests: flaky, 1.2 s"]


# -- rows --


def test_every_subtask_shows_a_mark_and_its_activity() -> None:
    found = shown(kept(FARMED)[0], width=120)
    assert found[1:5] == [
        "round 1 of 8 · foreman on scripted:s.json",
        "▸ a 1:25 edit_file a.py   ▸ b 1:24   ◌ c 1:20 checked by tests   ✓ d accepted",
        "✗ e rejected: e.py: OTHER is not in the foo…   · f waits",
        "✓ lint 1.2 s   ✗ tests 1.2 s",
    ]
    assert found[-1] == "1:25 2 working, 1 checked, 1 rejected, 1 waiting, 1 accepted"


def test_subtasks_end_as_applied_or_left_out_and_disappear_after_the_verdict() -> None:
    known, _ = kept([*FARMED, rejected(BROKEN), *applied("a", "d")])
    told = " ".join(shown(known))
    assert "✓ a applied" in told
    assert "✗ c left out: tests turns red together" in told
    known.add(record(state("judging")), 0)
    assert "applied" not in " ".join(shown(known))


def test_a_retried_subtask_is_shown_as_running_again() -> None:
    known, _ = kept([*FARMED, rejected(BROKEN), *applied("a", "d"), began("c", 3)])
    assert "▸ c" in " ".join(shown(known, now=26))


def test_a_worker_s_tool_call_is_shown_until_its_result_arrives() -> None:
    known, _ = kept([*FARMED, result("1", "edit_file", "done").of_subtask("a")])
    assert "▸ a 1:25   ▸ b" in " ".join(shown(known))
    assert "    [a] done" in shown(known)


def test_the_current_activity_is_named_from_planning_to_the_union() -> None:
    planning: list[Event] = [*PLANNED[:-1], events.PlanningStarted()]
    assert shown(kept(planning)[0])[-1].endswith("planning")
    assert shown(kept(PLANNED)[0])[-1].endswith("preparing the subtasks")
    farmed = [*PLANNED, began("a"), gated("a"), events.SubtasksFarmed(accepted=1, total=6)]
    assert shown(kept(farmed)[0])[-1].endswith("combining the patches")
    assert shown(kept([*farmed, running("tests", "union")])[0])[-1].endswith("checking tests (union)")


def test_a_worker_s_question_is_shown_as_the_current_activity() -> None:
    question = events.QuestionAsked(id="q", prompt="[a] Which?", expires_at=None)
    known, _ = kept([*FARMED, question, state("waiting"), result("1", "edit_file", "").of_subtask("a")])
    assert shown(known)[-1].endswith("waiting for a person")
    assert "▸ b" in " ".join(shown(known))


def test_a_resumed_session_shows_its_plan_and_no_running_worker() -> None:
    known = LiveState(0.0)
    for one in records(FARMED):
        known.remember(one, 1.0)
    assert "· a waits" not in " ".join(shown(known))
    known.add(record(began("b")), 2.0)
    told = " ".join(shown(known, now=2.0))
    assert "· a waits   ▸ b   · c waits   ✓ d accepted" in told


def test_running_subtasks_are_shown_first_and_the_rest_is_counted() -> None:
    ids = [f"part-{number:02}" for number in range(30)]
    known, _ = kept([*PLANNED[:-1], planned(ids), *map(gated, ids[:20]), began(ids[-1]), gated(ids[25], "error")])
    found = [row for row in shown(known, 60) if "part-" in row]
    assert len(found) == 4
    assert found[0].startswith("▸ part-29 1:")
    assert "✗ part-25 error" in found[0]
    assert re.search(r" … \d\d more$", found[-1])


def test_on_a_small_terminal_subtasks_are_dropped_before_checks_and_after_the_engine() -> None:
    known, _ = kept(FARMED)
    firsts = ["".join(row[0] for row in shown(known, 50, height)) for height in (8, 7, 6, 5, 4, 3, 1)]
    assert firsts == ["─r▸✓01", "r▸✓01", "▸✓01", "✓01", "01", "1", "1"]
    assert shown(known, 50, 7)[1].endswith("more")


SIZES = [(100, 30), (80, 24), (60, 12), (40, 8), (20, 5), (5, 3), (1, 1)]


@pytest.mark.parametrize(("width", "height"), SIZES)
def test_rows_fit_at_every_moment_of_a_parallel_run(width: int, height: int) -> None:
    known = LiveState(0.0)
    for at, event in enumerate([*FARMED, *ON_THE_WAY, rejected(BROKEN, CONFLICT), *applied("a"), state("judging")]):
        known.add(record(event), float(at))
        found = rows(known, width, height, at + 9.0)
        assert 0 < len(found) <= max(1, min(MOST_ROWS, height - 2))
        assert all(row.cell_len <= max(1, width - 1) for row in found)


@pytest.mark.promise("outcome.green-is-verified")
def test_no_subtask_is_shown_in_green() -> None:
    file = io.StringIO()
    view = LiveView(Console(file=file, force_terminal=True, width=100, height=30, highlight=False), now=lambda: 0.0)
    for one in records([*FARMED, rejected(BROKEN), *applied("a", "b", "d")]):
        view.on_record(one)
        view.draw()
    assert "accepted" in file.getvalue()
    assert "\x1b[31m" in file.getvalue()
    assert not GREEN.search(file.getvalue())


def test_an_agent_used_by_the_foreman_is_named_with_it() -> None:
    hired = events.EngineSelected(engine="foreman", reason="asked for", agent="codex")
    known, _ = kept([*PLANNED, hired])
    assert "foreman with codex" in shown(known)[1]


# -- cost and missing subtasks --


def turn(model: str = "scripted:s.json") -> list[Event]:
    made = events.ModelTurn(role="worker:a", usage=None, cost_usd=None, duration_ms=1, model=model)
    return [made.of_subtask("a"), events.Spend(tokens=1, usd=None)]


def cost(*facts: Event) -> tuple[str, str]:
    """In the closing lines and in the view."""
    return [*facts_of(EndingFacts(records(facts)))][-1].strip(), shown(kept(facts)[0])[-2]


def test_the_cost_of_a_foreman_is_known_unless_an_agent_works_for_it() -> None:
    free = cost(*BASELINE, SELECTED, *turn())
    assert free[0] == "1 token, free"
    assert free[1].startswith("1 tokens · free")
    hired = events.EngineSelected(engine="foreman", reason="", agent="codex")
    unknown = cost(*BASELINE, hired, *turn())
    assert unknown[0] == "1 token, price unknown"
    assert unknown[1].startswith("1 tokens · —")
    assert cost(*BASELINE, SELECTED, *turn("openai:new"))[0] == "1 token, price unknown"


def test_the_closing_lines_name_the_subtasks_that_are_not_included() -> None:
    told = [*facts_of(EndingFacts(records([*FARMED, *applied("a", "b", "c", "d")])))]
    assert "  4 of 6 subtasks are in; left out: e, f" in told
    whole = [SELECTED, planned("ab"), *applied("a", "b")]
    assert [*facts_of(EndingFacts(records(whole)))] == []
    other_engine = events.EngineSelected(engine="native", reason="next")
    assert not any(
        "subtasks" in line for line in facts_of(EndingFacts(records([*FARMED, *applied("a"), other_engine])))
    )


# -- any event content --

LEAVES = st.none() | st.booleans() | st.integers() | st.floats() | st.sampled_from(["a", "gate", "union", "\x1b[2J\n"])
INNER = st.sampled_from(["id", "name", "checks", "words", "path", "culprit", "partner", "detail", "status", "passed"])
ODD = st.recursive(LEAVES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(INNER, inner, max_size=3))
LISTS = st.lists(ODD | st.lists(ODD, max_size=2), max_size=3)


def body_of(cls: type[Event]) -> st.SearchStrategy[tuple[str, dict[str, Any]]]:
    """A body with every field that the class needs, and some that it does not; each holds anything."""
    names = [name.removesuffix("_") for name in cls.__annotations__]
    needed = [name for name in names if not hasattr(cls, name)]
    others = {name: ODD | LISTS for name in (*names, "subtask") if name not in needed}
    return st.tuples(st.just(cls.type()), st.fixed_dictionaries(dict.fromkeys(needed, ODD | LISTS), optional=others))


FACTS = st.sampled_from(Event.__subclasses__()).flatmap(body_of)
LESS = FACTS.flatmap(lambda fact: st.tuples(st.just(fact[0]), st.dictionaries(st.sampled_from([*fact[1], "id"]), ODD)))


@settings(max_examples=examples(150))
@given(told=st.lists(FACTS | LESS, max_size=8))
def test_a_missing_or_odd_field_does_not_stop_a_reader(told: list[tuple[str, dict[str, Any]]]) -> None:
    facts = [Record(ID, at, "", kind, body, at) for at, (kind, body) in enumerate(told, 1)]
    known, subtasks = LiveState(0.0), SubtaskStates()
    for one in facts:
        assert all(one_line(line).isprintable() for line in lines_of(one))
        known.add(one, 0.0)
        subtasks.note(one.event)
        assert len(rows(known, 80, 24, 1.0)) <= MOST_ROWS
    assert all(isinstance(line, str) for line in facts_of(EndingFacts(facts)))


@pytest.mark.parametrize("odd", [float("inf"), float("nan"), 10**400, "many", None, [], {}, True])
def test_a_value_that_is_not_a_number_counts_as_zero(odd: object) -> None:
    def run_json(event: Event, **odd: object) -> Record:
        return Record(ID, 1, "", event.type(), {**event.fields(), **odd}, 1)

    assert line_of(run_json(checked("t", "pass"), duration_ms=odd)) == "  ✓ t: pass 0.0 s"
    spent = run_json(events.Spend(tokens=1, usd=None), tokens=odd, usd=odd)
    assert [*facts_of(EndingFacts([spent]))] == ["  0 tokens, price unknown"]
    known = LiveState(0.0)
    known.add(spent, 0.0)
    assert shown(known)[-2] == "0 tokens · — · 1:39"


@pytest.mark.promise("events.unknown-types")
def test_an_event_without_a_field_that_it_needs_or_with_another_shape_has_no_line() -> None:
    whole = planned("ab").fields()
    assert line_of(Record(ID, 1, "", "planning_completed", whole, 1)) == "planned: 2 subtasks in 1 level: a, b"
    misshapen: list[dict[str, Any]] = [{**whole, "levels": 3}, {**whole, "levels": [3]}, {"subtasks": []}]
    for odd in misshapen:
        assert line_of(Record(ID, 1, "", "planning_completed", odd, 1)) == ""


TEXTS = st.text(max_size=400)


@given(text=TEXTS)
def test_every_line_is_printable_and_short_for_any_subtask_name(text: str) -> None:
    reason = GateReason("x", text, text, text)
    told: list[Event] = [
        planned([text, text], [text]),
        began(text),
        gated(text, text, reason, reason),
        rejected(dropped(text, text, text, text)),
        *applied(text),
        events.PlanText(text=text).of_subtask(text),
    ]
    for event in told:
        assert all(one_line(line).isprintable() and len(line) < 1100 for line in lines_of(record(event)))


# -- a real run --


def test_show_lists_how_each_subtask_ended(tmp_path: Path) -> None:
    contract = (
        '[[check]]\nname = "done"\ncommand = "grep -qx one a.txt"\n\n[[check]]\nname = "kept"\ncommand = "true"\n'
    )
    repo = scene(tmp_path / "repository", {"a.txt": "zero\n", "b.txt": "zero\n", "donewhen.toml": contract})
    plan = [{**subtask(id), "files": [f"{id}.txt"], "writes": [{"file": f"{id}.txt", "symbol": "*"}]} for id in "ab"]
    steps = {
        "planner": [say(json.dumps({"subtasks": plan}))],
        "worker:a": [write("a.txt", "one\n"), say("done")],
        "worker:b": [write("answer.txt", "one\n"), say("done")],
    }
    made = run(repo, steps, "--engine", "foreman")
    assert "  1 of 2 subtasks are in; left out: b" in made.err.splitlines()
    shown_lines = donewhen("show", made.session, cwd=repo).out.splitlines()
    assert "plan      2 subtasks in 1 level" in shown_lines
    assert "subtask   a: applied" in shown_lines
    assert any(line.startswith("subtask   b: error: the script has") for line in shown_lines)
    logged = donewhen("log", made.session, cwd=repo).out
    assert "  [a] → write_file a.txt" in logged
    assert "  subtask b: rejected: answer.txt" in logged
    assert "{'" not in logged


def test_a_plan_that_needs_approval_is_shown_once_with_how_to_change_it(tmp_path: Path) -> None:
    repo = scene(tmp_path / "repository", {"a.txt": "zero\n"})
    plan = [{**subtask("a"), "files": ["a.txt"], "writes": [{"file": "a.txt", "symbol": "*"}]}]
    model = script(tmp_path / "script.json", {"planner": [say(json.dumps({"subtasks": plan}))]})
    asked = donewhen("plan", "say one", "--foreman", "--model", model, cwd=repo)
    assert asked.code == 3, asked.err
    (session,) = re.findall(r"^session (\w+):", asked.out, re.MULTILINE)
    shown_plan = donewhen("show", session, cwd=repo).out
    assert "donewhen answer" in shown_plan
    assert "not started" not in shown_plan
