"""`donewhen watch`: follow a session that runs elsewhere, from its beginning to its end."""

import json
import sys

import anyio
import click

from donewhen.cli.event_lines import line_of
from donewhen.cli.group import one_line
from donewhen.session.archives import any_archive
from donewhen.storage.record import Record


@click.command("watch")
@click.argument("session")
@click.option("--json", "as_json", is_flag=True, help="One JSON event per line.")
def command(session: str, as_json: bool) -> int:
    """Follow SESSION until it ends, or is left to wait for a person."""
    return anyio.run(_follow, session, as_json)


async def _follow(session: str, as_json: bool) -> int:
    with any_archive() as archive:
        id = archive.find(session)
        known = max((record.seq or 0 for record in archive.events(id)), default=0)
        async for record in archive.follow(id):
            line = json.dumps(record.line()) if as_json else one_line(line_of(record))
            if line:
                sys.stdout.write(line + "\n")
                sys.stdout.flush()
            if _is_last(record) and (record.seq or 0) >= known:
                break
    return 0


def _is_last(record: Record) -> bool:
    waits = record.kind == "state_changed" and record.body["to"] == "waiting"
    return waits or record.kind == "session_finished"
