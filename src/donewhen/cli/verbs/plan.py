"""The verb `donewhen plan`: plan an intent and show the plan; a person decides whether it is built."""

from typing import Any

import click

from donewhen.cli.verbs.run import shared_options, start


@click.command("plan")
@click.argument("intent")
@shared_options(without=("--engine", "--land"))
@click.option("--foreman", is_flag=True, help="Split the work into subtasks for several workers.")
def command(as_json: bool, foreman: bool, **given: Any) -> int:
    """Plan INTENT, run the checks on the base, and build nothing.

    A planner writes a spec, a tracker of items and, if there is none, a contract. With --foreman it splits the work
    into subtasks. The session waits for a person (exit 3): `donewhen approve ID` starts the work, `donewhen answer ID
    TEXT` requests a change, and `donewhen deny ID` ends it.
    """
    return start(as_json, {**given, "engine": "foreman" if foreman else "planned", "plan": True})
