"""The verb `donewhen resume`: continue a session after a crash, a limit or a reboot."""

from functools import partial

import anyio
import click

from donewhen.cli.session_argument import session_argument
from donewhen.cli.views.ending import show_ending
from donewhen.cli.views.session_audience import session_watcher
from donewhen.server import methods


@click.command("resume")
@session_argument
@click.option("--json", "as_json", is_flag=True, help="One JSON event per line on stdout.")
def command(session: str, as_json: bool) -> int:
    """Continue a session. Its outcome is the exit code, as with `run`.

    Without ID: the newest session of this repository that can be resumed.
    """
    return continue_session(session, as_json)


def continue_session(session: str, as_json: bool) -> int:
    with session_watcher(as_json, before=methods.session_events(session)) as watch:
        result = anyio.run(partial(methods.session_resume, session, watch))
    show_ending(result, as_json)
    return result.outcome.exit_code
