"""The verb `donewhen discard`: remove the trees and the branch of a session."""

import sys

import anyio
import click
from click.core import ParameterSource

from donewhen.cli.group import one_line, say
from donewhen.cli.session_argument import session_argument
from donewhen.server.methods.session_work import session_discard


@click.command("discard")
@session_argument
@click.option("--yes", is_flag=True, help="Discard the newest session without asking.")
@click.pass_context
def command(ctx: click.Context, session: str, yes: bool) -> int:
    """Remove the trees and the branch of a session. Its log stays.

    Without ID: the newest session of this repository that is not discarded. On a terminal you are asked first,
    because its work is lost then.
    """
    is_named = ctx.get_parameter_source("session") is ParameterSource.COMMANDLINE
    asks = not is_named and not yes and sys.stdin.isatty() and sys.stderr.isatty()
    if asks and not click.confirm("Remove its trees and its branch?", default=False, err=True):
        say("nothing was removed")
        return 1
    left = anyio.run(session_discard, session)
    click.echo(one_line(left or "its trees and its branch are removed; its log stays"))
    return 0
