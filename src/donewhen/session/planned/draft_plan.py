"""Plan drafting: from an intent to a plan, and to a contract if none was given.

A draft is validated, run on the base, and repaired. The planner is asked a few times at most, with what is wrong. What
cannot be used in the end is replaced by what is certain: one item, and the checks that the repository has. This is
reported. A contract that a person gave is never changed here. `PlanDrafter` makes a proposal, and `ProposalWriter`
writes it to the log. Whether it is approved is decided in `plan_approval`.
"""

from collections.abc import Awaitable, Callable, Container, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import TypeVar

import anyio

from donewhen.engines.interface import Engine
from donewhen.engines.planned import prompts
from donewhen.engines.planned.notes import PlanningBegun, ProposalKey, RejectedDraft
from donewhen.engines.planned.plan import Plan, PlanItem, one_item, plan_in, uncovered
from donewhen.engines.planned.tracker import Tracker
from donewhen.engines.planner import MOST_TURNS, LimitReached, NoAnswer, ask_until_valid
from donewhen.engines.spec import EngineKind
from donewhen.engines.typed_reply import InvalidReply
from donewhen.events import (
    BaselineCompleted,
    EngineSelected,
    Event,
    PlanningCompleted,
    PlanningStarted,
)
from donewhen.judge.contract import Check, Contract
from donewhen.judge.verdict import Verdict
from donewhen.records import frozen
from donewhen.session.check import command_policy
from donewhen.session.check.init_contract import FoundChecks, start_problem
from donewhen.session.check.judge_tree import check_results
from donewhen.session.log import plan_files
from donewhen.session.log.notes import ProposalNote
from donewhen.session.log.state import SessionState
from donewhen.session.log.writer import LogWriter, StepNotebook
from donewhen.session.loop.round import LadderStep, job_to_plan
from donewhen.session.loop.round_context import RoundContext
from donewhen.session.loop.stop_rules import Stop
from donewhen.session.person.edited_contract import proposal_event
from donewhen.session.planned.ask import WatchdogExpired, answer_in_time
from donewhen.session.planned.drafted_checks import DraftedContract, read_drafts


@frozen
class ProposalWriter:
    context: RoundContext
    wants_plan: bool
    """True if a plan is wanted, and not only a contract."""

    def propose(self, plan: Plan, contract: Contract | None, verdict: Verdict | None) -> None:
        counts = contract or self.context.start_record.contract
        commands = [check.command for check in counts.checks if not check.held_out]
        in_force = tuple(entry for entry in plan.checks if str(entry["command"]).strip() in commands)
        missing = uncovered(plan.changed(checks=in_force), commands)
        proposal = ProposalNote(
            plan=plan.plain() if self.wants_plan else None,
            contract=asdict(contract) if contract is not None else None,
            drafted=contract is None or bool(_drafted_names(plan)),
            why=tuple(_why(plan, contract)),
            not_verified=tuple(missing),
            revised=True if self.context.log.state.change_request else None,
            reason="",
        )
        items = tuple(item.plain() for item in plan.items) if self.wants_plan else ()
        events: list[Event] = [
            PlanningCompleted(subtasks=(), levels=(), prefer_single_session=True, items=items, filled=plan.filled)
        ]
        if contract is not None and verdict is not None:
            baseline = self.context.memory.baseline_note(verdict)
            self.context.log.write(note=baseline.note() if baseline is not None else None)
            events += [proposal_event(proposal), BaselineCompleted(results=check_results(verdict))]
        self._write(proposal, events)

    def keep(self, reason: str, plan: Plan | None = None) -> None:
        """Keep the previous contract with its baseline, and record why it is unchanged. The plan may be new.

        A contract that a person gave is theirs, and is not proposed to them.
        """
        is_ours = self.context.start_record.drafts_contract or not self.wants_plan
        state = self.context.log.state
        before = state.proposals[-1] if state.proposals else None
        proposal = ProposalNote(
            plan=plan.plain() if plan is not None and self.wants_plan else None,
            contract=state.start_note["contract"] if is_ours else None,
            drafted=before.drafted if before is not None else True,
            why=before.why if before is not None else (),
            not_verified=before.not_verified if before is not None else (),
            revised=False,
            reason=reason,
        )
        baseline = [BaselineCompleted(results=state.baseline_results)] if state.baseline_results else []
        self._write(proposal, [proposal_event(proposal), *baseline] if is_ours else [])

    def _write(self, proposal: ProposalNote, events: Sequence[Event]) -> None:
        log = self.context.log
        log.write(*events, note=proposal.note(), sync=True)
        plan_files.write(log.session, log.state)
        log.move("proposed")


def _why(plan: Plan, contract: Contract | None) -> list[str]:
    drafts = _drafted_names(plan)
    checks = contract.checks if contract is not None else ()
    return [f"{check.name}: {'planned' if check.name in drafts else 'the repository has it'}" for check in checks]


def _drafted_names(plan: Plan) -> set[str]:
    return {str(entry.get("name", "")).strip() for entry in plan.checks}


NOTEBOOK = plan_files.NOTEBOOK
OfProposal = TypeVar("OfProposal", PlanningBegun, RejectedDraft)
ATTEMPTS = 3
NO_CONTRACT = "(none yet: you draft it)"


class UnusablePlan(InvalidReply):
    """A plan that could be read but cannot be used, or asks only for what is green already."""

    def __init__(self, issues: Sequence[str], plan: Plan, green: bool = False) -> None:
        super().__init__(issues)
        self.plan = plan
        self.green = green


@dataclass
class PlanDrafter:
    context: RoundContext
    planner: Engine | None
    judge: Callable[[Contract], Awaitable[Verdict]]
    """Runs a contract on the base."""
    wants_plan: bool
    """True if a plan is wanted, and not only a contract."""

    async def propose(self) -> Stop | None:
        """Write a new proposal to the log. Return None, or why there is none."""
        self.log.move("running")
        if self.planner is None:
            self._proposals.keep("there is no model to change it")
            return None
        if not self._notes(PlanningBegun):
            is_first = self.wants_plan and not self.log.state.proposals
            selected = [EngineSelected(engine=NOTEBOOK, reason="you asked for it")] if is_first else []
            begun = PlanningBegun(_proposal_key(self.log.state))
            self._notebook.write(begun.as_note(), *selected, PlanningStarted())
        with anyio.move_on_after(self.context.budget.seconds_left()):
            try:
                return await self._ask_planner(self.planner)
            except WatchdogExpired as silent:
                return Stop("no_progress", str(silent))
            except LimitReached:
                pass
        return Stop("budget", self.context.budget.reached_limit())

    async def _ask_planner(self, planner: Engine) -> Stop | None:
        try:
            if await ask_until_valid(self._attempts_left, lambda: self._reply(planner), self._accept, self._reject):
                return None
        except WatchdogExpired:
            raise
        except NoAnswer as none:
            self._reject(InvalidReply([f"the planner gave no plan: {none}"]))
        return await self._propose_without_planner()

    def _attempts_left(self) -> int:
        return ATTEMPTS - sum(not draft.green for draft in self._notes(RejectedDraft))

    async def _reply(self, planner: Engine) -> str:
        step = LadderStep(kind=EngineKind.PLANNED, engine=planner, reason="")
        drafts, job = self._notes(RejectedDraft), job_to_plan(self.context, step)
        state, contract = self.log.state, self.context.start_record.contract
        asked = len(RejectedDraft.all_in(self._notebook.notes())) + len(state.proposals)
        given = "" if self._drafts_contract else f"\n{prompts.CONTRACT_IS_GIVEN}"
        feedback = prompts.plan_issues(drafts[-1].issues) if drafts else _change_feedback(state, contract)
        job = replace(
            job,
            intent=prompts.planner_task(job.intent, self._found.commands),
            contract=job.contract or NO_CONTRACT,
            rules=prompts.PLANNER + given,
            role="planner",
            iteration=asked + 1,
            feedback=feedback,
            hint="",
            notebook=StepNotebook(self.log, f"{NOTEBOOK}/planner"),
            private_dir=job.private_dir / "planner",
            asker=None,
            max_turns=MOST_TURNS,
        )
        return await answer_in_time(self.context, planner, job)

    # -- one answer --

    async def _accept(self, reply: str) -> bool:
        """Make the answer the proposal, and return True. Raise `InvalidReply` if it cannot be used."""
        plan = await _plan_in(reply, self.context.start_record.intent, self._found)
        found = read_drafts(plan.checks) if self._drafts_contract else DraftedContract((), (), ())
        if issues := [*found.issues, *(await self._refused_commands(plan)).values()]:
            raise UnusablePlan(issues, plan)
        if not self._drafts_contract:
            self._proposals.propose(plan, None, None)
            return True
        plan, checks = _with_checks(plan, found, self._found)
        if not checks:
            raise UnusablePlan(["checks is empty, and no checks were found in the repository"], plan)
        if self.log.state.change_request and checks == self.context.start_record.contract.checks:
            self._proposals.keep("the planner changed no checks", plan)
            return True
        contract = replace(self.context.start_record.contract, checks=checks)
        self._proposals.propose(plan, contract, await self._try_on_base(plan, contract))
        return True

    async def _refused_commands(self, plan: Plan) -> dict[str, str]:
        """Return the commands that a model wants the runtime to run but the policy refuses, with the reasons."""
        theirs = {*self._found.commands, *(check.command for check in self.context.start_record.contract.checks)}
        drafts = [check.command for check in read_drafts(plan.checks).checks] if self._drafts_contract else []
        wanted = [*drafts, *(command for item in plan.items for command in item.verify)]
        return await command_policy.refused_commands(
            self.context.workplace, [command for command in wanted if command not in theirs]
        )

    async def _try_on_base(self, plan: Plan, contract: Contract) -> Verdict:
        """Run a contract on the base. It can be used if all of it starts here, and something of it is red."""
        verdict = await self.judge(contract)
        stuck = [prompts.cannot_start(one.name, why) for one in verdict.results if (why := start_problem(one))]
        if stuck:
            raise UnusablePlan(stuck, plan)
        may_be_green = self.context.start_record.settings.flag("contract", "allow_green")
        if verdict.green and not may_be_green and not any(draft.green for draft in self._notes(RejectedDraft)):
            raise UnusablePlan([prompts.all_green([one.name for one in verdict.results])], plan, green=True)
        return verdict

    async def _propose_without_planner(self) -> Stop | None:
        """Propose without the planner, after its last unusable answer."""
        drafts = self._notes(RejectedDraft)
        reason = "; ".join(drafts[-1].issues)
        if self.log.state.change_request:
            self._proposals.keep(reason)
            return None
        await self._found.try_out()
        readable = next((draft.plan for draft in reversed(drafts) if draft.plan is not None), None)
        plan = readable or one_item(self.context.start_record.intent, self._found.commands)
        plan = plan.changed(filled=(*plan.filled, f"the planner gave no better one: {reason}"))
        refused = set(await self._refused_commands(plan))
        plan = plan.changed(items=tuple(_without(item, refused) for item in plan.items))
        if not self._drafts_contract:
            self._proposals.propose(plan, None, None)
            return None
        plan, contract, verdict = await self._usable_part(plan, refused)
        if not contract.checks:
            why = f"no contract: {reason}; define one with --check NAME=COMMAND, or run: donewhen init"
            return Stop("model_failed", why)
        self._proposals.propose(plan, contract, verdict)
        return None

    async def _usable_part(self, plan: Plan, out: set[str]) -> tuple[Plan, Contract, Verdict | None]:
        """Return what is left of a plan, its contract and the verdict.

        These commands, and checks that cannot start here, are left out.
        """
        while True:
            kept, checks = _with_checks(plan, read_drafts(plan.checks).without(out), self._found)
            contract = replace(
                self.context.start_record.contract, checks=tuple(check for check in checks if check.command not in out)
            )
            verdict = await self.judge(contract) if contract.checks else None
            stuck = {one.name for one in (verdict.results if verdict else ()) if start_problem(one)}
            if not stuck:
                return kept, contract, verdict
            out = out | {check.command for check in contract.checks if check.name in stuck}

    # -- notes --

    def _reject(self, invalid: InvalidReply) -> None:
        plan, green = (invalid.plan, invalid.green) if isinstance(invalid, UnusablePlan) else (None, False)
        self._notebook.write(RejectedDraft(_proposal_key(self.log.state), invalid.issues, green, plan).as_note())

    def _notes(self, kind: type[OfProposal]) -> list[OfProposal]:
        """Return the notes of this kind for the current proposal."""
        return [one for one in kind.all_in(self._notebook.notes()) if one.proposal == _proposal_key(self.log.state)]

    # -- context --

    @property
    def _proposals(self) -> ProposalWriter:
        return ProposalWriter(self.context, self.wants_plan)

    @property
    def log(self) -> LogWriter:
        return self.context.log

    @property
    def _notebook(self) -> StepNotebook:
        return StepNotebook(self.log, NOTEBOOK)

    @property
    def _drafts_contract(self) -> bool:
        """True if the contract is drafted here: none was given, or a person wants a proposed one changed."""
        return self.context.start_record.drafts_contract or not self.wants_plan

    @cached_property
    def _found(self) -> FoundChecks:
        return FoundChecks(self.context.workplace, self.context.start_record.contract, self.judge)


def _proposal_key(state: SessionState) -> ProposalKey:
    """Return the key of the current proposal. A session that is resumed after its end has all attempts again."""
    return len(state.proposals), state.earlier_use.rounds, state.earlier_use.tokens


def _change_feedback(state: SessionState, contract: Contract) -> str:
    if not state.change_request:
        return ""
    plan = plan_files.plan_in(state)
    spec = f"{plan.spec.strip()}\n\n{Tracker.of(plan).rendered()}\n\n" if plan is not None else ""
    return prompts.change_request(
        state.change_request, spec + "\n".join(plan_files.contract_lines(contract, state, plan, for_model=True))
    )


async def _plan_in(reply: str, intent: str, found: FoundChecks) -> Plan:
    """Return the plan in an answer. Commands that are filled in where the answer left a blank can start here."""
    plan = plan_in(reply, intent, found.commands)
    if plan.checks and not any(item.is_detected for item in plan.items):
        return plan
    await found.try_out()
    return plan_in(reply, intent, found.commands)


def _with_checks(plan: Plan, drafts: DraftedContract, found: FoundChecks) -> tuple[Plan, tuple[Check, ...]]:
    """Return the plan with the usable ones of its checks; if there are none, with the checks of the repository."""
    plan = plan.changed(checks=drafts.entries)
    if drafts.checks:
        return plan, drafts.checks
    substitution = "the planner drafted no checks; using those found in the repository"
    return plan.changed(filled=(*plan.filled, substitution)), found.checks


def _without(item: PlanItem, commands: Container[str]) -> PlanItem:
    return item.changed(verify=tuple(command for command in item.verify if command not in commands))
