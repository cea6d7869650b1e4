"""`donewhen diff`: what a session made, as a patch."""

import sys

import anyio
import click

from donewhen.session import afterwards


@click.command("diff")
@click.argument("session")
def command(session: str) -> int:
    """The work of SESSION against its base, as a patch that git can apply."""
    sys.stdout.buffer.write(anyio.run(afterwards.diff, session))
    return 0
