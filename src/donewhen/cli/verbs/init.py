"""The verb `donewhen init`: propose a contract from the content of the repository, run it once, and write it."""

import sys
from dataclasses import replace
from pathlib import Path

import anyio
import click

from donewhen.cli.group import one_line, say
from donewhen.cli.views import contract_lines
from donewhen.cli.views.audience import audience
from donewhen.judge.verdict import CheckStatus, Verdict
from donewhen.session.check import init_contract
from donewhen.session.check.init_contract import ContractProposal
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
    plan = init_contract.plan(place)
    for note in (*place.repo.notes, *plan.found.hints):
        say(f"note: {note}")
    if not plan.found.checks and not plan.known:
        contract_lines.show_nothing_found(place.repo.root, plan.found)
        return 2
    if not plan.checks:
        click.echo(one_line(f"{plan.file} already has a check for everything that was found"))
        return 0
    contract_lines.show(plan)
    return await _try_and_write(place, _with_consent(plan))


def _with_consent(plan: ContractProposal) -> ContractProposal:
    """Ask the person at the terminal before settings give more access to the host."""
    wider = {key: values for key, values in plan.found.wider.items() if plan.may_add(key)}
    if not wider or not (sys.stdin.isatty() and sys.stdout.isatty()):
        return plan
    keys = ", ".join(f"{key} = {list(values)}" for key, values in wider.items())
    if not click.confirm(one_line(f"Let the checks have [workspace] {keys}?"), default=False):
        return plan
    return replace(plan, workspace={**plan.workspace, **wider})


async def _try_and_write(place: Workplace, plan: ContractProposal) -> int:
    with audience() as told:
        verdict = await init_contract.try_out(place, plan, told.emit)
    told.show(verdict)
    for result in verdict.results:
        if reason := init_contract.unable(result):
            say(f"note: {result.name} is left out, for it cannot start here: {reason}")
    settled = init_contract.settled(plan, verdict)
    if not settled.has_tests:
        say("donewhen: no tests can start here, so nothing was written")
        return 2
    init_contract.write(settled)
    _tell(settled, verdict)
    return 0


def _tell(plan: ContractProposal, verdict: Verdict) -> None:
    names = [one.check.name for one in plan.checks]
    red = [result.name for result in verdict.results if result.name in names and result.status is not CheckStatus.PASS]
    for name in red:
        say(f"note: {name} is not green on the code as it is; it is part of the contract all the same")
    keys = [f"{key} = {list(values)}" for key, values in plan.workspace.items()]
    done = "wrote" if plan.before is None else "added to"
    click.echo(one_line(f"{done} {plan.file}: {', '.join([*names, *keys])}"))
