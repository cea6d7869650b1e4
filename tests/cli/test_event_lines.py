"""Events as lines: the text for a person, always one line without control characters."""

import json
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from recorded_session import ID, VERIFIED, WHOLE, call, checked, record, records, running, started, state

from donewhen import events
from donewhen.cli.group import one_line
from donewhen.cli.views.ending import EndingFacts, facts_of, next_commands, show_ending
from donewhen.cli.views.event_fields import LONGEST
from donewhen.cli.views.event_lines import MARKS, call_words, line_of
from donewhen.cli.views.session_audience import PlainLines, session_watcher
from donewhen.events import Event, ToolCall
from donewhen.judge.verdict import CheckStatus
from donewhen.session.outcome import Outcome, SessionResult
from donewhen.storage.record import Record

LATER: dict[str, dict[str, Any]] = {
    "evaluation_completed": {"status": "rejected", "scorecard": {}, "summary": "not what was asked for"},
    "revision_started": {"round": 1},
    "round_started": {"loop": "sweeper"},
    "round_finished": {"loop": "sweeper", "outcome": "reported", "decision": "none"},
}
"""Event types that have no class yet."""


def of(kind: str, **body: Any) -> str:
    return line_of(Record(ID, 1, "2026-01-02T03:04:05.000Z", kind, body, 1))


@pytest.mark.parametrize("kind", LATER)
def test_event_types_of_future_engines_already_have_a_line(kind: str) -> None:
    assert of(kind, **LATER[kind])


@pytest.mark.promise("events.unknown-types")
def test_every_status_of_a_check_has_a_mark_of_its_own() -> None:
    assert list(MARKS) == [status.value for status in CheckStatus]
    assert len(set(MARKS.values())) == len(MARKS)


def test_an_unknown_event_type_prints_nothing() -> None:
    assert of("weather_changed", to="rain") == ""
    assert of("spend", tokens=3, usd=None) == ""


def test_the_lines_of_a_session_show_its_course() -> None:
    lines = [line for line in map(line_of, records(WHOLE)) if line]
    assert lines[0] == f"session {ID}: fix add"
    assert "  ✗ tests: fail (baseline) 1.2 s, 2 passed, 1 failed; exit code 1" in lines
    assert "  → read_file calc.py" in lines
    assert '  → shell python -c "print(1)"' in lines
    assert "    ERROR: no such program" in lines
    assert lines[-3:] == [
        "1 file changed, 1 insertion, 1 deletion",
        f"landed on donewhen/{ID} as cccccccccccc",
        "verified: every check passed",
    ]


def test_a_call_with_a_cut_preview_still_shows_its_purpose() -> None:
    cut = events.preview(json.dumps({"path": "src/a b.py", "content": "x" * 500}))
    assert call_words(ToolCall(id="1", tool="write_file", params_preview=cut)) == "write_file src/a b.py"
    assert call_words(ToolCall(id="1", tool="update", params_preview="[1]")) == "update [1]"


TEXTS = st.text(max_size=LONGEST + 50)


@given(text=TEXTS, kind=st.sampled_from(["fail", "pass", "odd"]))
def test_an_event_is_one_printable_line_for_any_text(text: str, kind: str) -> None:
    told: list[Event] = [
        started(text),
        checked(text, kind, "round", text),
        call(text, text, text),
        call("1", "shell", json.dumps({"command": text})),
        events.PlanText(text=text),
        events.ProtectedEdit(path=text, action="modified", reason=text),
        events.PolicyDenied(command=text, rule=text, reason=text),
        events.GateOpened(gate="contract", id="1", reason=text, detail=text),
        events.Error(kind="x", message=text),
    ]
    for event in told:
        assert one_line(line_of(record(event))).isprintable()


# -- closing lines --


def last_words(outcome: str, *facts: Event) -> tuple[list[str], list[str]]:
    ended = EndingFacts(records(facts))
    return list(facts_of(ended)), next_commands(SessionResult(ID, Outcome(outcome), "why"), ended)


def test_a_verified_session_ends_with_verdicts_size_branch_cost_and_what_to_type() -> None:
    facts, commands = last_words("verified", *WHOLE)
    assert facts == [
        "  ✓ lint: pass, 0.3 s",
        "  ✓ tests: pass, 1.2 s",
        "  1 file changed, 1 insertion, 1 deletion",
        f"  branch donewhen/{ID} (cccccccccccc)",
        "  2,234 tokens, 0.0125 USD, 2 rounds",
    ]
    assert commands == [f"donewhen diff {ID}", f"donewhen land {ID} --onto BRANCH"]


def test_a_session_that_waits_shows_the_newest_results_and_not_those_of_an_earlier_end() -> None:
    went_on = [state("running", "finished"), checked("tests", "fail"), checked("tests", "flaky", "rerun")]
    facts, _ = last_words("waiting", *WHOLE, *went_on, state("waiting"))
    assert facts[:2] == ["  ✓ lint: pass, 1.2 s", "  ~ tests: flaky, 1.2 s"]


def test_work_already_in_the_checkout_gets_no_advice_to_land() -> None:
    assert f"donewhen land {ID}" in last_words("verified", started())[1]
    applied = events.Landed(branch="main", commit="c" * 40)
    assert last_words("verified", started(), applied)[1] == [f"donewhen diff {ID}", f"donewhen receipt {ID}"]


def test_an_unknown_price_is_not_shown_as_zero() -> None:
    assert last_words("red", events.Spend(tokens=1, usd=None))[0] == ["  1 token, price unknown"]


def turn_of(model: str, usd: float | None = None) -> list[Event]:
    usage = {"input": 1, "output": 0, "cache_read": 0, "cache_write": 0}
    turn = events.ModelTurn(role="maker", usage=usage, cost_usd=usd, duration_ms=1, model=model)
    return [turn, events.Spend(tokens=1, usd=usd)]


def cost(*facts: Event) -> str:
    return last_words("red", *facts)[0][-1].strip()


@pytest.mark.parametrize("model", ["scripted:steps.json", "replay:5e55", "ollama:qwen3-coder"])
def test_a_model_with_a_known_price_of_zero_is_shown_as_free(model: str) -> None:
    assert cost(*turn_of(model)) == "1 token, free"


def test_a_session_is_free_only_if_all_of_its_models_are_free() -> None:
    free, dear = turn_of("scripted:a"), turn_of("openai:unknown")
    assert cost(*dear) == cost(*free, *dear) == cost(*dear, *free) == "1 token, price unknown"
    other = events.EngineSelected(engine="external:x", reason="")
    assert cost(other, *free) == "1 token, price unknown"
    assert cost(*turn_of("scripted:a", 0.5)) == "1 token, 0.5000 USD"


@pytest.mark.parametrize("outcome", Outcome)
def test_every_outcome_says_what_to_type_next(outcome: str) -> None:
    commands = last_words(outcome, started("it's"))[1]
    assert all(command.startswith("donewhen ") for command in commands)
    assert commands


def test_the_command_to_type_next_depends_on_the_pending_decision() -> None:
    question = events.QuestionAsked(id="q", prompt="Which?", expires_at=None)
    answered = events.QuestionAnswered(id="q", answer="this")
    gate = events.GateOpened(gate="amendment", id="amendment", reason="", detail="")
    assert last_words("waiting", question)[1] == [f"donewhen answer {ID} TEXT"]
    assert f"donewhen approve {ID}" in last_words("waiting", question, answered, gate)[1]
    assert last_words("waiting", events.Error(kind="quota", message="used up"))[1] == [f"donewhen resume {ID}"]
    assert last_words("already_satisfied", started("it's"))[1] == ["""donewhen run 'it'"'"'s' --allow-green"""]


@pytest.mark.promise("run.json.human-output")
def test_the_closing_lines_go_to_stderr_with_json_output(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for as_json in (True, False):
        show_ending({"id": ID, "outcome": "red", "reason": "8 rounds \x1b[2J", "exit_code": 1}, as_json)
        out, err = capsys.readouterr()
        silent, spoken = (out, err) if as_json else (err, out)
        assert silent == ""
        assert spoken.splitlines()[:2] == ["red: 8 rounds \\x1b[2J", f"next: donewhen diff {ID}"]


# -- without a terminal --


def test_without_a_terminal_the_end_is_shown_only_by_the_closing_lines(capsys: pytest.CaptureFixture[str]) -> None:
    with session_watcher(as_json=False) as watch:
        for one in records(WHOLE):
            watch.on_record(one)
        watch.say("note: \x1b[2J")
    out, err = capsys.readouterr()
    assert f"session {ID}: fix add" in out
    assert "round 2 of 8" in out
    assert "landed" not in out
    assert out.count("(baseline)") == 2
    assert err == "note: \\x1b[2J\n"


def after_every_timer(capsys: pytest.CaptureFixture[str]) -> str:
    for thread in threading.enumerate():
        if isinstance(thread, threading.Timer):
            thread.join()
    return capsys.readouterr().out


def test_a_slow_check_is_announced_while_it_runs(capsys: pytest.CaptureFixture[str]) -> None:
    plain = PlainLines(slow_secs=0)
    plain.on_record(record(running("tests", "baseline")))
    assert after_every_timer(capsys) == "  … tests (baseline)\n"
    plain.on_record(record(checked("tests", "pass", "baseline")))
    assert after_every_timer(capsys) == "  ✓ tests: pass (baseline) 1.2 s\n"


def test_a_fast_check_is_not_announced(capsys: pytest.CaptureFixture[str]) -> None:
    plain = PlainLines(slow_secs=3600)
    with plain.written():
        plain.on_record(record(running("tests")))
        plain.on_record(record(checked("tests", "pass")))
        plain.on_record(record(running("lint")))
    assert after_every_timer(capsys) == "  ✓ tests: pass 1.2 s\n"


@pytest.mark.promise("run.json")
def test_with_json_every_event_is_one_line_and_text_for_people_goes_to_stderr(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with session_watcher(as_json=True) as watch:
        for one in records(VERIFIED):
            watch.on_record(one)
        watch.say("note: for a person")
    out, err = capsys.readouterr()
    assert [json.loads(line)["type"] for line in out.splitlines()] == [event.type() for event in VERIFIED]
    assert err == "note: for a person\n"


def test_a_closed_output_pipe_does_not_stop_the_session(tmp_path: Path) -> None:
    script = tmp_path / "go_on.py"
    script.write_text(
        "import sys\nfrom donewhen.cli.views.session_audience import session_watcher\n"
        "from recorded_session import WHOLE, records\n"
        "with session_watcher(as_json=True) as watch:\n    for _ in range(300):\n        for one in records(WHOLE):\n"
        "            watch.on_record(one)\nsys.stderr.write('to the end')\n"
    )
    environment = {"PYTHONPATH": str(Path(__file__).parent)}
    with subprocess.Popen(
        [sys.executable, script], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.readline()
        process.stdout.close()
        assert process.stderr.read() == b"to the end"
    assert process.returncode == 0
