"""The verb `donewhen log`: the events of a session from the beginning."""

import json

import click

from donewhen.cli.group import one_line
from donewhen.cli.views.event_lines import lines_of
from donewhen.server import methods


@click.command("log")
@click.argument("session")
@click.option("--json", "as_json", is_flag=True, help="One JSON event per line.")
def command(session: str, as_json: bool) -> int:
    """The events of SESSION, as lines."""
    for record in methods.session_events(session):
        for line in [json.dumps(record.line(), ensure_ascii=True)] if as_json else lines_of(record):
            click.echo(line if as_json else one_line(f"{record.at[11:19]} {line}"))
    return 0
