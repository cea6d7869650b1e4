"""The verb `donewhen answer`: answer a session's question, or send a change request for its contract or plan."""

import click

from donewhen.cli.verbs.resume import go_on
from donewhen.server import methods


@click.command("answer")
@click.argument("session")
@click.argument("text")
@click.option("--json", "as_json", is_flag=True, help="One JSON event per line on stdout.")
def command(session: str, text: str, as_json: bool) -> int:
    """Answer the pending question of SESSION with TEXT, or ask in TEXT for a change of the contract or plan that waits.

    A session that nobody works on goes on here.
    """
    answered = methods.session_answer(session, text)
    return 0 if answered["live"] else go_on(answered["id"], as_json)
