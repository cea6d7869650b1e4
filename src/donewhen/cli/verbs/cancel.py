"""The verb `donewhen cancel`: stop a session, whichever process runs it."""

from functools import partial

import click

from donewhen.cli import through_daemon
from donewhen.cli.group import one_line
from donewhen.cli.session_argument import session_argument
from donewhen.server.methods.session_decisions import session_cancel


@click.command("cancel")
@session_argument
def command(session: str) -> int:
    """Stop a session: everything that it started is dead within one second. Its trees are kept.

    Without ID: the newest session of this repository that is running.
    """
    done = through_daemon.call("session.cancel", partial(session_cancel, session), id=session)
    click.echo(one_line(f"{done['id']}: {done['line']}"))
    return 0
