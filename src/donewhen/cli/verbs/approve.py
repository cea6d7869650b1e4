"""The verb `donewhen approve`: approve the pending gate and continue the session, or approve left-out edits."""

from typing import TYPE_CHECKING

import anyio
import click

from donewhen.cli import through_daemon
from donewhen.cli.group import one_line, say
from donewhen.cli.session_argument import session_argument
from donewhen.cli.verbs.resume import continue_session
from donewhen.cli.views.session_audience import session_watcher
from donewhen.server.methods.call_context import SILENT, CallContext
from donewhen.server.methods.session_decisions import session_approve
from donewhen.server.methods.sessions import has_left_out, records_of

if TYPE_CHECKING:
    from donewhen.server.methods.results import DecisionResult


@click.command("approve")
@session_argument
@click.option("--json", "as_json", is_flag=True, help="One JSON event per line on stdout.")
def command(session: str, as_json: bool) -> int:
    """Approve what waits for a decision. The session continues, and its outcome is the exit code.

    With the ID of a verified session that left edits out: judge the work with them. If it is green, it lands as a
    second commit, and the exit code is 0; if not, it is 1, and the first commit stays.
    Without ID: the newest session of this repository that waits for a decision.
    """
    if has_left_out(session):
        with session_watcher(as_json, may_ask=False, before=records_of(session)) as watch:
            decided = anyio.run(session_approve, CallContext(watch=watch), session)
        return _show(decided, as_json)
    code = through_daemon.decide("session.approve", session, as_json)
    if code is not None:
        return code
    decided = anyio.run(session_approve, SILENT, session)
    return 0 if decided["live"] else continue_session(decided["id"], as_json)


def _show(decided: "DecisionResult", as_json: bool) -> int:
    """Show what became of left-out edits, and return the exit code."""
    landed = decided["landed"]
    if decided["problem"]:
        say(f"donewhen: {decided['problem']}")
        return 1
    if landed is None:
        line = f"approved and green; this session lands nothing by itself: donewhen land {decided['id']}"
    else:
        line = f"approved and green; landed on {landed['branch']} as {landed['commit']}"
    click.echo(one_line(line), err=as_json)
    if landed is not None and landed["note"]:
        say(f"note: {landed['note']}")
    return 0
