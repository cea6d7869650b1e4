"""The tables about loops: what a person reads in the list and in the history."""

import datetime
import time
from datetime import UTC, timedelta
from typing import Any

import pytest

from donewhen.cli.views.loop_history import folded, history_lines, newest_folded
from donewhen.cli.views.loop_tables import list_legend, list_lines, short_number, strip, table, until, wrapped
from donewhen.loops.catalogue.ready_loops import READY_LOOPS

LONG = "the contract is red: tests is fail, and the maker changed nothing after it had looked at all of the files"


def listed(**keys: Any) -> dict[str, Any]:
    return {
        "name": "sweeper",
        "level": "assisted",
        "action": "branch",
        "words": "Every 6 hours",
        "on": [],
        "trusted": True,
        "next_at": "2099-11-19T09:00:00+00:00",
        "paused": "",
        "running": "",
        "interrupted": "",
        "strip": [],
        "tokens_today": 0,
        "usd_today": 0.0,
        **keys,
    }


def only(**keys: Any) -> str:
    return list(list_lines([listed(**keys)], None))[1]


def test_the_list_shows_the_next_run_the_last_outcomes_and_the_use_of_today() -> None:
    row = only(strip=["reported", "failed", "proceeded"], tokens_today=12_400, usd_today=0.312)
    assert row.split()[2:] == [
        *row.split()[2:4],
        "days,",
        "19",
        "Nov",
        "09:00",
        "r✗✓",
        "12k,",
        "$0.31",
        "branch,",
        "every",
        "6",
        "hours",
    ]


def test_a_loop_that_will_not_run_says_so_in_place_of_the_next_run() -> None:
    assert "  running now  " in only(running="ab12") and only(running="ab12").endswith("running: session ab12")
    assert "  paused  " in only(next_at=None, paused="a person paused it")
    assert only(next_at=None, paused="x").endswith("paused: x; donewhen loop resume sweeper")
    assert "  not trusted  " in only(trusted=False) and only(trusted=False).endswith("; waits for: donewhen trust")


def test_a_pause_is_seen_whatever_else_a_loop_waits_for() -> None:
    row = only(next_at=None, paused="a person paused it", trusted=False, interrupted="ab12")
    assert "  paused  " in row
    assert "; interrupted: session ab12 goes on after the pause; waits for: donewhen trust; paused: a person" in row
    assert "  not trusted  " in only(trusted=False, interrupted="ab12")
    assert "  running now  " in only(running="ab12", paused="x", next_at=None)


def test_an_unknown_price_is_shown_as_unknown_and_explained() -> None:
    loops = [listed(tokens_today=1_250_000, usd_today=None, strip=["budget"])]
    assert "1.2M, $?" in list(list_lines(loops, None))[1]
    assert list(list_legend(loops))[1] == "$?: the price of a model is not known"
    assert list(list_legend([listed()])) == []


def test_a_table_that_is_too_wide_puts_the_last_cell_below_the_row() -> None:
    rows = [("NAME", "REASON"), ("sweeper", LONG), ("other", "")]
    assert list(table(rows, None))[1] == f"sweeper  {LONG}"
    narrow = list(table(rows, 80))
    assert narrow[0] == "NAME" and narrow[1] == "sweeper" and narrow[-1] == "other"
    assert " ".join(line.strip() for line in narrow[2:-1]) == LONG
    assert all(line.startswith("    ") and len(line) <= 80 for line in narrow[2:-1])


def occurred(**keys: Any) -> dict[str, Any]:
    return {
        "loop": "sweeper",
        "started_at": None,
        "due_at": "2026-11-18T09:00:00+00:00",
        "status": "skipped",
        "outcome": "",
        "session": "",
        "trigger": "schedule",
        "input_tokens": 0,
        "output_tokens": 0,
        "finding": "",
        "reason": "the round ab12 is still running",
        "interrupted": False,
        **keys,
    }


def ran(**keys: Any) -> dict[str, Any]:
    started = {"started_at": "2026-11-18T09:00:01+00:00", "status": "ran", "session": "ab12cd34"}
    found = {"input_tokens": 1400, "output_tokens": 200, "finding": "82683c3f56341a3a"}
    return occurred(**started, **found, **{"outcome": "escalated", "reason": "a person decides", **keys})


def test_the_history_shows_what_became_of_each_occurrence() -> None:
    headings, first, second, third = history_lines(
        folded([ran(), occurred(), ran(outcome="failed", reason="a person stopped it")]), with_name=True, width=None
    )
    assert headings.split() == ["WHEN", "LOOP", "OUTCOME", "SESSION", "TRIGGER", "TOKENS", "FINDING", "REASON"]
    shown = ["sweeper", "escalated", "ab12cd34", "schedule", "2k", "82683c3f", "a", "person", "decides"]
    assert first.split()[2:] == shown
    assert second.split()[2:7] == ["sweeper", "skipped", "-", "schedule", "-"]
    assert third.split()[3] == "stopped"


CATALOGUE = list(READY_LOOPS)
TRIGGERS = ("schedule", "check-red:integration-tests", "file:src/some/rather/long/path/settings.toml", "commit:main")


@pytest.mark.parametrize("width", [80, 140])
def test_the_tables_fit_and_cut_no_word_with_the_longest_cells(width: int) -> None:
    due = (datetime.datetime.now(UTC) + timedelta(seconds=50)).isoformat()
    outcomes = ["reported", "failed"] * 5
    keys: dict[str, Any] = {"strip": outcomes, "tokens_today": 99_940_000, "usd_today": 88.25, "on": [*TRIGGERS[1:3]]}
    loops = [listed(name=name, level="unattended", next_at=due, paused="", **keys) for name in CATALOGUE]
    loops.append(listed(name="post-merge-cleanup-2", paused=LONG, trusted=False, interrupted="ab12cd34", **keys))
    rows = [ran(loop=name, trigger=trigger, reason=LONG) for name in CATALOGUE for trigger in TRIGGERS]
    history = [*history_lines(folded(rows), with_name=True, width=width)]
    for lines in ([*list_lines(loops, width)], history):
        assert max(map(len, lines)) <= width
        starts = [line for line in lines if not line.startswith(" ")]
        assert len(starts) == 1 + len(loops if lines is not history else rows)  # no cell of a row stands alone
    for line in list_legend(loops):
        assert max(map(len, wrapped(line, width))) <= width
    text = " ".join(" ".join(history).split())
    assert all(word in text for word in (LONG, *TRIGGERS, "82683c3f"))


def test_a_line_is_cut_between_words_and_a_name_that_is_too_long_is_kept() -> None:
    name = "a-loop-with-a-name-of-sixty-four-characters-" + "x" * 20
    lines = [*list_lines([listed(name=name, strip=["failed"] * 10)], 60)]
    assert name in lines[2] and lines[3].startswith("    ")
    assert wrapped("donewhen loop resume post-merge-cleanup", 40) == ["donewhen loop resume post-merge-cleanup"]
    assert wrapped("one two post-merge-cleanup, one two post-merge-cleanup", 40)[1] == "    post-merge-cleanup"


def test_what_was_missed_is_one_row_with_times_of_the_clock_of_the_reader(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    time.tzset()
    reason = "nobody looked from 2026-01-01T00:10:00Z to 2026-01-04T00:05:00Z; coalesced into 2026-01-04T00:00:00Z"
    start = datetime.datetime(2026, 1, 1, 0, 20, tzinfo=UTC)
    times = [(start + timedelta(minutes=10 * number)).isoformat() for number in range(431)]
    missed = [occurred(loop=name, due_at=at, status="missed", reason=reason) for at in times for name in ("a", "b")]
    rows = [ran(), *reversed(missed), ran(outcome="reported")]

    def read(count: int) -> list[dict[str, Any]]:
        return rows[:count]

    found = newest_folded(read, 3)
    assert [(row["loop"], row["count"]) for row in found] == [("sweeper", 1), ("b", 431), ("a", 431)]
    shown = [*history_lines(found, with_name=True, width=None)][2]
    monkeypatch.undo()
    time.tzset()
    assert shown.startswith("2026-01-04 09:00  b        missed")
    assert "431 occurrences, 2026-01-01 09:20 to 2026-01-04 09:00: nobody looked from 2026-01-01 09:10 to" in shown
    assert "T00:" not in shown


def test_rounds_with_a_session_and_different_reasons_stay_rows_of_their_own() -> None:
    other = occurred(reason="the round cd34 is still running")
    assert [row["count"] for row in folded([ran(), ran(), occurred(), other, other])] == [1, 1, 1, 2]


def test_numbers_times_and_outcomes_are_short() -> None:
    assert [short_number(one) for one in (0, 999, 1000, 999_499, 999_500)] == ["0", "999", "1k", "999k", "1.0M"]
    assert strip([]) == "-" and strip(["reported", "unheard of"]) == "r-"
    now = datetime.datetime.now(UTC)
    words = [until(now + timedelta(seconds=one)) for one in (-5, 30, 95, 3 * 3600 + 5, 26 * 3600, 50 * 3600)]
    assert words == ["in under 1 min", "in under 1 min", "in 1 min", "in 3 h", "in 1 day", "in 2 days"]
