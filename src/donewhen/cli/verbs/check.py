"""The verb `donewhen check`: judge the working tree against HEAD, without a model."""

import sys
import time
from dataclasses import replace
from pathlib import Path

import anyio
import click

from donewhen import events
from donewhen.cli.group import say
from donewhen.cli.views.audience import audience
from donewhen.errors import BadInput, NeedsPerson
from donewhen.judge.contract import Check, Contract
from donewhen.judge.verdict import Verdict
from donewhen.session.check import judge_tree
from donewhen.session.check.judge_tree import CheckRequest, Subject
from donewhen.session.settings import contract_file
from donewhen.session.workplace import Workplace, open_workplace


@click.command("check")
@click.option("--head", is_flag=True, help="Judge HEAD alone, without the working tree's changes.")
@click.option("--as-is", is_flag=True, help="Judge the files as you left them, without protection.")
@click.option("--fresh", is_flag=True, help="Take no result from the verdict cache.")
@click.option("--receipt", type=click.Path(path_type=Path), default=None, help="Write the evidence to this file.")
@click.option("--json", "as_json", is_flag=True, help="One JSON event per line on stdout.")
def command(head: bool, as_is: bool, fresh: bool, receipt: Path | None, as_json: bool) -> int:
    """Judge the working tree against HEAD: 0 when every check passes, 1 when not.

    Protected paths (tests, what configures them, what the checks run) are graded as HEAD has them; edits to them are
    listed as not graded.
    """
    if head and as_is:
        raise BadInput("--head and --as-is exclude each other: one leaves the working tree out, the other takes all")
    if receipt is not None and receipt.is_dir():
        raise BadInput(f"--receipt {receipt}: this is a directory")
    if receipt is not None and not receipt.absolute().parent.is_dir():
        raise BadInput(f"--receipt {receipt}: there is no directory {receipt.absolute().parent}")
    subject: Subject = "head" if head else "as-is" if as_is else "working"
    return anyio.run(_check, CheckRequest(subject=subject, fresh=fresh), receipt, as_json)


async def _check(request: CheckRequest, receipt: Path | None, as_json: bool) -> int:
    async with open_workplace(Path.cwd()) as place:
        contract = contract_file.contract_in(place.settings)
        for line in (*place.repo.notes, *contract_file.warnings(place.settings, contract)):
            say(f"note: {line}")
        if not contract.checks:
            proposed = _proposed(place)
            if proposed is None:
                return 2
            contract = replace(contract, checks=proposed)
        verdict, took = await _judge(place, contract, request, as_json)
        changed = [place.repo.files.place(edit.path) for edit in verdict.edits if edit.action == "modified"]
        if str(place.settings.file) in changed:
            say("note: the contract is the working tree's; HEAD has another donewhen.toml")
        if receipt is not None:
            from donewhen.session.check import receipts

            costs = receipts.ReceiptCosts(duration_ms=took)
            text = await receipts.made(place, verdict, contract, costs, as_is=request.subject == "as-is")
            receipts.write(receipt, text)
            say(f"receipt: {receipt} ({await receipts.keep(place, text)})")
        return 0 if verdict.green else 1


async def _judge(place: Workplace, contract: Contract, request: CheckRequest, as_json: bool) -> tuple[Verdict, int]:
    """Judge and show the verdict. Return it and the time in milliseconds."""
    began = time.monotonic()
    with audience(as_json) as told:
        told.emit(judge_tree.started(place, contract, place.repo.head))
        verdict = await judge_tree.check(place, contract, request, told.emit)
        told.emit(_finished(verdict))
    told.show(verdict)
    return verdict, round((time.monotonic() - began) * 1000)


def _proposed(place: Workplace) -> tuple[Check, ...] | None:
    """Return the checks that `init` would propose, if a person accepts them for this run; None if none are found."""
    from donewhen.cli.views import contract_lines
    from donewhen.session.check import init_contract

    plan = init_contract.plan(place)
    if not plan.checks:
        contract_lines.show_nothing_found(place.repo.root, plan.found)
        return None
    say("there is no contract yet; `donewhen init` would write this one:")
    contract_lines.show(plan, err=True)
    if not sys.stdin.isatty() or not click.confirm("Judge by it now?", default=False, err=True):
        raise NeedsPerson(f"{place.repo.root}: no contract; run: donewhen init")
    return tuple(one.check for one in plan.checks)


def _finished(verdict: Verdict) -> events.SessionFinished:
    outcome = judge_tree.outcome_of(verdict)
    results = judge_tree.check_results(verdict)
    summary = judge_tree.summary(verdict)
    return events.SessionFinished(
        outcome=outcome, reason=summary, iterations=0, results=results, summary=summary, tree=verdict.tree
    )
