"""One session: takes an intent from start to outcome through contract, baseline, rounds, verdict and landing.

    outcome = await Session(place, opened, recorder, crew, watcher).run()

Every fact is written to the log before the next step begins. A session can therefore be resumed from its log at any
point, and finished steps are not repeated. How a round is worked on is decided in `loop.ladder`. Nothing is printed
here.
"""

import contextlib
from collections.abc import AsyncGenerator, Awaitable, Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Literal, cast

import anyio
import anyio.lowlevel

from donewhen.errors import MachineryBroke, NeedsPerson
from donewhen.events import BaselineCompleted, Error, ModelSelected
from donewhen.judge.contract import Contract
from donewhen.judge.receipt import contract_from
from donewhen.judge.verdict import Verdict
from donewhen.model.interface import ModelWaits
from donewhen.records import frozen
from donewhen.session.check.judge_tree import TreeToJudge, check_results, judge_tree
from donewhen.session.conclude.conclude import Conclusion, Ending, baseline_is_green
from donewhen.session.log.start_record import StartRecord, is_planned
from donewhen.session.log.writer import LogWriter
from donewhen.session.loop.budget import Allowance, Budget
from donewhen.session.loop.ladder import climb
from donewhen.session.loop.maker_trees import maker_tree
from donewhen.session.loop.round import LadderStep
from donewhen.session.loop.round_context import RoundContext
from donewhen.session.loop.stop_rules import Stop
from donewhen.session.outcome import STOPPED, Outcome, SessionResult
from donewhen.session.person.gates import GateDecision, GateKind, Gates
from donewhen.session.person.questions import Questions
from donewhen.session.person.watch import SessionWatcher
from donewhen.session.recall.session_memory import for_session
from donewhen.session.settings.contract_file import tables_of
from donewhen.session.workplace import Workplace
from donewhen.storage.lease import LeaseLost
from donewhen.workspace.trees import orphans
from donewhen.workspace.trees.maker import Maker

if TYPE_CHECKING:
    from donewhen.engines.interface import Engine
    from donewhen.session.planned.evaluator import EvaluatorConfig


@frozen(kw_only=True)
class Crew:
    """The engines in ladder order, the model they use, and why this model was chosen."""

    rungs: tuple[LadderStep, ...]
    model: str | None
    reason: str
    free: bool
    """True if all models are free of charge and no agent works."""
    leave: Callable[[], Awaitable[None]]
    """Releases what the crew holds open."""
    planner: "Engine | None" = None
    """Engine that plans and that revises a proposed contract; None without a model."""
    sceptic: "EvaluatorConfig | None" = None
    """Evaluator of green work; None if the session is not planned."""


class Session:
    def __init__(
        self,
        place: Workplace,
        opened: StartRecord,
        recorder: LogWriter,
        crew: Callable[[], Awaitable[Crew]],
        watcher: SessionWatcher,
    ) -> None:
        self._place: Workplace = place
        self._opened: StartRecord = opened
        self._recorder = recorder
        self._crew = crew
        self._scope = anyio.CancelScope()
        self._ending = Ending(place, opened, recorder)
        self._memory = for_session(place, opened, recorder)
        self._said = watcher.on_text
        self.gates = Gates(recorder, watcher.person)
        on_expiry = cast("Literal['continue', 'wait']", opened.settings.text("engine", "on_question"))
        self.questions = Questions(recorder, on_expiry, watcher.person)

    def cancel(self) -> None:
        """Stop as soon as possible, at any point. May be called more than once."""
        self._scope.cancel()

    async def run(self) -> SessionResult:
        """Continue from the end of the log and return the outcome.

        The outcome is `waiting` if only a person or time can help.
        """
        ended: SessionResult | None = None
        try:
            with self._scope:
                await anyio.lowlevel.checkpoint()  # a session that was cancelled before its start does nothing
                ended = await self._to_the_end()
        finally:
            self._memory.close()
        if ended is None:
            ended = await self._ending.finish(Outcome.CANCELLED, STOPPED)
        return ended

    async def _to_the_end(self) -> SessionResult:
        try:
            return await self._work()
        except LeaseLost:
            raise  # another process owns the session now; write nothing
        except ModelWaits as error:
            until = f" (until {error.reset_at})" if error.reset_at else ""
            return self._ending.wait(Error(kind=error.kind, message=f"{error}{until}"), reason=f"{error}{until}")
        except NeedsPerson as error:
            return self._ending.wait(reason=str(error))
        except (MachineryBroke, OSError) as error:
            with contextlib.suppress(MachineryBroke, OSError):
                self._recorder.emit(Error(kind="machinery", message=str(error)))
                return await self._ending.finish(Outcome.FAILED, str(error))
            raise

    async def _work(self) -> SessionResult:
        ended: SessionResult | None = None
        while ended is None:  # a person may send the work back
            for one in self._recorder.story.rounds[-1:]:
                await self._memory.judged(one)  # the process may have died after the verdict and before this call
            ended = await self._begun() or await self._worked()
        return ended

    async def _begun(self) -> SessionResult | None:
        """Settle the contract, and judge the base. Return None if there is work to do."""
        story = self._recorder.story
        if (ended := await self._proposed_contract()) is not None:
            return ended
        if story.baseline is None:
            self._recorder.move("judging")
            verdict = await self._baseline(self._opened.contract)
            completed = BaselineCompleted(results=check_results(verdict))
            baseline = self._memory.of_baseline(verdict)
            self._recorder.write(completed, note=baseline.note() if baseline is not None else None)
        if not self._may_be_green() and baseline_is_green(story, self._opened.contract):
            return await self._ending.finish(Outcome.ALREADY_SATISFIED, self._all_green())
        return None

    async def _worked(self) -> SessionResult | None:
        """Work on it and conclude. Return None if a person sent the work back."""
        story = self._recorder.story
        if story.landing is not None:
            return await self._conclusion().land_again(story.landing)
        if GateKind.AMENDMENT in story.gates:
            return await self._conclusion().amendment()
        return await self._conclusion().conclude(await self._climb())

    def _conclusion(self) -> Conclusion:
        return Conclusion(self._place, self._opened, self._recorder, self.gates)

    # -- the contract and the baseline --

    async def _proposed_contract(self) -> SessionResult | None:
        """Get approval for a contract that a person did not write.

        Return None if the work may start, else the outcome that stops the session here.
        """
        story, opened = self._recorder.story, self._opened
        was_found = GateKind.CONTRACT in story.gates
        if was_found and not story.proposals and not story.wish:
            decision = await self.gates.ask(GateKind.CONTRACT, 0, opened.contract.render())
            if decision is None:
                return self._ending.wait(reason=GateKind.CONTRACT.reason)
            if decision is GateDecision.DENIED:
                return await self._ending.finish(Outcome.REJECTED, "a person denied the proposed contract")
        if opened.drafts or (was_found and (story.wish or story.proposals)):
            async with self._workbench() as (bench, crew):
                stop = await self._settled(bench, crew)
            if stop is not None:
                return await self._conclusion().conclude(stop)
        if story.proposals and story.proposals[-1].contract is not None:
            self._adopt(contract_from(story.opened["contract"]))
        return None

    async def _settled(self, bench: RoundContext, crew: Crew) -> Stop | None:
        """Draft the plan and get it approved. Return None if building may start.

        Otherwise return the reason: there is no plan, or it is not approved.
        """
        from donewhen.session.planned import draft_plan, plan_approval  # loaded on use: most sessions have no plan

        planner = draft_plan.PlanDrafter(bench, crew.planner, self._baseline, plans=crew.sceptic is not None)
        return await plan_approval.settled(planner, bench.recorder.story, self._opened, self.gates)

    def _adopt(self, contract: Contract) -> None:
        """Continue with a contract that was proposed in this session."""
        if contract == self._opened.contract:
            return
        settings = self._opened.settings.with_checks(tables_of(contract), self._opened.settings.also)
        self._opened = replace(self._opened, contract=contract, settings=settings)
        self._place = replace(self._place, settings=settings)
        self._ending = Ending(self._place, self._opened, self._recorder)
        self._memory.close()
        self._memory = for_session(self._place, self._opened, self._recorder)

    def _may_be_green(self) -> bool:
        """Return True if there is work to do although every check is green.

        This is so if a person allows it, if a person asked to see a plan, or if the checks only replace ones that the
        planner could not draft.
        """
        opened, proposals = self._opened, self._recorder.story.proposals
        shows_plan = opened.plans and not opened.drafts and is_planned(opened.settings)
        stood_in = opened.drafts and not proposals[-1].drafted
        return opened.settings.flag("contract", "allow_green") or shows_plan or stood_in

    def _all_green(self) -> str:
        names = ", ".join(check.name for check in self._opened.contract.checks)
        return "every check is green without any work" + (f": {names}" if self._opened.drafts else "")

    async def _baseline(self, contract: Contract) -> Verdict:
        base = self._opened.base
        tree = TreeToJudge(base=base, candidate=await self._place.store.tree_of(base), phase="baseline")
        return await judge_tree(self._place, contract, tree, self._recorder.emit)

    # -- the work --

    @contextlib.asynccontextmanager
    async def _workbench(self) -> AsyncGenerator[tuple[RoundContext, Crew]]:
        """Provide what a round needs: the crew, a maker tree and a budget. Release the crew at the end."""
        crew = await self._crew()
        story = self._recorder.story
        if crew.model is not None and not story.model:
            self._recorder.emit(ModelSelected(model=crew.model, reason=crew.reason))
        settings = self._opened.settings
        async with maker_of(self._place, self._opened, self._recorder) as maker:
            bench = RoundContext(
                place=self._place,
                opened=self._opened,
                recorder=self._recorder,
                budget=Budget(Allowance.of(settings), story, crew.free),
                maker=maker,
                asker=self.questions if self._opened.may_ask else None,
                memory=self._memory,
                on_text=self._said,
            )
            try:
                yield bench, crew
            finally:
                with anyio.CancelScope(shield=True):
                    await crew.leave()

    async def _climb(self) -> Stop:
        async with self._workbench() as (bench, crew):
            if crew.sceptic is None:
                if self._opened.plans and (stop := await _stop_for_plan(bench, crew, self.gates)) is not None:
                    return stop
                return await climb(bench, crew.rungs)
            if not self._opened.drafts and (stop := await self._settled(bench, crew)) is not None:
                return stop
            from donewhen.session.planned.evaluator import Evaluator  # loaded on use: most sessions are not planned

            return await climb(bench, crew.rungs, Evaluator(bench, crew.sceptic).evaluate)


async def _stop_for_plan(bench: RoundContext, crew: Crew, gates: Gates) -> Stop | None:
    from donewhen.session.planned import plan_approval  # loaded on use: most sessions have no plan

    return await plan_approval.stop_for(bench, crew.rungs, gates)


@contextlib.asynccontextmanager
async def maker_of(place: Workplace, opened: StartRecord, recorder: LogWriter) -> AsyncGenerator[Maker]:
    """Provide the session's maker tree: the one that the log names, with its contents, or a new one."""
    tree = await maker_tree(place, opened, recorder)
    try:
        yield Maker(place.trees, tree, place.room(tree))
    finally:
        orphans.release(tree)
