"""`donewhen log`: what happened in a session, from the beginning."""

import json

import click

from donewhen.cli.event_lines import line_of
from donewhen.cli.group import one_line
from donewhen.server import methods


@click.command("log")
@click.argument("session")
@click.option("--json", "as_json", is_flag=True, help="One JSON event per line.")
def command(session: str, as_json: bool) -> int:
    """The events of SESSION, one line each."""
    for record in methods.session_events(session):
        line = json.dumps(record.line(), ensure_ascii=True) if as_json else line_of(record)
        if line:
            click.echo(line if as_json else one_line(f"{record.at[11:19]} {line}"))
    return 0
