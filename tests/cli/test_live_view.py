"""The live view without a terminal: its rows at any size, the lines above them, and what is written when."""

import io
import re
from collections.abc import Iterable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from recorded_session import (
    BASELINE,
    FIRST_ROUND,
    ID,
    SECOND_ROUND,
    VERIFIED,
    WHOLE,
    call,
    checked,
    record,
    records,
    round_started,
    running,
    started,
    state,
)
from rich.console import Console

from donewhen import events
from donewhen.cli.views.live import LiveView
from donewhen.cli.views.live_region import LiveRegion
from donewhen.cli.views.live_rows import rows
from donewhen.cli.views.live_state import LiveState
from donewhen.events import EngineSelected, Event
from tiers import examples

CODES = re.compile(r"\x1b\[[?0-9;]*[A-Za-z]")
GREEN = re.compile(r"\x1b\[[0-9;]*\b(?:32|92)m")


def seen(facts: Iterable[Event], person_here: bool = False) -> tuple[LiveState, list[str]]:
    """Return the state after some facts, one per second, and the lines that they left."""
    known = LiveState(0.0, person_here)
    kept = [line for at, event in enumerate(facts, 1) for line in known.add(record(event, at), float(at))]
    return known, kept


def shown(known: LiveState, width: int = 80, height: int = 24, now: float = 99.0) -> list[str]:
    return [row.plain for row in rows(known, width, height, now)]


def test_the_rows_show_engine_model_activity_and_cost() -> None:
    known, _ = seen([*BASELINE, *FIRST_ROUND[:5]])
    found = shown(known)
    assert found[0].startswith(f"── {ID} fix add ─")
    assert found[1:3] == ["round 1 of 8 · native on scripted:s.json", "✓ lint 1.2 s   ✗ tests 1.2 s"]
    assert found[3:-2] == ["I read it first.", "Then I change it.", "  → read_file calc.py"]
    assert found[-2:] == ["1,234 tokens · free · 1:39", "1:25 → read_file calc.py"]


def test_an_external_agent_is_shown_as_the_current_engine() -> None:
    known, _ = seen([*BASELINE, EngineSelected(engine="external", reason="you asked for it", agent="codex")])
    assert "codex" in shown(known)[1].split(" · ")


def test_an_unknown_price_is_shown_neither_as_zero_nor_as_free() -> None:
    known, _ = seen(
        [*BASELINE, events.ModelFallback(model="openai:new", reason="busy"), events.Spend(tokens=5, usd=None)]
    )
    assert "5 tokens · — · 1:39" in shown(known)
    known.add(record(events.EngineSelected(engine="external:x", reason="")), 0)
    known.add(record(events.ModelSelected(model="scripted:s", reason="")), 0)
    assert "5 tokens · — · 1:39" in shown(known)


def test_a_cost_is_shown_once_it_is_known() -> None:
    known, _ = seen([*BASELINE, events.Spend(tokens=5, usd=0.0125)])
    assert "5 tokens · $0.0125 · 1:39" in shown(known)
    known.add(record(events.Spend(tokens=5_000_000, usd=12.5)), 0)
    assert "5,000,000 tokens · $12.50 · 1:39" in shown(known)


def test_a_running_check_is_the_last_row_with_its_phase_and_time() -> None:
    known, _ = seen([*BASELINE[:3]])
    assert shown(known)[-1] == "1:36 checking lint (baseline)"
    assert "▸ lint 1:36   · tests" in shown(known)


def test_of_several_calls_the_first_without_a_result_is_shown_as_running() -> None:
    known, _ = seen([round_started(1), call("1", "grep_files", '{"pattern": "a"}'), call("2", "list_dir", "{}")])
    assert shown(known)[-1].endswith("→ grep_files a")
    known.add(record(events.ToolResult(id="1", tool="grep_files", ok=True, preview="")), 4)
    assert shown(known)[-1].endswith("→ list_dir {}")
    known.add(record(events.ToolResult(id="2", tool="list_dir", ok=True, preview="")), 4)
    assert shown(known)[-1].endswith("thinking")


def test_an_interrupted_activity_is_no_longer_shown() -> None:
    known, _ = seen([*BASELINE, round_started(1), call("1", "shell", "{}"), running("tests"), state("judging")])
    assert shown(known)[-1].endswith("judging")


def test_check_runs_on_the_base_do_not_overwrite_the_state_of_the_work() -> None:
    known, _ = seen([*BASELINE, *FIRST_ROUND, *SECOND_ROUND])
    assert "✓ lint 1.2 s   ✓ tests 1.2 s" in shown(known)


def test_a_rerun_changes_the_state_of_a_check() -> None:
    known, _ = seen([*BASELINE, *FIRST_ROUND, running("tests", "rerun"), checked("tests", "flaky", "rerun")])
    assert "✓ lint 1.2 s   ~ tests flaky 1.2 s" in shown(known)


def test_every_finished_check_and_round_leaves_a_line() -> None:
    _, kept = seen(WHOLE)
    assert kept == [
        f"session {ID}: fix add",
        "  ✓ lint: pass (baseline) 1.2 s",
        "  ✗ tests: fail (baseline) 1.2 s, 2 passed, 1 failed; exit code 1",
        "model scripted:s.json: asked for",
        "engine native: asked for",
        "  ✓ lint: pass 1.2 s",
        "  ✗ tests: fail 1.2 s, 2 passed, 1 failed",
        "round 1 of 8: tests fail (2 calls, 1,234 tokens, 13 s)",
        "  ✓ lint: pass 1.2 s",
        "  ✓ tests: pass 1.2 s",
        "round 2 of 8: every check passed (1 call, 1,000 tokens, 11 s)",
    ]


def test_an_interrupted_round_is_called_neither_red_nor_passed() -> None:
    _, kept = seen([*BASELINE, *FIRST_ROUND[:4], state("finished")])
    assert kept[-1] == "round 1 of 8: not judged (0 calls, 1,234 tokens, 4 s)"


def test_a_resumed_session_restores_its_state_without_printing_old_lines() -> None:
    stage = Stage()
    stage.view.remember(records([*BASELINE, *FIRST_ROUND, running("tests")]))
    stage.view.draw()
    written = CODES.sub("", stage.written()).replace("\r", "").splitlines()
    assert written[0].startswith(f"── {ID} fix add ─")
    assert written[1:] == [
        "round 1 of 8 · native on scripted:s.json",
        "✓ lint 1.2 s   ✗ tests 1.2 s",
        "1,234 tokens · free · 0:00",
        "preparing",
    ]


def test_judging_unapproved_edits_does_not_make_a_round_pass() -> None:
    last_look = [running("tests", "final"), checked("tests", "pass", "final")]
    gate = events.GateOpened(gate="amendment", id="amendment", reason="a person decides")
    known, kept = seen([*BASELINE, *FIRST_ROUND, *last_look, gate])
    assert kept[-2].startswith("round 1 of 8: tests fail")
    assert kept[-1] == "  ✓ tests: pass (final) 1.2 s"
    assert "✓ lint 1.2 s   ✗ tests 1.2 s" in shown(known)


def test_a_question_is_printed_as_a_line_only_if_it_is_not_asked_here() -> None:
    question = events.QuestionAsked(id="q", prompt="Which one?", expires_at=None)
    assert seen([question])[1] == ["question: Which one?"]
    assert seen([question], person_here=True)[1] == []
    assert shown(seen([question])[0])[-1].endswith("waiting for a person")


def test_streamed_text_is_shown_until_the_complete_text_arrives() -> None:
    known, _ = seen([*BASELINE, round_started(1)])
    for piece in ("Let me ", "look.\nThen", " I will"):
        known.add_text(piece)
    assert shown(known)[3:5] == ["Let me look.", "Then I will"]
    known.add(record(events.PlanText(text="Let me look.\nThen I will see.")), 0)
    assert shown(known)[3:5] == ["Let me look.", "Then I will see."]


def test_on_a_small_terminal_the_current_activity_is_dropped_last() -> None:
    known, _ = seen([*BASELINE, *FIRST_ROUND[:5]])
    assert [len(shown(known, 40, height)) for height in (24, 8, 6, 5, 4, 3, 2, 1)] == [8, 6, 4, 3, 2, 1, 1, 1]
    assert shown(known, 40, 1) == ["1:25 → read_file calc.py"]
    assert shown(known, 40, 8)[1] == "round 1 of 8 · native"


def test_many_checks_share_rows_and_the_rest_is_counted() -> None:
    many = [checked(f"check-{number:02}", "pass") for number in range(40)]
    found = shown(seen(many)[0])
    assert [row.count("✓") for row in found if "✓" in row] == [4, 4, 4]
    assert found[4].endswith("… 28 more")


ODD = st.text(max_size=90)


@settings(max_examples=examples(60))
@given(text=ODD, width=st.integers(1, 90), height=st.integers(1, 30))
def test_rows_fit_the_terminal_and_hold_no_control_characters(text: str, width: int, height: int) -> None:
    facts = [started(text), round_started(1), checked(text, text), call("1", text, text), events.PlanText(text=text)]
    known, _ = seen(facts)
    known.add_text(text)
    found = rows(known, width, height, 0)
    assert 0 < len(found) <= max(1, height - 2)
    assert all(row.cell_len <= max(1, width - 1) and row.plain.isprintable() for row in found)


# -- writing --


class Stage:
    """A view on a terminal that is only a text; its clock does not move."""

    def __init__(self, colours: bool = True, width: int = 80) -> None:
        self.file = io.StringIO()
        self.console = Console(
            file=self.file, force_terminal=True, no_color=not colours, width=width, height=24, highlight=False
        )
        self.view = LiveView(self.console, now=lambda: 0.0)

    def written(self) -> str:
        """Return the text written since the last call."""
        text = self.file.getvalue()
        self.file.seek(0)
        self.file.truncate()
        return text


def test_nothing_is_written_when_nothing_is_new() -> None:
    stage = Stage()
    stage.view.draw()
    assert stage.written()
    stage.view.draw()
    stage.view.on_record(record(events.HintRecalled(signature="s", times_helped=1)))
    stage.view.draw()
    assert "a hint from memory" in stage.written()
    stage.view.draw()
    assert stage.written() == ""


def test_many_events_cause_one_redraw_and_receiving_an_event_writes_nothing() -> None:
    stage = Stage()
    for one in records(WHOLE * 50):
        stage.view.on_record(one)
    assert stage.written() == ""
    stage.view.draw()
    assert stage.written().count("\x1b[?25l") == 1


def test_rows_are_overwritten_without_being_cleared_first() -> None:
    stage = Stage()
    stage.view.on_record(record(started()))
    stage.view.draw()
    stage.written()
    stage.view.on_record(record(events.Spend(tokens=77, usd=None)))
    stage.view.draw()
    frame = stage.written()
    assert "77 tokens" in frame
    assert "\x1b[2J" not in frame
    assert "\x1b[2K" not in frame
    assert frame.index("\x1b[J") > frame.index("77 tokens")


@pytest.mark.promise("outcome.green-is-verified")
def test_only_a_verified_session_is_green() -> None:
    stage = Stage()
    for one in records(WHOLE[: -len(VERIFIED)]):
        stage.view.on_record(one)
        stage.view.draw()
    text = stage.written()
    assert "\x1b[31m" in text
    assert not GREEN.search(text)


def test_no_colour_is_printed_when_colour_is_off() -> None:
    stage = Stage(colours=False)
    for one in records(WHOLE):
        stage.view.on_record(one)
        stage.view.draw()
    assert not re.search(r"\x1b\[[0-9;]*\b(?:3[0-8]|4[0-8]|9[0-7])m", stage.written())


def test_text_of_models_and_repositories_cannot_control_the_terminal() -> None:
    stage = Stage()
    evil = "\x1b[2J\x1b]0;title\x07\r\x9b31m\u202e"
    for event in (started(evil), checked(evil, "fail", "round", evil), call("1", evil, evil), state(evil)):
        stage.view.on_record(record(event))
        stage.view.say(evil)
        stage.view.add_text(evil)
        stage.view.draw()
    left = CODES.sub("", stage.written()).replace("\n", "").replace("\r", "")
    assert left.isprintable()
    assert "\\x1b[2J" in left


def test_a_paused_view_draws_nothing_and_catches_up_afterwards() -> None:
    stage = Stage()
    stage.view.draw()
    with stage.view.pause():
        stage.written()
        stage.view.say("later")
        stage.view.draw()
        assert stage.written() == ""
    stage.view.draw()
    assert "later" in stage.written()


def test_a_closed_terminal_does_not_stop_the_session() -> None:
    class Gone(io.StringIO):
        def flush(self) -> None:
            raise OSError(5, "Input/output error")

    view = LiveView(Console(file=Gone(), force_terminal=True))
    with view.show():
        view.say("nobody reads this")
        view.draw()


@pytest.mark.parametrize(("width", "up"), [(80, 1), (40, 2), (30, 3)])
def test_rows_wrapped_by_a_narrower_terminal_are_counted(width: int, up: int) -> None:
    class Resizable(LiveRegion):
        def size(self) -> tuple[int, int]:
            return width, 24

    file = io.StringIO()
    region = Resizable(console := Console(file=file, force_terminal=True, width=80))
    region.draw([console.render_str("x" * 79), console.render_str("y" * 79)])
    file.truncate(0)
    region.draw([])
    assert f"\r\x1b[{up}A" in file.getvalue()
