"""The verb `donewhen loop add`: the ready-made loops, and writing one of them for this repository."""

import json
import shutil
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import anyio
import click
from click.shell_completion import CompletionItem

from donewhen.cli.group import one_line, say
from donewhen.cli.views.loop_tables import terminal_width, wrapped
from donewhen.server.methods import loops as methods

HEADINGS = ("NAME", "SCHEDULE", "LEVEL", "ACTION")
WIDE = 120
"""From this width on, what a loop does is in its row; else below it."""
INDENT = "  "
WRITTEN_INDENT = " " * 12


def matching_ready_loops(ctx: click.Context, parameter: click.Parameter, typed: str) -> list[CompletionItem]:
    """Return the ready-made loops whose name begins with what was typed."""
    del ctx, parameter
    return [CompletionItem(name) for name in methods.catalogue_names() if name.startswith(typed)]


@click.command("add")
@click.argument("name", default="", shell_complete=matching_ready_loops)
@click.option("--as", "as_name", default="", metavar="OTHER_NAME", help="Write it under another name.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object; without NAME, one per loop and line.")
def command(name: str, as_name: str, as_json: bool) -> int:
    """List the ready-made loops, or write the one called NAME to .donewhen/loops, filled in for this repository.

    What is written is trusted as it is. It is never written over a file. Nothing runs before `donewhen loop run NAME`
    or `donewhen loop start`.
    """
    if not name:
        if as_name:
            raise click.UsageError("--as needs the NAME of a ready-made loop")
        return _list(as_json)
    written = anyio.run(methods.loop_add, name, as_name)
    if as_json:
        click.echo(json.dumps(written))
        return 0
    width = terminal_width()
    for whole in _written_lines(written):
        for line in wrapped(whole, width, WRITTEN_INDENT):
            click.echo(one_line(line))
    return 0


def _list(as_json: bool) -> int:
    found = anyio.run(methods.loop_catalogue)
    if as_json:
        for row in found["loops"]:
            click.echo(json.dumps({**row, "forge": found["forge"]}))
        return 0
    for line in _table(found["loops"], shutil.get_terminal_size().columns):
        click.echo(one_line(line))
    say("")
    place = (
        f"here they work with {found['forge']}" if found["forge"] else f"here they work locally: {found['no_forge']}"
    )
    for line in wrapped(place, terminal_width()):
        say(line)
    say("write one for this repository: donewhen loop add NAME")
    return 0


def _table(rows: Sequence[Mapping[str, Any]], width: int) -> Iterator[str]:
    cells = [(one["name"], one["schedule"], one["level"] or "-", one["action"] or "-") for one in rows]
    widths = [max(map(len, column)) for column in zip(HEADINGS, *cells, strict=True)]

    def row(values: tuple[str, ...]) -> str:
        return "  ".join(f"{value:<{size}}" for value, size in zip(values, widths, strict=True))

    is_wide = width >= WIDE
    yield f"{row(HEADINGS)}  WHAT IT DOES" if is_wide else row(HEADINGS).rstrip()
    for one, values in zip(rows, cells, strict=True):
        notes = filter(None, (one["what"], one["missing"], "added already" if one["is_added"] else ""))
        text = "; ".join(notes)
        start = row(values)
        lines = textwrap.wrap(text, width - (len(start) + 2 if is_wide else len(INDENT)), break_long_words=False)
        if is_wide:
            yield f"{start}  {lines[0]}"
            yield from (" " * (len(start) + 2) + line for line in lines[1:])
        else:
            yield start.rstrip()
            yield from (INDENT + line for line in lines)


def _written_lines(written: Mapping[str, Any]) -> Iterator[str]:
    name = written["name"]
    yield f"wrote {written['file']}"
    yield f"  level     {written['level']}, action {written['action']}, {written['words']}"
    for one in written["filled"]:
        yield f"  {one['key']:<9} {one['value']}: {one['why']}"
    for one in written["inputs"]:
        yield f"  input     {one['name']}: {one['comment']}"
    budget = written["budget"]
    limits = f"{budget['tokens']:,} tokens a round, {budget['tokens_per_day']:,} a day"
    yield f"  budget    {limits}, ${budget['usd_per_day']:g} a day where the price is known"
    if written["trusted"]:
        keys = ", ".join(written["trusted"])
        yield f"  trusted   {keys}, as the file is now; after a change: donewhen trust"
    yield f"  next      donewhen loop run {name} --dry-run"
    yield f"{WRITTEN_INDENT}donewhen loop start"
