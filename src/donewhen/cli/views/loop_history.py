"""The history of loops as a table for a person. Plain values in, lines out.

Occurrences of a loop for which no round was run, and which are equal, are one row: after days without a look there are
hundreds of them.
"""

import datetime
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from donewhen.cli.views.loop_tables import limit_words, short_number, table
from donewhen.session.outcome import STOPPED

HEADINGS = ("OUTCOME", "SESSION", "TRIGGER", "TOKENS")
FULL_TIME, SHORT_TIME = "%Y-%m-%d %H:%M", "%d %b %H:%M"
KEY_TIME = re.compile(r"\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")
"""A moment in a reason: the key of an occurrence of a schedule."""
ALIKE = ("status", "trigger", "reason", "session")
"""What is the same in occurrences that become one row."""
FINDING = 8
"""Characters of a finding that are shown."""
MORE = 8
Row = Mapping[str, Any]


def newest_folded(read: Callable[[int], Sequence[Row]], limit: int) -> list[Row]:
    """Return at most `limit` folded rows, the newest first. `read` returns at most so many rows that are not folded."""
    count = limit
    while True:
        rows = read(count)
        found = folded(rows)
        last = {row["loop"]: row for row in found}.values()
        may_go_on = any(one is row for row in last if not row["session"] for one in found[:limit])
        if len(rows) < count or (len(found) > limit and not may_go_on):
            return found[:limit]
        count *= MORE


def folded(rows: Sequence[Row]) -> list[Row]:
    """Return the rows with equal neighbours of a loop as one, with `count` and the time of the oldest."""
    found, newest = list[dict[str, Any]](), dict[str, dict[str, Any]]()
    for row in rows:
        before = newest.get(row["loop"])
        if before is not None and not row["session"] and all(before[key] == row[key] for key in ALIKE):
            before |= {"count": before["count"] + 1, "oldest": row["due_at"]}
            continue
        newest[row["loop"]] = {**row, "count": 1, "oldest": row["due_at"]}
        found.append(newest[row["loop"]])
    return [*found]


def history_lines(rows: Sequence[Row], with_name: bool, width: int | None) -> Iterator[str]:
    """Yield folded occurrences of a loop, or of several loops with their names."""
    name = ("LOOP",) if with_name else ()
    full = [("WHEN", *name, *HEADINGS, "FINDING", "REASON"), *(_cells(row, with_name) for row in rows)]
    compact = [("WHEN", *name, *HEADINGS, ""), *(_compact_cells(row, with_name) for row in rows)]
    yield from table(full, width, compact)


def _cells(row: Row, with_name: bool) -> tuple[str, ...]:
    when, *others, trigger, tokens = _common_cells(row, with_name, FULL_TIME)
    return when, *others, trigger, tokens, row["finding"][:FINDING] or "-", _reason(row, FULL_TIME)


def _compact_cells(row: Row, with_name: bool) -> tuple[str, ...]:
    """Return the cells for a narrow terminal: what is long stands in the last one."""
    *others, trigger, tokens = _common_cells(row, with_name, SHORT_TIME)
    kind, has_more, _ = trigger.partition(":")
    finding = f"finding {row['finding'][:FINDING]}" if row["finding"] else ""
    more = (trigger if has_more else "", _reason(row, SHORT_TIME), finding)
    return *others, kind, tokens, "; ".join(filter(None, more))


def _common_cells(row: Row, with_name: bool, time: str) -> tuple[str, ...]:
    ran = row["status"] == "ran"
    return (
        _local(row["started_at"] or row["due_at"], time),
        *((row["loop"],) if with_name else ()),
        _outcome(row),
        row["session"] or "-",
        row["trigger"],
        short_number(row["input_tokens"] + row["output_tokens"]) if ran else "-",
    )


def _outcome(row: Row) -> str:
    if row["outcome"] == "failed" and row["reason"] == STOPPED:
        return "stopped"
    return row["outcome"] or ("interrupted" if row["interrupted"] else row["status"])


def _reason(row: Row, time: str) -> str:
    reason = KEY_TIME.sub(lambda found: _local(found[0], time), limit_words(" ".join(row["reason"].split())))
    if row["count"] == 1:
        return reason
    oldest, newest = map(partial(_local, time=time), (row["oldest"], row["due_at"]))
    return f"{row['count']} occurrences, {oldest} to {newest}: {reason}"


def _local(moment: str, time: str) -> str:
    return f"{datetime.datetime.fromisoformat(moment).astimezone():{time}}"
