"""Times and occurrences of loops in words, for a person, by the clock of this machine."""

import datetime

from donewhen.loops.loop_records import MANUAL
from donewhen.loops.triggers import CHECK_RED, COMMIT, FILE, commit_in

NEAR_DAYS = 6
"""Up to so many days away, the weekday says enough."""


def time_words(moment: datetime.datetime, now: datetime.datetime) -> str:
    """Return the time of day, with the weekday or the date if it is not today."""
    here = moment.astimezone()
    days = abs((here.date() - now.astimezone().date()).days)
    if not days:
        return f"{here:%H:%M}"
    return f"{here:%a %H:%M}" if days <= NEAR_DAYS else f"{here:%d %b %H:%M}"


def cause_words(trigger: str, key: str, due_at: datetime.datetime, now: datetime.datetime) -> str:
    """Return for what a round is run: `for 14:00`, `for the commit 4104038e on main`."""
    if trigger.startswith(COMMIT):
        return f"for the commit {commit_in(key)[:8]} on {trigger.removeprefix(COMMIT)}"
    if trigger.startswith(FILE):
        return f"because {trigger.removeprefix(FILE)} changed"
    if trigger.startswith(CHECK_RED):
        return f"because {trigger.removeprefix(CHECK_RED)} is red"
    if trigger == MANUAL:
        return "because a person asked for it"
    return f"for {time_words(due_at, now)}"
