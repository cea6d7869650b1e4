"""The verb `donewhen discard`: remove the trees and the branch of a session."""

import anyio
import click

from donewhen.cli.group import one_line
from donewhen.server import methods


@click.command("discard")
@click.argument("session")
def command(session: str) -> int:
    """Remove the trees and the branch of SESSION. Its log stays."""
    left = anyio.run(methods.session_discard, session)
    click.echo(one_line(left or "its trees and its branch are removed; its log stays"))
    return 0
