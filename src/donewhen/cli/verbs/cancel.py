"""The verb `donewhen cancel`: stop a session, whichever process runs it."""

import click

from donewhen.cli.group import one_line
from donewhen.server import methods


@click.command("cancel")
@click.argument("session")
def command(session: str) -> int:
    """Stop SESSION: everything that it started is dead within one second. Its trees are kept."""
    done = methods.session_cancel(session)
    click.echo(one_line(f"{done.id}: {done.said}"))
    return 0
