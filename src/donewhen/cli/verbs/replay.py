"""The verb `donewhen replay`: run a recorded session again without a model."""

from functools import partial

import anyio
import click

from donewhen.cli.views.ending import show_ending
from donewhen.cli.views.session_audience import watching
from donewhen.server import methods


@click.command("replay")
@click.argument("session")
@click.option("--json", "as_json", is_flag=True, help="One JSON event per line on stdout.")
def command(session: str, as_json: bool) -> int:
    """Play SESSION again by its recorded model turns: the same trees, verdicts and events, as a session of its own."""
    with watching(as_json, may_ask=False) as watch:
        result = anyio.run(partial(methods.session_replay, session, watch))
    show_ending(result, as_json)
    return result.outcome.exit_code
