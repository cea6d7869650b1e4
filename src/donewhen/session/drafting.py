"""From an intent to a plan, and to a contract where nobody gave one: drafted, validated, run on the base, repaired.

The planner is asked a few times at most and told what is wrong. What cannot be used in the end is replaced by what is
surely there, one item and the checks that the repository has, and that is said. A contract that a person gave is never
changed here. Whether a proposal is taken is decided in `taking`.
"""

from collections.abc import Awaitable, Callable, Container, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import anyio

from donewhen.engines.base import Engine, Note
from donewhen.engines.planned import words
from donewhen.engines.planned.asking import MOST_TURNS, Interrupted, NoAnswer
from donewhen.engines.planned.plan import Item, Malformed, Plan, one_item, plan_in, plan_of
from donewhen.engines.planned.tracker import Tracker
from donewhen.events import (
    EngineSelected,
    PlanningStarted,
)
from donewhen.judge.contract import Check, Contract
from donewhen.judge.verdict import Verdict
from donewhen.session import artifacts, permitted
from donewhen.session.attempting import Rung, Workbench
from donewhen.session.drafted_checks import Drafted, drafted
from donewhen.session.found_checks import FoundChecks
from donewhen.session.listening import Silent, answer_in_time
from donewhen.session.proposal import unable
from donewhen.session.proposing import Proposing
from donewhen.session.recorder import Recorder, RungNotebook
from donewhen.session.stopping import Stop
from donewhen.session.story import Plain, Story

RUNG, BEGUN, DRAFT = artifacts.RUNG, "plans", "draft"
"""The note of a proposal that is begun, which is told once; that of a draft that was not taken: what is wrong with it,
or that it asks for nothing."""
ATTEMPTS = 3
NO_CONTRACT = "(none yet: you draft it)"


@dataclass
class Drafting:
    bench: Workbench
    planner: Engine | None
    judge: Callable[[Contract], Awaitable[Verdict]]
    """Runs a contract on the base."""
    plans: bool
    """Whether a plan is wanted, and not a contract alone."""

    async def propose(self) -> Stop | None:
        """A new proposal in the log, or why there is none."""
        self.recorder.move("running")
        if self.planner is None:
            self._proposing.keep("there is no model that could change it")
            return None
        if not self._notes(BEGUN):
            is_first = self.plans and not self.recorder.story.proposals
            selected = [EngineSelected(engine=RUNG, reason="it was asked for")] if is_first else []
            begun = Note(BEGUN, {"for": _number(self.recorder.story)})
            RungNotebook(self.recorder, RUNG).write(begun, *selected, PlanningStarted())
        with anyio.move_on_after(self.bench.budget.seconds_left()):
            try:
                return await self._asked(self.planner)
            except Silent as silent:
                return Stop("no_progress", str(silent))
            except Interrupted:
                pass
        return Stop("budget", self.bench.budget.reached())

    async def _asked(self, planner: Engine) -> Stop | None:
        while sum(not draft["green"] for draft in self._notes(DRAFT)) < ATTEMPTS:
            try:
                if await self._takes(await self._reply(planner)):
                    return None
            except Silent:
                raise
            except NoAnswer as none:
                self._spoil([f"the planner gave no answer: {none}"])
                break
        return await self._without_planner()

    async def _reply(self, planner: Engine) -> str:
        drafts, job = self._notes(DRAFT), self.bench.job_to_plan(Rung(name=RUNG, engine=planner, reason=""))
        story, contract = self.recorder.story, self.bench.opened.contract
        asked = sum(note.kind == DRAFT for note in story.notes.get(RUNG, ())) + len(story.proposals)
        given = "" if self._drafts_contract else f"\n{words.GIVEN}"
        feedback = words.unusable(drafts[-1]["issues"]) if drafts else _wish(story, contract)
        job = replace(
            job,
            intent=words.planning(job.intent, self._found.commands),
            contract=job.contract or NO_CONTRACT,
            rules=words.PLANNER + given,
            role="planner",
            iteration=asked + 1,
            feedback=feedback,
            hint="",
            notebook=RungNotebook(self.recorder, f"{RUNG}/planner"),
            own=job.own / "planner",
            asker=None,
            max_turns=MOST_TURNS,
        )
        return await answer_in_time(self.bench, planner, job)

    # -- one answer --

    async def _takes(self, reply: str) -> bool:
        """Whether the answer has become the proposal; if not, what is wrong with it is noted."""
        try:
            plan = await _plan_in(reply, self.bench.opened.intent, self._found)
        except Malformed as malformed:
            self._spoil(malformed.issues)
            return False
        found = drafted(plan.checks) if self._drafts_contract else Drafted((), (), ())
        if issues := [*found.issues, *(await self._forbidden(plan)).values()]:
            self._spoil(issues, plan)
            return False
        if not self._drafts_contract:
            self._proposing.take(plan, None, None)
            return True
        plan, checks = _with_checks(plan, found, self._found)
        if not checks:
            self._spoil(["checks is empty, and the repository has nothing to take instead"], plan)
            return False
        if self.recorder.story.wish and checks == self.bench.opened.contract.checks:
            self._proposing.keep("the planner left all checks as they were", plan)
            return True
        return await self._stands(plan, replace(self.bench.opened.contract, checks=checks))

    async def _forbidden(self, plan: Plan) -> dict[str, str]:
        """Commands that the runtime would run because a model wrote them, and the policy refuses; and why."""
        theirs = {*self._found.commands, *(check.command for check in self.bench.opened.contract.checks)}
        drafts = [check.command for check in drafted(plan.checks).checks] if self._drafts_contract else []
        wanted = [*drafts, *(command for item in plan.items for command in item.verify)]
        return await permitted.refused(self.bench.place, [command for command in wanted if command not in theirs])

    async def _stands(self, plan: Plan, contract: Contract) -> bool:
        """Whether a contract can be worked with: all of it starts here, and something of it is red."""
        verdict = await self.judge(contract)
        stuck = [words.cannot_start(one.name, why) for one in verdict.results if (why := unable(one))]
        if stuck:
            self._spoil(stuck, plan)
            return False
        may_be_green = self.bench.opened.settings.flag("contract", "allow_green")
        if verdict.green and not may_be_green and not any(draft["green"] for draft in self._notes(DRAFT)):
            self._spoil([words.all_green([one.name for one in verdict.results])], plan, green=True)
            return False
        self._proposing.take(plan, contract, verdict)
        return True

    async def _without_planner(self) -> Stop | None:
        """What is done after the last answer that cannot be used."""
        drafts = self._notes(DRAFT)
        reason = "; ".join(drafts[-1]["issues"])
        if self.recorder.story.wish:
            self._proposing.keep(reason)
            return None
        await self._found.try_out()
        readable = next((draft["plan"] for draft in reversed(drafts) if draft["plan"] is not None), None)
        plan = plan_of(readable) if readable is not None else one_item(self.bench.opened.intent, self._found.commands)
        plan = replace(plan, filled=(*plan.filled, f"the planner gave nothing better: {reason}"))
        refused = set(await self._forbidden(plan))
        plan = replace(plan, items=tuple(_without(item, refused) for item in plan.items))
        if not self._drafts_contract:
            self._proposing.take(plan, None, None)
            return None
        plan, contract, verdict = await self._usable(plan, refused)
        if not contract.checks:
            told = (
                f"there is no contract: {reason}; say what done means with --check NAME=COMMAND, or try: donewhen init"
            )
            return Stop("model_failed", told)
        self._proposing.take(plan, contract, verdict)
        return None

    async def _usable(self, plan: Plan, out: set[str]) -> tuple[Plan, Contract, Verdict | None]:
        """What is left of a plan without these commands and without checks that cannot start here; how that stands."""
        while True:
            kept, checks = _with_checks(plan, drafted(plan.checks).without(out), self._found)
            contract = replace(
                self.bench.opened.contract, checks=tuple(check for check in checks if check.command not in out)
            )
            verdict = await self.judge(contract) if contract.checks else None
            stuck = {one.name for one in (verdict.results if verdict else ()) if unable(one)}
            if not stuck:
                return kept, contract, verdict
            out = out | {check.command for check in contract.checks if check.name in stuck}

    # -- what is written down --

    def _spoil(self, issues: Sequence[str], plan: Plan | None = None, green: bool = False) -> None:
        body: dict[str, Any] = {"for": _number(self.recorder.story), "issues": list(issues), "green": green}
        note = Note(DRAFT, {**body, "plan": plan.plain() if plan is not None else None})
        RungNotebook(self.recorder, RUNG).write(note)

    def _notes(self, kind: str) -> list[Plain]:
        """Those of the proposal that is made now."""
        notes = [note.body for note in self.recorder.story.notes.get(RUNG, ()) if note.kind == kind]
        return [one for one in notes if one["for"] == _number(self.recorder.story)]

    # -- what is known --

    @property
    def _proposing(self) -> Proposing:
        return Proposing(self.bench, self.plans)

    @property
    def recorder(self) -> Recorder:
        return self.bench.recorder

    @property
    def _drafts_contract(self) -> bool:
        """Whether the contract is ours to draft: nobody gave one, or a person wants a proposed one changed."""
        return self.bench.opened.drafts or not self.plans

    @cached_property
    def _found(self) -> FoundChecks:
        return FoundChecks(self.bench.place, self.bench.opened.contract, self.judge)


def _number(story: Story) -> list[int]:
    """Names the proposal that is made now. A session that is gone on with after its end has all attempts again."""
    return [len(story.proposals), story.before.rounds, story.before.tokens]


def _wish(story: Story, contract: Contract) -> str:
    if not story.wish:
        return ""
    plan = artifacts.plan_in(story)
    spec = f"{plan.spec.strip()}\n\n{Tracker.of(plan).rendered()}\n\n" if plan is not None else ""
    return words.changing(story.wish, spec + "\n".join(artifacts.contract_lines(contract, story, plan, for_model=True)))


async def _plan_in(reply: str, intent: str, found: FoundChecks) -> Plan:
    """The plan in an answer. What is filled in for something that it left blank can start here."""
    plan = plan_in(reply, intent, found.commands)
    if plan.checks and not any(item.is_detected for item in plan.items):
        return plan
    await found.try_out()
    return plan_in(reply, intent, found.commands)


def _with_checks(plan: Plan, drafts: Drafted, found: FoundChecks) -> tuple[Plan, tuple[Check, ...]]:
    """The plan with what can be used of its checks; where that is nothing, what the repository has."""
    plan = replace(plan, checks=drafts.entries)
    if drafts.checks:
        return plan, drafts.checks
    said = "no checks were drafted; those that the repository has were taken"
    return replace(plan, filled=(*plan.filled, said)), found.checks


def _without(item: Item, commands: Container[str]) -> Item:
    return replace(item, verify=tuple(command for command in item.verify if command not in commands))
