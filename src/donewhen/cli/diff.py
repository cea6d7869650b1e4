"""`donewhen diff`: what a session made, as a patch."""

import sys

import anyio
import click

from donewhen.server import methods


@click.command("diff")
@click.argument("session")
def command(session: str) -> int:
    """The work of SESSION against its base, as a patch that git can apply."""
    sys.stdout.buffer.write(anyio.run(methods.method("session.diff"), session))
    return 0
