"""`donewhen plan`: split an intent into subtasks, show them, and leave it to a person whether they are worked on."""

from typing import Any

import click

from donewhen.cli.run import start, with_shared_options
from donewhen.errors import BadInput


@click.command("plan")
@click.argument("intent")
@with_shared_options
@click.option("--foreman", is_flag=True, help="Subtasks that several workers do at the same time.")
def command(as_json: bool, foreman: bool, **given: Any) -> int:
    """Plan INTENT, run the checks on the base, and build nothing.

    The session waits for a person (exit 3): `donewhen approve ID` has the plan worked on, `donewhen answer ID TEXT`
    asks for another one, or gives one as JSON, and `donewhen deny ID` ends it.
    """
    if not foreman:
        raise BadInput("plan: without --foreman it is not part of this version; try: donewhen plan INTENT --foreman")
    return start(as_json, {**given, "engine": "foreman", "plan": True})
