"""The verb `donewhen land`: put the work of a verified session on a branch."""

import anyio
import click

from donewhen.cli.group import one_line, say
from donewhen.cli.session_argument import session_argument
from donewhen.server.methods.session_work import session_land


@click.command("land")
@session_argument
@click.option("--onto", default="", help="The branch; default: donewhen/ID.")
def command(session: str, onto: str) -> int:
    """Bring the judged tree of a session into a branch. If the branch has moved, the result is judged again first.

    Without ID: the newest session of this repository that is verified.
    """
    result = anyio.run(session_land, session, onto)
    landed = result["landed"]
    if landed is None:
        say(f"donewhen: not landed: {result['reason']}")
        return 1
    click.echo(one_line(f"landed on {landed['branch']} as {landed['commit']}"))
    if landed["note"]:
        say(f"note: {landed['note']}")
    return 0
