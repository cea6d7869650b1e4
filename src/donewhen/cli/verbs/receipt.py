"""The verb `donewhen receipt`: the evidence bundle of a verified session."""

import anyio
import click

from donewhen.server import methods


@click.command("receipt")
@click.argument("session")
def command(session: str) -> int:
    """The receipt of SESSION on stdout; `donewhen verify` judges it again."""
    click.echo(anyio.run(methods.receipt_get, session), nl=False)
    return 0
