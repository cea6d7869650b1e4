"""The verb `donewhen approve`: approve the pending gate and continue the session."""

import click

from donewhen.cli.session_argument import session_argument
from donewhen.cli.verbs.resume import continue_session
from donewhen.server import methods


@click.command("approve")
@session_argument
@click.option("--json", "as_json", is_flag=True, help="One JSON event per line on stdout.")
def command(session: str, as_json: bool) -> int:
    """Approve what waits for a decision. The session continues, and its outcome is the exit code.

    Without ID: the newest session of this repository that waits for a decision.
    """
    decided = methods.session_approve(session)
    return 0 if decided["live"] else continue_session(decided["id"], as_json)
