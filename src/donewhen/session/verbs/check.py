"""The verb `check`: judge the working tree against HEAD, without a model, and write a receipt if one is wanted.

A repository without a contract is judged by the one that `init` would propose, if a person accepts it for this run.
"""

import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from donewhen.errors import BadInput, NeedsPerson
from donewhen.events import SessionFinished
from donewhen.judge.contract import Check
from donewhen.judge.verdict import Verdict
from donewhen.records import frozen
from donewhen.session.check import judge_tree
from donewhen.session.check.judge_tree import CheckRequest, VerdictView
from donewhen.session.settings import contract_file
from donewhen.session.settings.contract_file import NothingToPropose
from donewhen.session.workplace import Workplace, open_workplace

if TYPE_CHECKING:
    from donewhen.session.check.init_contract import ContractProposal
    from donewhen.session.log.open_archive import Say


@frozen(kw_only=True)
class CheckWatcher:
    """Receivers of what happens in a check, and the person who may accept a contract."""

    say: "Say"
    judging: Callable[[], AbstractContextManager[VerdictView]]
    """Is entered while the checks run. `show` of its view is called with the verdict afterwards."""
    accepts: "Callable[[ContractProposal], bool]"
    """Shows a proposed contract and returns True if a person accepts it for this run."""


async def check(start: Path, request: CheckRequest, receipt: Path | None, watch: CheckWatcher) -> Verdict:
    """Judge the repository that contains `start`. Write the evidence to the file `receipt` if it is given."""
    if receipt is not None:
        _require_place_for(receipt)
    async with open_workplace(start) as workplace:
        contract = contract_file.contract_in(workplace.settings)
        for line in (*workplace.repo.notes, *contract_file.warnings(workplace.settings, contract)):
            watch.say(f"note: {line}")
        if not contract.checks:
            contract = replace(contract, checks=_accepted_checks(workplace, watch))
        began = time.monotonic()
        with watch.judging() as view:
            view.emit(judge_tree.started_event(workplace, contract, workplace.repo.head))
            verdict = await judge_tree.check(workplace, contract, request, view.emit)
            view.emit(_finished_event(verdict))
        view.show(verdict)
        took = round((time.monotonic() - began) * 1000)
        changed = [workplace.repo.files.full_path(edit.path) for edit in verdict.edits if edit.action == "modified"]
        if str(workplace.settings.file) in changed:
            watch.say("note: the contract is read from the working tree; donewhen.toml is different in HEAD")
        if receipt is not None:
            from donewhen.session.check import receipts  # loaded on use: most checks write none

            costs = receipts.ReceiptCosts(duration_ms=took)
            text = await receipts.receipt_text(workplace, verdict, contract, costs, as_is=request.subject == "as-is")
            receipts.write(receipt, text)
            watch.say(f"receipt: {receipt} ({await receipts.keep(workplace, text)})")
        return verdict


def _require_place_for(receipt: Path) -> None:
    if receipt.is_dir():
        raise BadInput(f"--receipt {receipt}: this is a directory")
    if not receipt.absolute().parent.is_dir():
        raise BadInput(f"--receipt {receipt}: there is no directory {receipt.absolute().parent}")


def _accepted_checks(workplace: Workplace, watch: CheckWatcher) -> tuple[Check, ...]:
    """Return the checks that `init` would propose, if a person accepts them."""
    from donewhen.session.check import init_contract  # loaded on use: most repositories have a contract

    proposal = init_contract.propose_contract(workplace)
    if not proposal.checks:
        raise NothingToPropose(workplace.repo.root, proposal.found.offers)
    if not watch.accepts(proposal):
        raise NeedsPerson(f"{workplace.repo.root}: no contract; run: donewhen init")
    return tuple(one.check for one in proposal.checks)


def _finished_event(verdict: Verdict) -> SessionFinished:
    summary = judge_tree.summary(verdict)
    return SessionFinished(
        outcome=judge_tree.outcome_of(verdict),
        reason=summary,
        iterations=0,
        results=judge_tree.check_results(verdict),
        summary=summary,
        tree=verdict.tree,
    )
