"""The verb `donewhen list`: all sessions, newest first."""

import json
from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from donewhen.cli import through_daemon
from donewhen.cli.group import one_line, say

if TYPE_CHECKING:
    from donewhen.server.methods.results import SessionEntry


@click.command("list")
@click.option("--json", "as_json", is_flag=True, help="One JSON object per session and line.")
@click.option(
    "--limit", type=click.IntRange(min=0), default=50, show_default=True, help="Show at most this many; 0 shows all."
)
def command(as_json: bool, limit: int) -> int:
    """The sessions of this user, the newest first."""
    for row in through_daemon.call("session.list", partial(_list_alone, limit), limit=limit):
        if as_json:
            click.echo(json.dumps(row))
            continue
        state = row["outcome"] or state_of(row)
        optional = f"  (left-out edits: donewhen show {row['id']})" if row["optional"] else ""
        at = row["created_at"][:16].replace("T", " ")
        click.echo(one_line(f"{row['id']}  {at}  {state:<17}  {row['title']}{optional}"))
    return 0


def _list_alone(limit: int) -> "list[SessionEntry]":
    from donewhen.server.methods.call_context import CallContext
    from donewhen.server.methods.sessions import session_list

    return session_list(CallContext(say=say), limit=limit)


def state_of(session: Mapping[str, Any]) -> str:
    """Return the state as a word: unfinished work without a running process is `interrupted`."""
    return session["state"] if session["live"] or session["state"] in ("waiting", "finished") else "interrupted"
