"""The verb `donewhen run`: work on an intent until the contract is green or a limit is reached."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from donewhen.errors import BadInput
from donewhen.printable import shortened
from donewhen.session.settings import schema

Decorator = Callable[[Callable[..., int]], Callable[..., int]]

WITHOUT_KEY: tuple[Decorator, ...] = (
    click.option("--repo", type=click.Path(path_type=Path), default=None, help="The repository; default: here."),
    click.option("--base", default="", help="The commit to start from; default: HEAD."),
    click.option("--dirty", is_flag=True, help="Start from HEAD with your uncommitted changes."),
    click.option(
        "--check", "checks", multiple=True, metavar="NAME=COMMAND", help="A check of the contract; repeatable."
    ),
    click.option(
        "--contract", type=click.Path(path_type=Path), default=None, help="A file in the form of donewhen.toml."
    ),
    click.option("--max-iterations", type=int, default=None, help="Rounds (attempt and verdict), over all engines."),
)
"""Options that exist only on the command line. All others set a key, and `schema` describes them."""


def shared_options(without: tuple[str, ...] = ()) -> Decorator:
    """Return a decorator that adds the options of `run`, except for those in `without`."""
    with_key = [_option(flag, key) for flag, key in schema.flags().items() if flag not in without]
    as_json = click.option("--json", "as_json", is_flag=True, help="One JSON event per line on stdout.")

    def decorate(command: Callable[..., int]) -> Callable[..., int]:
        for option in reversed((*WITHOUT_KEY, *with_key, as_json)):
            command = option(command)
        return command

    return decorate


def _option(flag: str, key: schema.Key) -> Decorator:
    def matching_names(ctx: click.Context, parameter: click.Parameter, typed: str) -> list[str]:
        del ctx, parameter
        return [name for name in key.names if name.startswith(typed)]

    if key.python_type is bool:
        return click.option(flag, is_flag=True, default=None, help=key.help)
    is_list = key.python_type is list
    return click.option(
        flag, type=str if is_list else key.python_type, multiple=is_list, help=key.help, shell_complete=matching_names
    )


@click.command("run")
@click.argument("intent")
@shared_options()
@click.option("--yes", is_flag=True, help="Accept the proposed contract, ask nothing.")
@click.option("--ask", is_flag=True, help="Allow questions although there is no terminal.")
def command(as_json: bool, **given: Any) -> int:
    """Work on INTENT until the contract is green or a limit is reached.

    The outcome is the exit code: 0 verified, 1 not done, 3 waits for a person, 4 something broke, 5 a limit,
    6 nothing to do, 130 cancelled.
    """
    return start(as_json, given)


def start(as_json: bool, given: dict[str, Any]) -> int:
    """Start a session with these options, show it until it ends or waits, and return the exit code."""
    # Imported here, because help and completion are used often and do not need these modules.
    from donewhen.cli import through_daemon

    options: Any = {name: value for name, value in given.items() if value is not None}
    options["editable"] = list(given["editable"])
    options["checks"] = checks_by_name(given["checks"])
    options["repo"] = str((given["repo"] or Path.cwd()).absolute())
    options["contract"] = str(given["contract"] or "")
    may_ask = not given.get("yes")
    client = through_daemon.daemon()
    if client is not None:
        begun = through_daemon.begin(client, "session.start", options)
        if begun is not None:
            return through_daemon.show_to_end(through_daemon.SessionAway(client, begun["id"]), as_json, may_ask)
    return _start_alone(options, as_json, may_ask)


def _start_alone(options: Any, as_json: bool, may_ask: bool) -> int:
    from functools import partial

    import anyio

    from donewhen.cli.views.ending import show_ending
    from donewhen.cli.views.session_audience import session_watcher
    from donewhen.server.methods.call_context import CallContext
    from donewhen.server.methods.session_work import session_start

    with session_watcher(as_json, may_ask) as watch:
        ended = anyio.run(partial(session_start, CallContext(watch=watch), **options))
    show_ending(ended, as_json)
    return ended["exit_code"]


def checks_by_name(texts: tuple[str, ...]) -> dict[str, str]:
    """Return the checks of the command line, each of which is NAME=COMMAND."""
    found: dict[str, str] = {}
    for text in texts:
        name, equals, command = text.partition("=")
        if not equals:
            raise BadInput(f"--check {shortened(text)!r}: must be NAME=COMMAND")
        if name.strip() in found:
            raise BadInput("--check: a name is used twice; every check needs a name of its own")
        found[name.strip()] = command
    return found
