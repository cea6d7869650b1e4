"""Tables about loops for a person: the list, and the history. Plain values in, lines out."""

import datetime
import shutil
import sys
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

SIGNS = {"reported": "r", "proceeded": "✓", "escalated": "?", "skipped": "·", "budget": "$", "failed": "✗"}
"""The sign of an outcome in the list."""
UNITS = (("day", 86400), ("h", 3600), ("min", 60))
FAR_DAYS = 6
"""After so many days the name of a weekday says too little."""
LIST_HEADINGS = ("NAME", "LEVEL", "NEXT", "LAST", "TODAY", "ACTION, SCHEDULE")
INDENT = "    "
UNKNOWN_PRICE = "$?"


def terminal_width() -> int | None:
    """Return the width of the terminal; None if stdout is none: then no line is broken."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None


def table(rows: Sequence[tuple[str, ...]], width: int | None) -> Iterator[str]:
    """Yield the lines of a table with headings. If it is too wide, the last cell of a row stands below the others."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    is_narrow = width is not None and sum(widths) + 2 * (len(widths) - 1) > width
    for number, row in enumerate(rows):
        *cells, last = [f"{cell:<{wide}}" for cell, wide in zip(row, widths, strict=True)]
        if not is_narrow:
            yield "  ".join([*cells, last]).rstrip()
            continue
        yield "  ".join(cells).rstrip()
        if number and row[-1]:
            yield from textwrap.wrap(row[-1], max(width or 0, 40), initial_indent=INDENT, subsequent_indent=INDENT)


def list_lines(loops: Sequence[Mapping[str, Any]], width: int | None) -> Iterator[str]:
    yield from table([LIST_HEADINGS, *map(_list_cells, loops)], width)


def list_legend(loops: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield what the signs of a list mean, if it has any."""
    if any(loop["strip"] for loop in loops):
        yield "last outcomes, the newest at the right: " + ", ".join(f"{sign} {name}" for name, sign in SIGNS.items())
    if any(loop["tokens_today"] and loop["usd_today"] is None for loop in loops):
        yield f"{UNKNOWN_PRICE}: the price of a model is not known"


def _list_cells(loop: Mapping[str, Any]) -> tuple[str, ...]:
    state, next_run = "", ""
    if loop["running"]:
        state, next_run = f"; running: session {loop['running']}", "running now"
    elif not loop["trusted"]:
        state, next_run = "; needs: donewhen trust", "not trusted"
    elif loop["next_at"] is None:
        state, next_run = f"; paused: {loop['paused']}; donewhen loop resume {loop['name']}", "paused"
    else:
        due = datetime.datetime.fromisoformat(loop["next_at"])
        is_far = (due - datetime.datetime.now(datetime.UTC)).days > FAR_DAYS
        next_run = f"{until(due)}, {due:{'%d %b' if is_far else '%a'} %H:%M}"
    words = loop["words"]
    what = f"{loop['action']}, {words[:1].lower()}{words[1:]}{state}"
    return loop["name"], loop["level"], next_run, strip(loop["strip"]), _today(loop), what


def strip(outcomes: Sequence[str]) -> str:
    """Return the last outcomes as signs, the newest at the right."""
    return "".join(SIGNS.get(outcome, "-") for outcome in outcomes) or "-"


def _today(loop: Mapping[str, Any]) -> str:
    if not loop["tokens_today"]:
        return "-"
    money = UNKNOWN_PRICE if loop["usd_today"] is None else f"${loop['usd_today']:.2f}"
    return f"{short_number(loop['tokens_today'])}, {money}"


def short_number(count: int) -> str:
    """Return a count in a few characters: 950, 12k, 1.2M."""
    if count < 1000:
        return str(count)
    return f"{count / 1000:.0f}k" if count < 999_500 else f"{count / 1_000_000:.1f}M"


def until(moment: datetime.datetime) -> str:
    """Return in words how long it is until a moment."""
    seconds = max(0, int((moment - datetime.datetime.now(datetime.UTC)).total_seconds()))
    for unit, size in UNITS:
        if seconds >= size:
            count = seconds // size
            return f"in {count} {unit}{'s' if unit == 'day' and count > 1 else ''}"
    return "in under 1 min"


def history_lines(rows: Sequence[Mapping[str, Any]], with_name: bool, width: int | None) -> Iterator[str]:
    """Yield the occurrences of a loop, or of several loops with their names."""
    name = ("LOOP",) if with_name else ()
    headings = ("WHEN", *name, "OUTCOME", "SESSION", "TRIGGER", "TOKENS", "FINDING", "REASON")
    yield from table([headings, *(_history_cells(row, with_name) for row in rows)], width)


def _history_cells(row: Mapping[str, Any], with_name: bool) -> tuple[str, ...]:
    at = datetime.datetime.fromisoformat(row["started_at"] or row["due_at"]).astimezone()
    ran = row["status"] == "ran"
    return (
        f"{at:%Y-%m-%d %H:%M}",
        *((row["loop"],) if with_name else ()),
        row["outcome"] or row["status"],
        row["session"] or "-",
        row["trigger"],
        short_number(row["input_tokens"] + row["output_tokens"]) if ran else "-",
        row["finding"][:8] or "-",
        " ".join(row["reason"].split()),
    )
