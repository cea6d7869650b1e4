"""The tables about loops: what a person reads in the list and in the history."""

import datetime
from datetime import UTC, timedelta
from typing import Any

from donewhen.cli.views.loop_tables import history_lines, list_legend, list_lines, short_number, strip, table, until

LONG = "the contract is red: tests is fail, and the maker changed nothing after it had looked at all of the files"


def listed(**keys: Any) -> dict[str, Any]:
    return {
        "name": "sweeper",
        "level": "assisted",
        "action": "branch",
        "words": "Every 6 hours",
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


def test_the_history_shows_what_became_of_each_occurrence() -> None:
    row = {
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
    }
    ran = {
        **row,
        "started_at": "2026-11-18T09:00:01+00:00",
        "status": "ran",
        "outcome": "escalated",
        "session": "ab12",
        "input_tokens": 1400,
        "output_tokens": 200,
        "finding": "82683c3f56341a3a",
        "reason": "a person decides",
    }
    headings, first, second = history_lines([ran, row], with_name=True, width=None)
    assert headings.split() == ["WHEN", "LOOP", "OUTCOME", "SESSION", "TRIGGER", "TOKENS", "FINDING", "REASON"]
    assert first.split()[2:] == ["sweeper", "escalated", "ab12", "schedule", "2k", "82683c3f", "a", "person", "decides"]
    assert second.split()[2:7] == ["sweeper", "skipped", "-", "schedule", "-"]


def test_numbers_times_and_outcomes_are_short() -> None:
    assert [short_number(one) for one in (0, 999, 1000, 999_499, 999_500)] == ["0", "999", "1k", "999k", "1.0M"]
    assert strip([]) == "-" and strip(["reported", "unheard of"]) == "r-"
    now = datetime.datetime.now(UTC)
    words = [until(now + timedelta(seconds=one)) for one in (-5, 30, 95, 3 * 3600 + 5, 26 * 3600, 50 * 3600)]
    assert words == ["in under 1 min", "in under 1 min", "in 1 min", "in 3 h", "in 1 day", "in 2 days"]
