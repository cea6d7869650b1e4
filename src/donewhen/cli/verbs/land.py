"""The verb `donewhen land`: put the work of a verified session on a branch."""

import anyio
import click

from donewhen.cli.group import one_line, say
from donewhen.server import methods
from donewhen.session.conclude.land import LandingRefused


@click.command("land")
@click.argument("session")
@click.option("--onto", default="", help="The branch; default: donewhen/SESSION.")
def command(session: str, onto: str) -> int:
    """Bring the judged tree of SESSION into a branch. A branch that has moved on is judged again first."""
    landed = anyio.run(methods.session_land, session, onto)
    if isinstance(landed, LandingRefused):
        say(f"donewhen: not landed: {landed.reason}")
        return 1
    click.echo(one_line(f"landed on {landed.branch} as {landed.commit}"))
    if landed.note:
        say(f"note: {landed.note}")
    return 0
