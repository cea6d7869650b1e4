"""The verb `donewhen approve`: approve the pending gate and continue the session."""

import click

from donewhen.cli.verbs.resume import go_on
from donewhen.server import methods


@click.command("approve")
@click.argument("session")
@click.option("--json", "as_json", is_flag=True, help="One JSON event per line on stdout.")
def command(session: str, as_json: bool) -> int:
    """Decide the gate of SESSION that waits; the session goes on, and its outcome is the exit code."""
    decided = methods.session_approve(session)
    return 0 if decided["live"] else go_on(decided["id"], as_json)
