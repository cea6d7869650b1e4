"""The verb `donewhen resume`: continue a session after a crash, a limit or a reboot."""

import anyio
import click

from donewhen.cli.session_argument import session_argument
from donewhen.cli.views.ending import show_ending
from donewhen.cli.views.session_audience import session_watcher
from donewhen.server.methods.call_context import CallContext
from donewhen.server.methods.session_work import session_resume
from donewhen.server.methods.sessions import records_of


@click.command("resume")
@session_argument
@click.option("--json", "as_json", is_flag=True, help="One JSON event per line on stdout.")
def command(session: str, as_json: bool) -> int:
    """Continue a session. Its outcome is the exit code, as with `run`.

    Without ID: the newest session of this repository that can be resumed.
    """
    return continue_session(session, as_json)


def continue_session(session: str, as_json: bool) -> int:
    """Resume a session, show it until it ends or waits, and return the exit code."""
    from donewhen.cli import through_daemon

    client = through_daemon.daemon()
    if client is not None:
        before = [*records_of(session)]
        begun = through_daemon.begin(client, "session.resume", {"id": session})
        if begun is not None:
            return through_daemon.show_to_end(through_daemon.SessionAway(client, begun["id"], before), as_json)
    with session_watcher(as_json, before=records_of(session)) as watch:
        ended = anyio.run(session_resume, CallContext(watch=watch), session)
    show_ending(ended, as_json)
    return ended["exit_code"]
