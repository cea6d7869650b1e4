"""The verb `donewhen replay`: run a recorded session again without a model."""

from functools import partial

import anyio
import click

from donewhen.cli.session_argument import session_argument
from donewhen.cli.views.ending import show_ending
from donewhen.cli.views.session_audience import session_watcher
from donewhen.server import methods


@click.command("replay")
@session_argument
@click.option("--json", "as_json", is_flag=True, help="One JSON event per line on stdout.")
def command(session: str, as_json: bool) -> int:
    """Run a session again with its recorded model turns: the same trees, verdicts and events, in a new session.

    Without ID: the newest session of this repository that can be replayed.
    """
    with session_watcher(as_json, may_ask=False) as watch:
        result = anyio.run(partial(methods.session_replay, session, watch))
    show_ending(result, as_json)
    return result.outcome.exit_code
