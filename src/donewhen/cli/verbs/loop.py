"""The verb `donewhen loop`: the loops of this repository, and when they are due."""

import datetime
import json
from collections.abc import Iterator
from typing import Any

import click

from donewhen.cli.group import one_line, say
from donewhen.server import methods

EMPTY = "this repository has no loops; state one as [[loop]] in donewhen.toml, or in .donewhen/loops/NAME.toml"
UNITS = (("day", 86400), ("h", 3600), ("min", 60))


@click.group("loop", no_args_is_help=False)
def command() -> None:
    """Recurring work: what comes back, when, and what it may do by itself."""


@command.command("list")
@click.option("--json", "as_json", is_flag=True, help="One JSON object per loop and line.")
def list_loops(as_json: bool) -> int:
    """List the loops of this repository, by name: level, next occurrence, schedule and action."""
    rows = methods.loop_list()
    if as_json:
        for row in rows:
            click.echo(json.dumps(row))
        return 0
    if not rows:
        say(EMPTY)
    for line in _table([_cells(row) for row in rows]):
        click.echo(one_line(line))
    return 0


@command.command("show")
@click.argument("name")
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
def show(name: str, as_json: bool) -> int:
    """Show one loop: every key, the next occurrences, and what a person must accept before it runs."""
    known = methods.loop_show(name)
    if as_json:
        click.echo(json.dumps(known))
        return 0
    for line in _lines(known):
        click.echo(one_line(line))
    return 0


def _cells(row: dict[str, Any]) -> tuple[str, ...]:
    due = datetime.datetime.fromisoformat(row["next_at"])
    needs = "" if row["trusted"] else "needs: donewhen trust"
    return row["name"], row["level"], f"{until(due)} ({due:%a %H:%M})", row["words"], row["action"], needs


def _table(rows: list[tuple[str, ...]]) -> Iterator[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        yield "  ".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True)).rstrip()


def until(moment: datetime.datetime) -> str:
    """Return in words how long it is until a moment."""
    seconds = max(0, int((moment - datetime.datetime.now(datetime.UTC)).total_seconds()))
    for unit, size in UNITS:
        if seconds >= size:
            count = seconds // size
            return f"in {count} {unit}{'s' if unit == 'day' and count > 1 else ''}"
    return "in less than a minute"


def _lines(known: dict[str, Any]) -> Iterator[str]:
    budget = ", ".join(f"{name} {value:g}" for name, value in known["budget"].items() if value)
    yield f"{known['name']}  {known['intent']}"
    yield f"  level      {known['level']}"
    yield f"  schedule   {known['schedule']}: {known['words']} ({known['timezone']})"
    yield f"  next       {', '.join(at[:16].replace('T', ' ') for at in known['next'])}"
    if known["on"]:
        yield f"  also on    {', '.join(known['on'])}"
    for one in known["inputs"]:
        reach = ", with network" if one["network"] else ""
        yield f"  input      {one['name']}: {one['command']}{reach}"
    checks = [*known["checks"], *(one["name"] for one in known["own_checks"])]
    yield f"  checks     {', '.join(checks) or 'none'}"
    yield f"  maker      {known['engine']}: {known['maker'] or known['intent']}"
    yield f"  checker    {known['checker_engine']}: {known['checker'] or 'tries to show that the work is wrong'}"
    yield f"  action     {known['action']}, gate {known['gate']}"
    if known["never"]:
        yield f"  never      {', '.join(known['never'])}"
    yield f"  budget     {budget}"
    yield f"  file       {known['file']}"
    if not known["trusted"]:
        yield f"  needs      donewhen trust, because of {', '.join(known['widening'])}"
