"""Tables about loops for a person: the list, and the history. Plain values in, lines out."""

import datetime
import re
import shutil
import sys
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from donewhen.loops.due import LONGEST_PAUSE

SIGNS = {
    "reported": "r",
    "proceeded": "✓",
    "escalated": "?",
    "skipped": "·",
    "budget": "$",
    "failed": "✗",
    "stopped": "■",
}
"""The sign of an outcome in the list."""
UNITS = (("day", 86400), ("h", 3600), ("min", 60))
FAR_DAYS = 6
"""After so many days the name of a weekday says too little."""
LIST_HEADINGS = ("NAME", "LEVEL", "NEXT", "LAST", "TODAY", "ACTION, SCHEDULE")
INDENT = "    "
NO_BREAK = "\u00a0"
LIMIT = re.compile(
    r"\b(turns|minutes|tokens|input tokens|output tokens|usd): used ([\d.]+)( today| in all rounds)?, allowed ([\d.]+)"
)
"""A message about a limit, as it is in the log."""
LEAST_WIDTH = 40
"""Lines are not broken for a terminal that is narrower."""
UNKNOWN_PRICE = "$?"


def terminal_width() -> int | None:
    """Return the width of the terminal; None if stdout is none: then no line is broken."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None


def unbroken(words: str) -> str:
    """Return words, such as a command, between which `wrapped` does not cut a line."""
    return words.replace(" ", NO_BREAK)


START = unbroken("donewhen loop start")


def wrapped(line: str, width: int | None, indent: str = INDENT) -> list[str]:
    """Return a line in parts that fit, cut between words. What follows the first part is indented."""
    parts = [line]
    if width is not None and len(line) > width:
        most = max(width, LEAST_WIDTH)
        parts = textwrap.wrap(line, most, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)
    return [part.replace(NO_BREAK, " ") for part in parts]


def table(rows: Sequence[tuple[str, ...]], width: int | None, compact: Sequence[tuple[str, ...]] = ()) -> Iterator[str]:
    """Yield the lines of a table with headings. If it is too wide, the last cell of a row stands below the others.

    `compact` are the same rows with shorter cells, for the case that the others alone are too wide.
    """
    if width is None or _width(rows) <= width:
        for line in _aligned(rows):
            yield from wrapped(line, None)
        return
    if compact and _width([row[:-1] for row in rows]) > width:
        rows = compact
    for number, (line, row) in enumerate(zip(_aligned([row[:-1] for row in rows]), rows, strict=True)):
        yield from wrapped(line, width)
        if number and row[-1]:
            yield from wrapped(INDENT + row[-1], width)


def _width(rows: Sequence[tuple[str, ...]]) -> int:
    return max(map(len, _aligned(rows)))


def _aligned(rows: Sequence[tuple[str, ...]]) -> Iterator[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        yield "  ".join(f"{cell:<{wide}}" for cell, wide in zip(row, widths, strict=True)).rstrip()


def list_lines(loops: Sequence[Mapping[str, Any]], width: int | None) -> Iterator[str]:
    full, compact = ([_list_cells(loop, is_compact) for loop in loops] for is_compact in (False, True))
    yield from table([LIST_HEADINGS, *full], width, [LIST_HEADINGS, *compact])


def list_legend(loops: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield what the signs of a list mean, if it has any."""
    if any(loop["strip"] for loop in loops):
        yield "last outcomes, the newest at the right: " + ", ".join(
            unbroken(f"{sign} {name}") for name, sign in SIGNS.items()
        )
    if any(loop["tokens_today"] and loop["usd_today"] is None for loop in loops):
        yield f"{UNKNOWN_PRICE}: the price of a model is not known"


def _list_cells(loop: Mapping[str, Any], is_compact: bool) -> tuple[str, ...]:
    words, on = loop["words"], f", on {', '.join(loop['on'])}" if loop["on"] else ""
    what = "; ".join([f"{loop['action']}, {words[:1].lower()}{words[1:]}{on}", *_list_notes(loop)])
    return loop["name"], loop["level"], _next_run(loop, is_compact), strip(loop["strip"]), _today(loop), what


def _next_run(loop: Mapping[str, Any], is_compact: bool) -> str:
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
    if is_compact:
        return until(due)
    is_far = (due - datetime.datetime.now(datetime.UTC)).days > FAR_DAYS
    return f"{until(due)}, {due:{'%d %b' if is_far else '%a'} %H:%M}"


def _list_notes(loop: Mapping[str, Any]) -> Iterator[str]:
    """Yield what a person should know about a loop, or must do before it runs by its schedule."""
    if loop["running"]:
        yield f"running: session {loop['running']}"
    if loop["interrupted"]:
        yield interrupted_words(loop)
    if not loop["trusted"]:
        yield f"waits for: {unbroken('donewhen trust')}"
    if loop["paused"]:
        yield f"paused: {paused_words(loop)}"


def paused_words(loop: Mapping[str, Any]) -> str:
    """Return why a loop is paused, and how the pause ends."""
    command = unbroken(f"donewhen loop resume {loop['name']}")
    return f"{limit_words(loop['paused'])}; {command}"


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
        return f"no scheduler is running here: {START}"
    if datetime.datetime.now(datetime.UTC) - newest <= LONGEST_PAUSE:
        return ""
    return f"no scheduler has looked since {newest.astimezone():%a %d %b %H:%M}: {START}"


def strip(outcomes: Sequence[str]) -> str:
    """Return the last outcomes as signs, the newest at the right."""
    return "".join(SIGNS.get(outcome, "-") for outcome in outcomes) or "-"


def limit_words(text: str) -> str:
    """Return a text with messages about limits in plain words: `used 12 of 12 turns`."""
    return LIMIT.sub(_limit_words, text)


def _limit_words(found: re.Match[str]) -> str:
    name, used, period, allowed = found.groups(default="")
    if name == "usd":
        return f"used ${used} of ${allowed}{period}"
    return f"used {used} of {allowed} {name}{period}"


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
