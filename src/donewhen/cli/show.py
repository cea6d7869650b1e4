"""`donewhen show`: everything about one session."""

import json
from collections.abc import Iterator
from typing import Any

import click

from donewhen.cli.endings import price
from donewhen.cli.group import one_line
from donewhen.model.prices import is_free
from donewhen.server import methods


@click.command("show")
@click.argument("session")
@click.option("--config", is_flag=True, help="Every setting, and where it came from.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
def command(session: str, config: bool, as_json: bool) -> int:
    """What SESSION is about, how far it came, what it cost, and what it waits for."""
    if config:
        for entry in methods.session_config(session):
            if as_json:
                click.echo(json.dumps(entry))
            else:
                name, value = f"{entry['table']}.{entry['key']}", json.dumps(entry["value"], ensure_ascii=False)
                click.echo(one_line(f"{name} = {value}  ({entry['source']})"))
        return 0
    known = methods.session_get(session)
    if as_json:
        click.echo(json.dumps(known))
        return 0
    for line in _lines(known):
        click.echo(one_line(line))
    return 0


def state_of(known: dict[str, Any]) -> str:
    """The state in words: work that nobody does any more was interrupted."""
    return known["state"] if known["live"] or known["state"] in ("waiting", "finished") else "interrupted"


def _lines(known: dict[str, Any]) -> Iterator[str]:
    yield f"session   {known['id']}{' (running)' if known['live'] else ''}"
    yield f"intent    {known['intent']}"
    yield f"repo      {known['repo']} at {known['base'][:12]}"
    state = known["outcome"] or state_of(known)
    yield f"state     {state}" + (f": {known['reason']}" if known["reason"] else "")
    yield f"engine    {known['engine']} on {known['model']}, isolation {known['isolation']}"
    cost = price(known["usd"], is_free(str(known["model"])))
    yield f"spent     {known['tokens']} tokens, {cost}, {known['active_secs']:.0f} s"
    for one in known["results"] or known["baseline"]:
        yield f"check     {one['name']}: {one['status']}"
    for one in known["rounds"]:
        failing = ", ".join(f"{name} {status}" for name, status in one["failing"])
        yield f"round {one['n']:<3} {'green' if one['green'] else failing or one['stop'] or 'under way'}"
    for path, action, _ in known["edits"]:
        yield f"edit      {path} ({action}), not graded"
    if known["lost_records"]:
        yield f"damaged   {known['lost_records']} records of its log are lost"
    if known["landed"]:
        yield f"landed    {known['landed']['branch']} {known['landed']['commit'][:12]}"
    if known["question"]:
        yield f"question  {known['question']['prompt']}"
        yield f"          donewhen answer {known['id']} TEXT"
    if known["gate"]:
        yield f"waits     {known['gate']['kind']}: {known['gate']['reason']}"
        yield from (f"          {line}" for line in known["gate"]["detail"].splitlines())
        yield f"          donewhen approve {known['id']}  |  donewhen deny {known['id']}"
