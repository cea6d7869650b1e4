"""The verb `donewhen run`: work on an intent until the contract is green or a limit is reached."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import click

Complete = Callable[[click.Context, click.Parameter, str], list[str]]


def one_of(*names: str) -> Complete:
    """Return a completion function for an option with these values."""

    def complete(ctx: click.Context, parameter: click.Parameter, begun: str) -> list[str]:
        del ctx, parameter
        return [name for name in names if name.startswith(begun)]

    return complete


SHARED: tuple[Callable[[Any], Any], ...] = (
    click.option("--repo", type=click.Path(path_type=Path), default=None, help="The repository; default: here."),
    click.option("--base", default="", help="The commit to start from; default: HEAD."),
    click.option("--dirty", is_flag=True, help="Start from HEAD with your uncommitted changes."),
    click.option(
        "--check", "checks", multiple=True, metavar="NAME=COMMAND", help="A check of the contract; repeatable."
    ),
    click.option(
        "--contract", type=click.Path(path_type=Path), default=None, help="A file in the form of donewhen.toml."
    ),
    click.option(
        "--model", default="", help="PROVIDER:NAME (see `donewhen models`), scripted:FILE, replay:ID or auto."
    ),
    click.option("--max-iterations", type=int, default=None, help="Rounds of work and judgement, over all engines."),
    click.option("--max-turns", type=int, default=None, help="Model turns in a round; then the tree is judged."),
    click.option("--max-minutes", type=float, default=None, help="Minutes of work; then what is there is judged."),
    click.option("--max-tokens", type=int, default=None, help="Tokens, read and written, over all models."),
    click.option("--max-usd", type=float, default=None, help="US dollars; where no price is known, the session ends."),
    click.option("--allow-green", is_flag=True, help="Work even though every check is green already."),
    click.option("--editable", multiple=True, metavar="GLOB", help="An exception to what is protected; repeatable."),
    click.option("--json", "as_json", is_flag=True, help="One JSON event per line on stdout."),
)
"""Options that `run` and `plan` share."""


def with_shared_options(command: Callable[..., int]) -> Callable[..., int]:
    for option in reversed(SHARED):
        command = option(command)
    return command


@click.command("run")
@click.argument("intent")
@with_shared_options
@click.option(
    "--engine",
    default="",
    shell_complete=one_of("auto", "native", "external", "foreman", "planned"),
    help="auto, native, external[:AGENT], foreman[:WORKER], planned[:BUILDER].",
)
@click.option(
    "--land",
    default="",
    shell_complete=one_of("branch", "apply", "none"),
    help="branch (donewhen/ID, the default), apply (also the files of a clean checkout) or none.",
)
@click.option("--yes", is_flag=True, help="Take the proposed contract, ask nothing.")
@click.option("--ask", is_flag=True, help="Questions may be asked although there is no terminal.")
def command(as_json: bool, **given: Any) -> int:
    """Work on INTENT until the contract is green or a limit is reached.

    The outcome is the exit code: 0 verified, 1 not done, 3 waits for a person, 4 machinery broke, 5 a limit,
    6 nothing to do, 130 cancelled.
    """
    return start(as_json, given)


def start(as_json: bool, given: Mapping[str, Any]) -> int:
    """Start a session with these options, show it until it ends or waits, and return the exit code."""
    # Imported here, because help and completion are used often and do not need these modules.
    from functools import partial

    import anyio

    from donewhen.cli.views.ending import show_ending
    from donewhen.cli.views.session_audience import watching
    from donewhen.server import methods
    from donewhen.session.outcome import SessionResult
    from donewhen.session.settings.run_options import RunOptions

    options = RunOptions(**given)
    with watching(as_json, may_ask=not options.yes) as watch:
        outcome: SessionResult = anyio.run(partial(methods.method("session.start"), options, watch))
    show_ending(outcome, as_json)
    return outcome.exit_code
