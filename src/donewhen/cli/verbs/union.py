"""The verb `donewhen union`: gate and combine finished branches or patches, without a model."""

from typing import TYPE_CHECKING

import anyio
import click

from donewhen import events
from donewhen.cli.group import one_line, say
from donewhen.events import Emit, Event
from donewhen.server.methods.call_context import CallContext
from donewhen.server.methods.contracts import union_run

if TYPE_CHECKING:
    from donewhen.server.methods.verdict_results import UnionPart, UnionResult


@click.command("union")
@click.option("--base", default="", help="The commit to combine the parts on; default: HEAD.")
@click.option("--json", "as_json", is_flag=True, help="One JSON event per line on stdout.")
@click.argument("parts", nargs=-1, metavar="REF|PATCH...")
def command(base: str, as_json: bool, parts: tuple[str, ...]) -> int:
    """Combine finished branches or patch files: 0 when all are in, 1 when some are left out.

    Each part is first judged alone on the base: it must apply and parse, declare nothing twice and add no switches or
    secrets, and no check that is green on the base may turn red. The parts that pass are combined and judged together.
    If that is red, the cause is searched, and a maximal set that passes becomes a branch.
    """
    combined = anyio.run(union_run, CallContext(say=say, emit=_audience(as_json)), list(parts), base)
    if not as_json:
        _show(combined)
    return 0 if combined["is_complete"] else 1


def _audience(as_json: bool) -> Emit:
    if as_json:
        from donewhen.cli.views.json_lines import JsonLines

        return JsonLines().emit
    return _progress


def _progress(event: Event) -> None:
    """Print a line for each gated patch and each check of a union; the table follows at the end."""
    if isinstance(event, events.BaselineCompleted):
        green = sum(result.status == "pass" for result in event.results)
        say(f"base: {green} of {len(event.results)} checks are green")
    elif isinstance(event, events.SubtaskGated):
        say(f"gate: {event.id} {event.status}")
    elif isinstance(event, events.CheckCompleted) and event.phase == "union" and not event.cached:
        say(f"union: {event.name} {event.status} ({event.duration_ms / 1000:.1f} s)")


def _show(combined: "UnionResult") -> None:
    width = max(len(part["id"]) for part in combined["parts"])
    for part in combined["parts"]:
        for number, (status, text) in enumerate(_rows(part)):
            click.echo(one_line(f"{part['id'] if number == 0 else '':<{width}}  {status:<12}  {text}".rstrip()))
    for merged in combined["reconciled"]:
        click.echo(one_line(f"merged by syntax: {merged['path']} ({merged['how']})"))
    for name in combined["flaky"]:
        click.echo(one_line(f"flaky: {name} gave different results for the same tree"))
    for check in combined["open_checks"]:
        click.echo(one_line(f"does not decide: {check['name']} ({check['detail']})"))
    if combined["note"]:
        click.echo(one_line(f"note: {combined['note']}"))
    click.echo(one_line(combined["summary"]))


def _rows(part: "UnionPart") -> list[tuple[str, str]]:
    if part["status"] == "in":
        notes = [("", f"({note})") for note in part["notes"]]
        return [("in", part["title"]), *notes]
    return [(part["status"] if number == 0 else "", line) for number, line in enumerate(part["reasons"][:5])]
