"""The verb `donewhen log`: the events of a session from the beginning."""

import json

import click

from donewhen.cli.group import one_line
from donewhen.cli.session_argument import session_argument
from donewhen.cli.views.event_lines import lines_of
from donewhen.server.methods.sessions import records_of


@click.command("log")
@session_argument
@click.option("--json", "as_json", is_flag=True, help="One JSON event per line.")
def command(session: str, as_json: bool) -> int:
    """The events of a session, as lines. Without ID: the newest session of this repository."""
    for record in records_of(session):
        for line in [json.dumps(record.line(), ensure_ascii=True)] if as_json else lines_of(record):
            click.echo(line if as_json else one_line(f"{record.at[11:19]} {line}"))
    return 0
