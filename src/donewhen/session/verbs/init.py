"""The verb `init`: propose a contract from the content of the repository, run it once, and write donewhen.toml."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path

from donewhen.errors import BadInput
from donewhen.judge.verdict import CheckStatus
from donewhen.records import frozen
from donewhen.session.check import init_contract
from donewhen.session.check.init_contract import ContractProposal, Keys
from donewhen.session.check.judge_tree import VerdictView
from donewhen.session.log.open_archive import Say
from donewhen.session.settings.contract_file import NothingToPropose
from donewhen.session.workplace import Workplace, open_workplace


async def proposal_for(start: Path) -> ContractProposal:
    """Return what `init` would write for a directory's repository, before it tries it. Nothing is run or written."""
    async with open_workplace(start) as workplace:
        proposal = init_contract.propose_contract(workplace, will_be_tried=True)
        _require_something(workplace, proposal)
        return proposal


def _require_something(workplace: Workplace, proposal: ContractProposal) -> None:
    if not proposal.found.checks and not proposal.known:
        raise NothingToPropose(workplace.repo.root, proposal.found.offers)


@frozen(kw_only=True)
class InitWatcher:
    """Receivers of what `init` finds, and the person who may allow more access to the host."""

    say: Say
    proposed: Callable[[ContractProposal], None]
    judging: Callable[[], AbstractContextManager[VerdictView]]
    """Is entered while the checks run. `show` of its view is called with the verdict afterwards."""
    allows: Callable[[Keys], bool]
    """Returns True if a person lets the checks have these keys of `[workspace]`."""


async def init(start: Path, watch: InitWatcher) -> ContractProposal:
    """Return what was written to the file of a directory's repository; no checks if nothing was missing."""
    async with open_workplace(start) as workplace:
        proposal = init_contract.propose_contract(workplace, will_be_tried=True)
        for note in (*workplace.repo.notes, *proposal.found.hints):
            watch.say(f"note: {note}")
        _require_something(workplace, proposal)
        if not proposal.checks:
            return proposal
        watch.proposed(proposal)
        wider = {key: values for key, values in proposal.found.wider.items() if proposal.may_add(key)}
        if wider and watch.allows(wider):
            proposal = replace(proposal, workspace={**proposal.workspace, **wider})
        with watch.judging() as view:
            proposal, trial = await init_contract.try_out(workplace, proposal, view.emit, watch.say)
        verdict = trial.verdict
        view.show(verdict)
        for name, reason in init_contract.left_out(proposal, verdict).items():
            watch.say(f"note: {name} is left out because {reason}")
        proposal = init_contract.after_trial(proposal, verdict)
        if not proposal.has_tests:
            raise BadInput("no tests can start here; nothing was written")
        proposal = await init_contract.with_product(workplace, proposal, trial, watch.say)
        init_contract.write(proposal)
        written = {one.check.name: one.check for one in proposal.checks}
        for result in verdict.results:
            if result.name in written and result.status is CheckStatus.TIMEOUT:
                limit = f"its time limit in the contract is {written[result.name].timeout_secs:g} s"
                watch.say(f"note: {result.name} did not finish in {init_contract.LONGEST_TRIAL_SECS} s; {limit}")
            elif result.name in written and result.status is not CheckStatus.PASS:
                what = "is not green on the current code; it stays in the contract"
                watch.say(f"note: {result.name} {what}")
        return proposal
