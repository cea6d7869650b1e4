"""The verb `donewhen receipt`: the evidence bundle of a verified session."""

import anyio
import click

from donewhen.cli.session_argument import session_argument
from donewhen.server import methods


@click.command("receipt")
@session_argument
def command(session: str) -> int:
    """The receipt of a session on stdout; `donewhen verify` judges it again.

    Without ID: the newest session of this repository that is verified.
    """
    click.echo(anyio.run(methods.receipt_get, session), nl=False)
    return 0
