"""When a loop is due: every form of a schedule, changes of the clock, and texts that are not a schedule."""

import datetime
from datetime import UTC, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from donewhen.errors import BadInput
from donewhen.loops.schedule import parse_schedule
from donewhen.loops.time_zone import machine_zone, zone_named

BERLIN, NEW_YORK, LORD_HOWE = map(ZoneInfo, ("Europe/Berlin", "America/New_York", "Australia/Lord_Howe"))


def moment(text: str, zone: datetime.tzinfo = UTC) -> datetime.datetime:
    return datetime.datetime.fromisoformat(text).replace(tzinfo=zone)


@pytest.mark.promise("loop.schedule")
@pytest.mark.parametrize(
    ("text", "due", "words"),
    [
        ("*/10 9-17 * * mon", "2026-11-23 09:00", "Every 10th minute from 09:00 through 17:59 on Monday"),
        ("daily 09:00", "2026-11-19 09:00", "At 09:00 every day"),
        ("Daily 9:05", "2026-11-19 09:05", "At 09:05 every day"),
        ("weekly mon 09:00", "2026-11-23 09:00", "At 09:00 on Monday"),
        ("weekly Sunday 23:59", "2026-11-22 23:59", "At 23:59 on Sunday"),
        ("every 6h", "2026-11-18 19:00", "Every 6 hours"),
        ("every 1d", "2026-11-19 01:00", "Every day"),
        ("every 3650d", "2029-12-17 01:00", "Every 3650 days"),
        ("every 90s", "2026-11-18 14:33", "Every 90 seconds"),
    ],
)  # fmt: skip
def test_every_form_of_a_schedule_says_when_it_is_due_and_in_words(text: str, due: str, words: str) -> None:
    schedule = parse_schedule(text, BERLIN)
    now = moment("2026-11-18 14:31:30", BERLIN)
    assert schedule.next_after(now) == moment(due, BERLIN)
    assert schedule.words == words


@pytest.mark.parametrize(
    "text",
    [
        "", "daily", "daily 24:00", "daily 9", "weekly 09:00", "weekly monkey 09:00", "every 0s", "every h",
        "every 3651d",
        "every -1h", "every 1w", "@daily", "* * * *", "* * * * * *", "0 0 31 2 *", "*/0 * * * *", "61 * * * *",
        "x" * 5000, "\0",
    ],
)  # fmt: skip
def test_another_text_is_refused_in_one_line_with_its_key(text: str) -> None:
    with pytest.raises(BadInput) as refused:
        parse_schedule(text, UTC, "loop[2].schedule")
    assert str(refused.value).startswith("'loop[2].schedule' must be ") and "\n" not in str(refused.value)
    assert len(str(refused.value)) < 400


def test_a_time_that_occurs_twice_is_due_once() -> None:
    due = list(parse_schedule("daily 02:30", BERLIN).between(moment("2026-10-24 12:00"), moment("2026-10-26 12:00")))
    assert [one.astimezone(BERLIN).strftime("%d %H:%M") for one in due] == ["25 02:30", "26 02:30"]


def test_a_time_that_does_not_exist_is_due_after_the_gap() -> None:
    due = list(parse_schedule("daily 02:30", BERLIN).between(moment("2026-03-28 12:00"), moment("2026-03-30 12:00")))
    assert [one.astimezone(BERLIN).strftime("%d %H:%M") for one in due] == ["29 03:00", "30 02:30"]


def test_a_repeating_minute_is_due_in_both_of_the_doubled_hours() -> None:
    due = list(parse_schedule("*/30 * * * *", BERLIN).between(moment("2026-10-24 23:45"), moment("2026-10-25 02:00")))
    assert len(due) == 5 and due == sorted(set(due))


def test_a_change_by_half_an_hour_is_right() -> None:
    schedule = parse_schedule("daily 09:00", LORD_HOWE)
    due = list(schedule.between(moment("2026-04-04 00:00"), moment("2026-04-06 00:00")))
    assert [one.astimezone(LORD_HOWE).strftime("%d %H:%M") for one in due] == ["05 09:00", "06 09:00"]
    assert due[1] - due[0] == timedelta(hours=24)


SCHEDULES = st.sampled_from(
    ["daily 02:30", "weekly sun 02:15", "every 7h", "every 90s", "*/10 * * * *", "30 2 29 2 *", "0 0 1 * *"]
)
MOMENTS = st.integers(1_735_700_000, 1_956_500_000).map(lambda at: datetime.datetime.fromtimestamp(at, UTC))
"""From 2025 to 2031."""


@given(SCHEDULES, st.sampled_from([BERLIN, NEW_YORK, LORD_HOWE, UTC]), MOMENTS)
def test_the_next_and_the_last_occurrence_surround_any_moment(
    text: str, zone: datetime.tzinfo, now: datetime.datetime
) -> None:
    schedule = parse_schedule(text, zone)
    last, following = schedule.last_until(now), schedule.next_after(now)
    assert last <= now < following
    assert schedule.next_after(last) == following
    assert schedule.last_until(last) == last


@given(st.text(max_size=40))
def test_any_text_is_a_schedule_or_refused(text: str) -> None:
    try:
        assert parse_schedule(text, UTC).next_after(moment("2026-01-01 00:00")) > moment("2026-01-01 00:00")
    except BadInput as refused:
        assert "\n" not in str(refused)


# -- zones --


@pytest.mark.parametrize("name", ["", "Nowhere/City", "../etc/passwd", "/etc/localtime", "x" * 5000, "Europe", "a\0b"])
def test_an_unknown_zone_is_refused_in_one_line(name: str) -> None:
    with pytest.raises(BadInput, match=r"'loop\.timezone' must be a time zone"):
        zone_named(name, "loop.timezone")


def test_the_zone_of_the_machine_is_that_of_a_variable_or_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TZ", "America/New_York")
    assert machine_zone() == NEW_YORK
    monkeypatch.setenv("TZ", "not a zone")
    local = tmp_path / "localtime"
    local.symlink_to("/usr/share/zoneinfo/Europe/Berlin")
    assert machine_zone(local) == BERLIN
    monkeypatch.delenv("TZ")
    copied = tmp_path / "copied"
    copied.write_bytes(Path("/usr/share/zoneinfo/Europe/Berlin").read_bytes())
    assert machine_zone(copied).utcoffset(moment("2026-07-01 00:00")) == timedelta(hours=2)
    assert machine_zone(tmp_path / "missing") == ZoneInfo("UTC")
