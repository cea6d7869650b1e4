"""Tables about loops for a person: the list, and the history. Plain values in, lines out."""

import datetime
import shutil
import sys
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from donewhen.loops.due import LONGEST_PAUSE

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
    words = loop["words"]
    what = "; ".join([f"{loop['action']}, {words[:1].lower()}{words[1:]}", *_list_notes(loop)])
    return loop["name"], loop["level"], _next_run(loop), strip(loop["strip"]), _today(loop), what


def _next_run(loop: Mapping[str, Any]) -> str:
    """Return when a loop runs next, or what it waits for."""
    if loop["running"]:
        return "running now"
    if loop["paused"] or loop["next_at"] is None:
        return "paused"
    if not loop["trusted"]:
        return "not trusted"
    if loop["interrupted"]:
        return "interrupted"
    due = datetime.datetime.fromisoformat(loop["next_at"])
    is_far = (due - datetime.datetime.now(datetime.UTC)).days > FAR_DAYS
    return f"{until(due)}, {due:{'%d %b' if is_far else '%a'} %H:%M}"


def _list_notes(loop: Mapping[str, Any]) -> Iterator[str]:
    """Yield what a person should know about a loop, or must do before it runs by its schedule."""
    if loop["running"]:
        yield f"running: session {loop['running']}"
    if loop["interrupted"]:
        yield interrupted_words(loop)
    if not loop["trusted"]:
        yield "waits for: donewhen trust"
    if loop["paused"]:
        yield f"paused: {loop['paused']}; donewhen loop resume {loop['name']}"


def interrupted_words(loop: Mapping[str, Any]) -> str:
    """Return what becomes of a round whose process is gone. A scheduler leaves a paused loop alone."""
    when = "after the pause" if loop["paused"] else "at the next start"
    return f"interrupted: session {loop['interrupted']} goes on {when}"


def scheduler_note(loops: Sequence[Mapping[str, Any]]) -> str:
    """Return that no scheduler is running, if one is needed: it looks at every loop that is trusted and not paused."""
    due = [loop["looked_at"] for loop in loops if loop["trusted"] and not loop["paused"]]
    if not due:
        return ""
    newest = max((datetime.datetime.fromisoformat(at) for at in due if at), default=None)
    if newest is None:
        return "no scheduler is running here: donewhen loop start"
    if datetime.datetime.now(datetime.UTC) - newest <= LONGEST_PAUSE:
        return ""
    return f"no scheduler has looked since {newest.astimezone():%a %d %b %H:%M}: donewhen loop start"


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
        row["outcome"] or ("interrupted" if row["interrupted"] else row["status"]),
        row["session"] or "-",
        row["trigger"],
        short_number(row["input_tokens"] + row["output_tokens"]) if ran else "-",
        row["finding"][:8] or "-",
        " ".join(row["reason"].split()),
    )
