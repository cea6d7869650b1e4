"""Schedules: when a loop is due. Pure: the caller gives the time.

    "*/10 * * * *"        cron, five fields
    "daily 09:00"         "weekly mon 09:00"        in the loop's time zone
    "every 6h"            every 90s, 10m, 6h, 2d; counted from 1970, so that a restart moves nothing

Where the clock is put back, a time of day that occurs twice is due once, and `*/30` in both hours. Where it is put
forward, a time of day that does not exist is due at the first moment after the gap.
"""

import datetime
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from donewhen.errors import BadInput
from donewhen.printable import shortened
from donewhen.records import frozen

if TYPE_CHECKING:
    from cronsim import CronSim

DAYS = ("sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday")
DAY_NUMBERS = {name: number for number, day in enumerate(DAYS) for name in (day, day[:3])}
DAILY = re.compile(r"daily[ \t]+([01]?\d|2[0-3]):([0-5]\d)")
WEEKLY = re.compile(r"weekly[ \t]+([a-z]+)[ \t]+([01]?\d|2[0-3]):([0-5]\d)")
EVERY = re.compile(r"every[ \t]+(\d{1,6})[ \t]*([smhd])")
SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400}
UNITS = {"s": "second", "m": "minute", "h": "hour", "d": "day"}
LONGEST_EVERY_SECS = 3650 * 86400
FIELDS = 5
LONGEST_SCHEDULE = 200
GRAMMAR = '"*/10 * * * *" (cron), "daily 09:00", "weekly mon 09:00" or "every 6h"'


@frozen
class Schedule:
    text: str
    zone: datetime.tzinfo
    cron: str = ""
    """Five fields; empty for `every`."""
    every_secs: int = 0

    def next_after(self, moment: datetime.datetime) -> datetime.datetime:
        """Return the first occurrence after a moment, in UTC."""
        if self.every_secs:
            return _at((int(moment.timestamp()) // self.every_secs + 1) * self.every_secs)
        return next(self._cron(moment)).astimezone(datetime.UTC)

    def last_until(self, moment: datetime.datetime) -> datetime.datetime:
        """Return the newest occurrence at or before a moment, in UTC."""
        if self.every_secs:
            return _at(int(moment.timestamp()) // self.every_secs * self.every_secs)
        # The search excludes its start, and only goes by whole seconds.
        after = moment.replace(microsecond=0) + datetime.timedelta(seconds=1)
        return next(self._cron(after, reverse=True)).astimezone(datetime.UTC)

    def between(self, start: datetime.datetime, end: datetime.datetime) -> Iterator[datetime.datetime]:
        """Yield the occurrences after `start` until `end`, in UTC."""
        moment = self.next_after(start)
        while moment <= end:
            yield moment
            moment = self.next_after(moment)

    @property
    def words(self) -> str:
        """The schedule in English, without the time zone."""
        if not self.every_secs:
            return self._cron(_at(0)).explain()
        unit = next(unit for unit in reversed(SECONDS) if self.every_secs % SECONDS[unit] == 0)
        count = self.every_secs // SECONDS[unit]
        return f"Every {UNITS[unit]}" if count == 1 else f"Every {count} {UNITS[unit]}s"

    def _cron(self, moment: datetime.datetime, reverse: bool = False) -> "CronSim":
        from cronsim import CronSim  # loaded on use: a loop with `every` does not need it

        return CronSim(self.cron, moment.astimezone(self.zone), reverse=reverse)


def parse_schedule(text: str, zone: datetime.tzinfo, key: str = "schedule") -> Schedule:
    """Return the schedule of a text. Raise BadInput, with the key, for another text."""
    plain = text.strip().lower() if len(text) <= LONGEST_SCHEDULE else ""
    if found := DAILY.fullmatch(plain):
        return Schedule(text, zone, f"{int(found[2])} {int(found[1])} * * *")
    if (found := WEEKLY.fullmatch(plain)) and found[1] in DAY_NUMBERS:
        return Schedule(text, zone, f"{int(found[3])} {int(found[2])} * * {DAY_NUMBERS[found[1]]}")
    if (found := EVERY.fullmatch(plain)) and 0 < int(found[1]) * SECONDS[found[2]] <= LONGEST_EVERY_SECS:
        return Schedule(text, zone, every_secs=int(found[1]) * SECONDS[found[2]])
    if len(plain.split()) == FIELDS and _is_cron(plain):
        return Schedule(text, zone, plain)
    raise BadInput(f"'{key}' must be {GRAMMAR}, not {shortened(text)!r}")


def _is_cron(text: str) -> bool:
    from cronsim import CronSim, CronSimError

    try:
        next(CronSim(text, _at(0)))
    except (CronSimError, StopIteration):
        return False
    return True


def _at(seconds: int) -> datetime.datetime:
    return datetime.datetime.fromtimestamp(seconds, datetime.UTC)
