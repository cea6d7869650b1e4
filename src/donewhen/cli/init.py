"""`donewhen init`: a contract proposed from what the repository already has, tried once, and written."""

import sys
from dataclasses import replace
from pathlib import Path

import anyio
import click

from donewhen.cli import proposal_lines
from donewhen.cli.audience import audience
from donewhen.cli.group import one_line, say
from donewhen.judge.verdict import Status, Verdict
from donewhen.session import proposal
from donewhen.session.proposal import Plan
from donewhen.session.workplace import Workplace, open_workplace


@click.command("init")
def command() -> int:
    """Propose donewhen.toml from what the repository already has, try it once, and write it.

    Every check is named with the reason for it. A file that is already there keeps all it says and gains only what is
    missing. Exit code 0 when there is a contract, 2 when nothing was found.
    """
    return anyio.run(_init, Path.cwd())


async def _init(start: Path) -> int:
    async with open_workplace(start) as place:
        return await _propose(place)


async def _propose(place: Workplace) -> int:
    plan = proposal.plan(place)
    for note in (*place.repo.notes, *plan.found.hints):
        say(f"note: {note}")
    if not plan.found.checks and not plan.known:
        proposal_lines.show_nothing_found(place.repo.root, plan.found)
        return 2
    if not plan.checks:
        click.echo(one_line(f"{plan.file} already has a check for everything that was found"))
        return 0
    proposal_lines.show(plan)
    return await _try_and_write(place, _with_consent(plan))


def _with_consent(plan: Plan) -> Plan:
    """Doors to the host are opened only by a person who says so."""
    wider = {key: values for key, values in plan.found.wider.items() if plan.may_add(key)}
    if not wider or not (sys.stdin.isatty() and sys.stdout.isatty()):
        return plan
    keys = ", ".join(f"{key} = {list(values)}" for key, values in wider.items())
    if not click.confirm(one_line(f"Let the checks have [workspace] {keys}?"), default=False):
        return plan
    return replace(plan, workspace={**plan.workspace, **wider})


async def _try_and_write(place: Workplace, plan: Plan) -> int:
    with audience() as told:
        verdict = await proposal.try_out(place, plan, told.emit)
    told.show(verdict)
    for result in verdict.results:
        if reason := proposal.unable(result):
            say(f"note: {result.name} is left out, for it cannot start here: {reason}")
    settled = proposal.settled(plan, verdict)
    if not settled.has_tests:
        say("donewhen: no tests can start here, so nothing was written")
        return 2
    proposal.write(settled)
    _tell(settled, verdict)
    return 0


def _tell(plan: Plan, verdict: Verdict) -> None:
    names = [one.check.name for one in plan.checks]
    red = [result.name for result in verdict.results if result.name in names and result.status is not Status.PASS]
    for name in red:
        say(f"note: {name} is not green on the code as it is; it is part of the contract all the same")
    keys = [f"{key} = {list(values)}" for key, values in plan.workspace.items()]
    done = "wrote" if plan.before is None else "added to"
    click.echo(one_line(f"{done} {plan.file}: {', '.join([*names, *keys])}"))
