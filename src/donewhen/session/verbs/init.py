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
from donewhen.session.workplace import open_workplace


@frozen(kw_only=True)
class InitWatcher:
    """Receivers of what `init` finds, and the person who may allow more access to the host."""

    say: Say
    proposed: Callable[[ContractProposal], None]
    judging: Callable[[], AbstractContextManager[VerdictView]]
    """Is entered while the checks run. `show` of its view is called with the verdict afterwards."""
    allows: Callable[[Keys], bool]
    """Returns True if a person lets the checks have these keys of `[workspace]`."""


async def init(watch: InitWatcher) -> ContractProposal:
    """Return what was written to the file of the current directory's repository; no checks if nothing was missing."""
    async with open_workplace(Path.cwd()) as place:
        plan = init_contract.plan(place)
        for note in (*place.repo.notes, *plan.found.hints):
            watch.say(f"note: {note}")
        if not plan.found.checks and not plan.known:
            raise NothingToPropose(place.repo.root, plan.found.offers)
        if not plan.checks:
            return plan
        watch.proposed(plan)
        wider = {key: values for key, values in plan.found.wider.items() if plan.may_add(key)}
        if wider and watch.allows(wider):
            plan = replace(plan, workspace={**plan.workspace, **wider})
        with watch.judging() as view:
            verdict = await init_contract.try_out(place, plan, view.emit)
        view.show(verdict)
        for result in verdict.results:
            if reason := init_contract.unable(result):
                watch.say(f"note: {result.name} is left out because it cannot start here: {reason}")
        plan = init_contract.settled(plan, verdict)
        if not plan.has_tests:
            raise BadInput("no tests can start here; nothing was written")
        init_contract.write(plan)
        names = {one.check.name for one in plan.checks}
        for result in verdict.results:
            if result.name in names and result.status is not CheckStatus.PASS:
                what = "is not green on the current code; it stays in the contract"
                watch.say(f"note: {result.name} {what}")
        return plan
