"""The verb `donewhen receipt`: the evidence bundle of a verified session."""

import anyio
import click

from donewhen.cli.group import say
from donewhen.cli.session_argument import session_argument
from donewhen.server.methods.contracts import receipt_get
from donewhen.server.methods.sessions import session_get


@click.command("receipt")
@session_argument
@click.option("--amended", is_flag=True, help="The receipt of the second commit: left-out edits that were approved.")
def command(session: str, amended: bool) -> int:
    """The receipt of a session on stdout; `donewhen verify` judges it again.

    Left-out edits that were approved afterwards have a receipt of their own; a line on stderr says so.
    Without ID: the newest session of this repository that is verified.
    """
    click.echo(anyio.run(receipt_get, session, amended), nl=False)
    optional = session_get(session)["optional"]
    if not amended and optional and optional["receipt"]:
        say(f"note: its second commit has a receipt of its own: donewhen receipt {session} --amended")
    return 0
