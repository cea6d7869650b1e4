"""The verb `donewhen agents`: which agents can be used on this machine."""

import json
import os
import shutil
import sys
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import anyio
import click

from donewhen.cli.group import one_line, say
from donewhen.server.methods.call_context import CallContext
from donewhen.server.methods.machine import agents_list

COLUMNS = ("agent", "version", "status", "way", "governance")
STATUS = 2
UNKNOWN = "-"
GAP = "  "
NARROWEST = 20
"""Columns. If less space is left in its row, a reason is printed below the row."""
INDENT = "    "
STYLES: Mapping[str, Mapping[str, Any]] = {
    "ready": {"bold": True},
    "expired": {"fg": "yellow"},
    "not executable": {"fg": "red"},
    "missing": {"dim": True},
}


@click.command("agents")
@click.option("--json", "as_json", is_flag=True, help="One JSON object per agent and line.")
def command(as_json: bool) -> int:
    """The agents for `--engine external:NAME`, whether each is ready, and what it lacks if not.

    The interface is its own stream (cli) or the Agent Client Protocol (acp). Governance is how much of its work
    passes through donewhen: full, confined or open. Keys are never shown.
    """
    found = anyio.run(agents_list, CallContext(say=say))
    if as_json:
        for one in found:
            click.echo(json.dumps(one))
        return 0
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
    colour = False if os.environ.get("NO_COLOR") else None
    for line in table(found, width):
        click.echo(line, color=colour)
    return 0


def table(found: Sequence[Mapping[str, Any]], width: int | None) -> Iterator[str]:
    """Yield aligned lines. On a terminal none exceeds `width`: reasons are wrapped; a narrow one has no columns."""
    rows = [[one_line(cell) for cell in _cells(one)] for one in found]
    widths = [max(map(len, column)) for column in zip(COLUMNS, *rows, strict=True)]
    left = sum(widths) + len(GAP) * len(widths)
    if width is not None and width < left:
        for one, row in zip(found, rows, strict=True):
            yield from _stacked_lines(row, one_line(one["reason"]), width)
        return
    yield GAP.join(name.ljust(size) for name, size in zip(COLUMNS, widths, strict=True)).rstrip()
    for one, row in zip(found, rows, strict=True):
        cells = [cell.ljust(size) for cell, size in zip(row, widths, strict=True)]
        cells[STATUS] = _style(row[STATUS], cells[STATUS])
        yield from _row_with_reason(GAP.join(cells) + GAP, left, one_line(one["reason"]), width)


def _cells(one: Mapping[str, Any]) -> list[str]:
    return [one["name"], one["version"] or UNKNOWN, one["status"].replace("_", " "), one["way"], one["governance"]]


def _style(status: str, text: str) -> str:
    return click.style(text, **STYLES[status]) if status in STYLES else text


def _row_with_reason(head: str, left: int, reason: str, width: int | None) -> Iterator[str]:
    """Yield a row and its reason: in the same line if there is space, otherwise below."""
    if width is None:
        yield head + reason
    elif width - left < NARROWEST:
        yield head.rstrip()
        yield from _wrap(reason, INDENT, width)
    else:
        first, *rest = textwrap.wrap(reason, width - left) or [""]
        yield head + first
        yield from (" " * left + line for line in rest)


def _stacked_lines(row: list[str], reason: str, width: int) -> Iterator[str]:
    name, version, status, way, governance = row
    yield f"{name} {version}"[:width]
    yield INDENT + _style(status, status[: width - len(INDENT)])
    yield from _wrap(f"{way}, {governance}; {reason}", INDENT, width)


def _wrap(text: str, indent: str, width: int) -> list[str]:
    return textwrap.wrap(text, max(width, len(indent) + 1), initial_indent=indent, subsequent_indent=indent)
