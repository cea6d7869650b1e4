"""The verb `donewhen deny`: deny the pending gate and continue the session."""

import click

from donewhen.cli import through_daemon
from donewhen.cli.session_argument import session_argument
from donewhen.cli.verbs.resume import continue_session
from donewhen.server.methods.session_decisions import session_deny
from donewhen.server.methods.sessions import has_left_out


@click.command("deny")
@session_argument
@click.option("--json", "as_json", is_flag=True, help="One JSON event per line on stdout.")
def command(session: str, as_json: bool) -> int:
    """Deny what waits for a decision. The session continues, and its outcome is the exit code.

    With the ID of a verified session that left edits out: they stay left out, and the session stays verified.
    Without ID: the newest session of this repository that waits for a decision.
    """
    if has_left_out(session):
        session_deny(session)
        click.echo("the edits stay left out", err=as_json)
        return 0
    code = through_daemon.decide("session.deny", session, as_json)
    if code is not None:
        return code
    decided = session_deny(session)
    return 0 if decided["live"] else continue_session(decided["id"], as_json)
