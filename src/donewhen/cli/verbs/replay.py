"""The verb `donewhen replay`: run a recorded session again without a model."""

import anyio
import click

from donewhen.cli.session_argument import session_argument
from donewhen.cli.views.ending import show_ending
from donewhen.cli.views.session_audience import session_watcher
from donewhen.server.methods.call_context import CallContext
from donewhen.server.methods.session_work import session_replay


@click.command("replay")
@session_argument
@click.option("--json", "as_json", is_flag=True, help="One JSON event per line on stdout.")
def command(session: str, as_json: bool) -> int:
    """Run a session again with its recorded model turns: the same trees, verdicts and events, in a new session.

    Without ID: the newest session of this repository that can be replayed.
    """
    with session_watcher(as_json, may_ask=False) as watch:
        ended = anyio.run(session_replay, CallContext(watch=watch), session)
    show_ending(ended, as_json)
    return ended["exit_code"]
