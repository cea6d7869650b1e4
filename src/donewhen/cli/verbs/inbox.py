"""The verb `donewhen inbox`: everything that waits for a person."""

import datetime
import json
import os
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

import click

from donewhen.cli import through_daemon
from donewhen.cli.group import one_line, say
from donewhen.cli.views.loop_tables import limit_words, terminal_width, until, wrapped
from donewhen.server.methods.call_context import CallContext
from donewhen.server.methods.inbox import inbox_list

EMPTY = "nothing waits for you"


@click.command("inbox")
@click.option("--json", "as_json", is_flag=True, help="One JSON object per line.")
def command(as_json: bool) -> int:
    """Everything that waits for a person, over all sessions and loops; what waits longest first."""
    items = through_daemon.call("inbox.list", partial(inbox_list, CallContext(say=say)), repo=os.getcwd())
    if as_json:
        for item in items:
            click.echo(json.dumps(item))
        return 0
    if not items:
        say(EMPTY)
    width = terminal_width()
    for number, item in enumerate(items):
        parts = (part for line in _lines(item) for part in wrapped(line, width))
        commands = (f"    {command}" for command in item["commands"])  # never broken: they are copied
        for line in (*([""] if number else []), *parts, *commands):
            click.echo(one_line(line))
    return 0


def _lines(item: Mapping[str, Any]) -> Iterator[str]:
    name = f"loop {item['loop']}" if item["loop"] else item["kind"]
    where = item["session"] or "-"
    yield f"{where}  {name}: {item['title']}" if item["title"] != item["loop"] else f"{where}  {name}"
    reason = item["reason"].removeprefix(f"loop {item['loop']}: ")
    yield f"  {limit_words(reason)}"
    yield f"  {item['repo']}"
    times = [f"since {item['since'][:16].replace('T', ' ')}"] if item["since"] else []
    expires_at = datetime.datetime.fromisoformat(item["expires_at"]) if item["expires_at"] else None
    if expires_at is not None and expires_at > datetime.datetime.now(datetime.UTC):
        times.append(f"counts as no {until(expires_at)}")
    if times:
        yield f"  {', '.join(times)}"
