"""`donewhen run`: work on an intent until the contract is green or a limit is reached."""

from functools import partial
from pathlib import Path
from typing import Any

import anyio
import click

from donewhen.cli.endings import show_ending
from donewhen.cli.session_audience import watching
from donewhen.server import methods
from donewhen.session.options import Options
from donewhen.session.outcome import Outcome


@click.command("run")
@click.argument("intent")
@click.option("--repo", type=click.Path(path_type=Path), default=None, help="The repository; default: here.")
@click.option("--base", default="", help="The commit to start from; default: HEAD.")
@click.option("--dirty", is_flag=True, help="Start from HEAD with your uncommitted changes.")
@click.option("--check", "checks", multiple=True, metavar="NAME=COMMAND", help="A check of the contract; repeatable.")
@click.option("--contract", type=click.Path(path_type=Path), default=None, help="A file in the form of donewhen.toml.")
@click.option("--engine", default="", help="auto, native, external[:AGENT], foreman[:WORKER], planned[:BUILDER].")
@click.option("--model", default="", help="PROVIDER:NAME or auto.")
@click.option("--max-iterations", type=int, default=None, help="Rounds of work and judgement, over all engines.")
@click.option("--max-turns", type=int, default=None, help="Model turns in a round; then the tree is judged.")
@click.option("--max-minutes", type=float, default=None)
@click.option("--max-tokens", type=int, default=None)
@click.option("--max-usd", type=float, default=None)
@click.option("--allow-green", is_flag=True, help="Work even though every check is green already.")
@click.option("--editable", multiple=True, metavar="GLOB", help="An exception to what is protected; repeatable.")
@click.option("--yes", is_flag=True, help="Take the proposed contract, ask nothing.")
@click.option("--ask", is_flag=True, help="Questions may be asked although there is no terminal.")
@click.option("--land", default="", help="branch (default), apply or none.")
@click.option("--json", "as_json", is_flag=True, help="One JSON event per line on stdout.")
def command(as_json: bool, **given: Any) -> int:
    """Work on INTENT until the contract is green or a limit is reached.

    The outcome is the exit code: 0 verified, 1 not done, 3 waits for a person, 4 machinery broke, 5 a limit,
    6 nothing to do, 130 cancelled.
    """
    options = Options(**given)
    with watching(as_json, may_ask=not options.yes) as watch:
        outcome: Outcome = anyio.run(partial(methods.method("session.start"), options, watch))
    show_ending(outcome, as_json)
    return outcome.exit_code
