"""The verb `donewhen approve`: approve the pending gate and continue the session, or approve left-out edits."""

from functools import partial

import anyio
import click

from donewhen.cli.group import one_line, say
from donewhen.cli.session_argument import session_argument
from donewhen.cli.verbs.resume import continue_session
from donewhen.cli.views.session_audience import session_watcher
from donewhen.server import methods


@click.command("approve")
@session_argument
@click.option("--json", "as_json", is_flag=True, help="One JSON event per line on stdout.")
def command(session: str, as_json: bool) -> int:
    """Approve what waits for a decision. The session continues, and its outcome is the exit code.

    With the ID of a verified session that left edits out: judge the work with them. If it is green, it lands as a
    second commit, and the exit code is 0; if not, it is 1, and the first commit stays.
    Without ID: the newest session of this repository that waits for a decision.
    """
    if methods.session_has_left_out(session):
        return _amend(session, as_json)
    decided = methods.session_approve(session)
    return 0 if decided["live"] else continue_session(decided["id"], as_json)


def _amend(session: str, as_json: bool) -> int:
    with session_watcher(as_json, may_ask=False, before=methods.session_events(session)) as watch:
        amended = anyio.run(partial(methods.session_amend, session, watch))
    if amended.problem:
        say(f"donewhen: {amended.problem}")
        return 1
    if amended.landed is None:
        line = f"approved and green; this session lands nothing by itself: donewhen land {amended.session}"
    else:
        line = f"approved and green; landed on {amended.landed.branch} as {amended.landed.commit}"
    click.echo(one_line(line), err=as_json)
    if amended.landed is not None and amended.landed.note:
        say(f"note: {amended.landed.note}")
    return 0
