"""One session: takes an intent from start to outcome through contract, baseline, rounds, verdict and landing.

    outcome = await Session(workplace, start_record, log, crew, watcher).run()

Every fact is written to the log before the next step begins. A session can therefore be resumed from its log at any
point, and finished steps are not repeated. How a round is worked on is decided in `loop.ladder`. Nothing is printed
here.
"""

import contextlib
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Literal, Protocol, cast

import anyio
import anyio.lowlevel

from donewhen.errors import BadInput, MachineryBroke, NeedsPerson
from donewhen.events import BaselineCompleted, Error, Event, ModelSelected
from donewhen.judge.contract import Contract
from donewhen.judge.receipt import contract_from
from donewhen.judge.verdict import Verdict
from donewhen.model.interface import ModelWaits
from donewhen.records import frozen
from donewhen.session.check.engine_sandbox import engine_sandbox
from donewhen.session.check.judge_tree import TreeToJudge, check_results, judge_tree
from donewhen.session.conclude.conclude import Conclusion, Ending, baseline_is_green, no_closing_events
from donewhen.session.log.notes import ClockChanged
from donewhen.session.log.start_record import StartRecord, is_planned
from donewhen.session.log.writer import LogWriter
from donewhen.session.loop.budget import Allowance, Budget
from donewhen.session.loop.ladder import run_ladder
from donewhen.session.loop.maker_trees import maker_tree
from donewhen.session.loop.round import LadderStep
from donewhen.session.loop.round_context import RoundContext
from donewhen.session.loop.stop_rules import Stop, stop_at_gate
from donewhen.session.outcome import STOPPED, Outcome, SessionResult
from donewhen.session.person.gates import GateKind, Gates
from donewhen.session.person.questions import Questions
from donewhen.session.person.watch import SessionWatcher
from donewhen.session.recall.session_memory import open_memory
from donewhen.session.settings.contract_file import tables_of
from donewhen.session.workplace import Workplace
from donewhen.storage.lease import LeaseLost
from donewhen.workspace.trees import orphans
from donewhen.workspace.trees.maker import Maker

if TYPE_CHECKING:
    from donewhen.engines.interface import Engine
    from donewhen.session.planned.evaluator import EvaluatorConfig

SHORT_WAIT_SECS = 1.0
"""A wait before the work that is too short to be taken from the working time."""


@frozen(kw_only=True)
class Crew:
    """The engines in ladder order, the model they use, and why this model was chosen."""

    steps: tuple[LadderStep, ...]
    model: str | None
    reason: str
    free: bool
    """True if all models are free of charge and no agent works."""
    close: Callable[[], Awaitable[None]]
    """Releases what the crew holds open."""
    planner: "Engine | None" = None
    """Engine that plans and that revises a proposed contract; None without a model."""
    evaluator: "EvaluatorConfig | None" = None
    """Evaluator of green work; None if the session is not planned."""
    checker: "Engine | None" = None
    """The second agent of a loop round."""


@frozen(kw_only=True)
class SessionParts:
    """The parts of a session that a loop round works with."""

    workplace: Workplace
    start_record: StartRecord
    log: LogWriter
    gates: Gates
    ending: Ending
    round_context: Callable[[], contextlib.AbstractAsyncContextManager[tuple[RoundContext, Crew]]]
    """Opens what an agent needs to work: the crew, a maker tree and the budget."""
    say: Callable[[str], None]
    """Receives one line for a person."""


class Concludes(Protocol):
    """Turns the reason to stop into an outcome."""

    @property
    def is_begun(self) -> bool: ...

    async def go_on(self) -> SessionResult | None: ...

    async def conclude(self, stop: Stop) -> SessionResult | None: ...


class RoundOfLoop(Concludes, Protocol):
    """What a loop round does that an ordinary session does not. `loops` provides it."""

    async def prepare(self, parts: SessionParts) -> SessionResult | None:
        """Do what comes before the contract. Return None if there is work to do."""
        ...

    async def skip_known(self) -> SessionResult | None:
        """Compare the baseline with earlier rounds. Return None if there is work to do."""
        ...

    def task(self) -> str:
        """Return the text of the maker's task."""
        ...

    def rules(self) -> str:
        """Return the rules for the maker; empty for those of its engine."""
        ...

    def allowance(self) -> Allowance: ...

    async def work(self, context: RoundContext, crew: Crew) -> Stop | None:
        """Work without a contract. Return None if there is a contract: then the ladder works."""
        ...

    def closing_events(self, outcome: Outcome, reason: str) -> Sequence[Event]: ...


class Session:
    def __init__(
        self,
        workplace: Workplace,
        start_record: StartRecord,
        log: LogWriter,
        crew: Callable[[], Awaitable[Crew]],
        watcher: SessionWatcher,
        loop_round: RoundOfLoop | None = None,
    ) -> None:
        if (start_record.loop is None) != (loop_round is None):
            raise BadInput(f"session {start_record.session} is a loop round")
        self._workplace: Workplace = workplace
        self._start_record: StartRecord = start_record
        self._log = log
        self._crew = crew
        self._loop_round = loop_round
        self._say = watcher.say
        self._before_work = watcher.before_work
        self._after_work = watcher.after_work
        self._scope = anyio.CancelScope()
        self._ending = self._make_ending()
        self._memory = open_memory(workplace, start_record, log)
        self._on_text = watcher.on_text
        self.gates = Gates(log, watcher.person)
        on_expiry = cast("Literal['continue', 'wait']", start_record.settings.text("engine", "on_question"))
        self.questions = Questions(log, on_expiry, watcher.person)

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
                await self._wait_for_place()
                ended = await self._run_catching_errors()
            if ended is None:
                ended = await self._ending.finish(Outcome.CANCELLED, STOPPED)
            return ended
        finally:
            self._memory.close()
            self._after_work(self._start_record.session)

    async def _wait_for_place(self) -> None:
        """Wait until the caller lets the session work. The time does not count as work."""
        before = anyio.current_time()
        await self._before_work(self._start_record.session)
        waited = anyio.current_time() - before
        if waited > SHORT_WAIT_SECS:
            self._log.write(note=ClockChanged(secs=-round(waited, 3)).note())

    async def _run_catching_errors(self) -> SessionResult:
        try:
            return await self._run_to_outcome()
        except LeaseLost:
            raise  # another process owns the session now; write nothing
        except ModelWaits as error:
            until = f" (until {error.reset_at})" if error.reset_at else ""
            event, reason = Error(kind=error.kind, message=f"{error}{until}"), f"{error}{until}"
            if self._loop_round is not None:  # the next occurrence tries again
                return await self._ending.finish(Outcome.FAILED, reason, event)
            return self._ending.wait(event, reason=reason)
        except (NeedsPerson, BadInput) as error:
            if self._loop_round is not None:  # also if what was sound before the round is not any more
                return await self._ending.finish(Outcome.FAILED, str(error))
            if isinstance(error, BadInput):
                raise
            return self._ending.wait(reason=str(error))
        except (MachineryBroke, OSError) as error:
            with contextlib.suppress(MachineryBroke, OSError):
                self._log.emit(Error(kind="machinery", message=str(error)))
                return await self._ending.finish(Outcome.FAILED, str(error))
            raise

    async def _run_to_outcome(self) -> SessionResult:
        ended: SessionResult | None = None
        while ended is None:  # a person may send the work back
            for one in self._log.state.rounds[-1:]:
                await self._memory.learn_from(one)  # the process may have died after the verdict and before this call
            ended = await self._prepare() or await self._work_and_conclude()
        return ended

    async def _prepare(self) -> SessionResult | None:
        """Get the contract approved, and judge the base. Return None if there is work to do."""
        state = self._log.state
        if self._loop_round is not None and (ended := await self._loop_round.prepare(self._parts())) is not None:
            return ended
        if (ended := await self._approve_contract()) is not None:
            return ended
        if state.baseline is None and self._start_record.contract.checks:
            self._log.move("judging")
            verdict = await self._baseline(self._start_record.contract)
            completed = BaselineCompleted(results=check_results(verdict))
            baseline = self._memory.baseline_note(verdict)
            self._log.write(completed, note=baseline.note() if baseline is not None else None)
        if self._loop_round is not None:
            return await self._loop_round.skip_known()
        if not self._may_be_green() and baseline_is_green(state, self._start_record.contract):
            return await self._ending.finish(Outcome.ALREADY_SATISFIED, self._green_reason())
        return None

    async def _work_and_conclude(self) -> SessionResult | None:
        """Work on it and conclude. Return None if a person sent the work back."""
        conclusion: Concludes = self._loop_round or self._conclusion()
        if conclusion.is_begun:
            return await conclusion.go_on()
        return await conclusion.conclude(await self._run_ladder())

    def _conclusion(self) -> Conclusion:
        return Conclusion(self._workplace, self._start_record, self._log, self.gates, self._ending)

    def _make_ending(self) -> Ending:
        closing_events = self._loop_round.closing_events if self._loop_round is not None else no_closing_events
        return Ending(self._workplace, self._start_record, self._log, closing_events)

    def _parts(self) -> SessionParts:
        return SessionParts(
            workplace=self._workplace,
            start_record=self._start_record,
            log=self._log,
            gates=self.gates,
            ending=self._ending,
            round_context=self._round_context,
            say=self._say,
        )

    # -- the contract and the baseline --

    async def _approve_contract(self) -> SessionResult | None:
        """Get approval for a contract that a person did not write.

        Return None if the work may start, else the outcome that stops the session here.
        """
        state, start_record = self._log.state, self._start_record
        was_found = GateKind.CONTRACT in state.gates
        if was_found and not state.proposals and not state.change_request:
            stop = await stop_at_gate(self.gates, GateKind.CONTRACT, 0, start_record.contract.render())
            if stop is not None:
                return await self._conclusion().conclude(stop)
        if start_record.drafts_contract or (was_found and (state.change_request or state.proposals)):
            async with self._round_context() as (context, crew):
                stop = await self._approve_plan(context, crew)
            if stop is not None:
                return await self._conclusion().conclude(stop)
        if state.proposals and state.proposals[-1].contract is not None:
            self._adopt(contract_from(state.start_note["contract"]))
        return None

    async def _approve_plan(self, context: RoundContext, crew: Crew) -> Stop | None:
        """Draft the plan and get it approved. Return None if building may start.

        Otherwise return the reason: there is no plan, or it is not approved.
        """
        from donewhen.session.planned import draft_plan, plan_approval  # loaded on use: most sessions have no plan

        planner = draft_plan.PlanDrafter(context, crew.planner, self._baseline, wants_plan=crew.evaluator is not None)
        return await plan_approval.approve_proposal(planner, context.log.state, self._start_record, self.gates)

    def _adopt(self, contract: Contract) -> None:
        """Continue with a contract that was proposed in this session."""
        if contract == self._start_record.contract:
            return
        settings = self._start_record.settings.with_checks(tables_of(contract), self._start_record.settings.also)
        self._start_record = replace(self._start_record, contract=contract, settings=settings)
        self._workplace = replace(self._workplace, settings=settings)
        self._ending = self._make_ending()
        self._memory.close()
        self._memory = open_memory(self._workplace, self._start_record, self._log)

    def _may_be_green(self) -> bool:
        """Return True if there is work to do although every check is green.

        This is so if a person allows it, if a person asked to see a plan, or if the checks only replace ones that the
        planner could not draft.
        """
        start_record, proposals = self._start_record, self._log.state.proposals
        shows_plan = start_record.wants_plan and not start_record.drafts_contract and is_planned(start_record.settings)
        is_substitute = start_record.drafts_contract and not proposals[-1].drafted
        return start_record.settings.flag("contract", "allow_green") or shows_plan or is_substitute

    def _green_reason(self) -> str:
        names = ", ".join(check.name for check in self._start_record.contract.checks)
        return "every check is green without any work" + (f": {names}" if self._start_record.drafts_contract else "")

    async def _baseline(self, contract: Contract) -> Verdict:
        base = self._start_record.base
        tree = TreeToJudge(base=base, candidate=await self._workplace.store.tree_of(base), phase="baseline")
        return await judge_tree(self._workplace, contract, tree, self._log.emit)

    # -- the work --

    @contextlib.asynccontextmanager
    async def _round_context(self) -> AsyncGenerator[tuple[RoundContext, Crew]]:
        """Provide what a round needs: the crew, a maker tree and a budget. Release the crew at the end."""
        crew = await self._crew()
        state = self._log.state
        if crew.model is not None and not state.model:
            self._log.emit(ModelSelected(model=crew.model, reason=crew.reason))
        loop_round = self._loop_round
        allowed = loop_round.allowance() if loop_round is not None else Allowance.of(self._start_record.settings)
        # A loop's money is also bounded by its tokens: an unknown price does not stop it.
        is_bounded = crew.free or (loop_round is not None and allowed.tokens > 0)
        async with open_maker(self._workplace, self._start_record, self._log) as maker:
            context = RoundContext(
                workplace=self._workplace,
                start_record=self._start_record,
                log=self._log,
                budget=Budget(allowed, state, is_bounded),
                maker=maker,
                asker=self.questions if self._start_record.may_ask else None,
                memory=self._memory,
                on_text=self._on_text,
                task=loop_round.task() if loop_round is not None else "",
                rules=loop_round.rules() if loop_round is not None else "",
            )
            try:
                yield context, crew
            finally:
                with anyio.CancelScope(shield=True):
                    await crew.close()

    async def _run_ladder(self) -> Stop:
        async with self._round_context() as (context, crew):
            if self._loop_round is not None and (stop := await self._loop_round.work(context, crew)) is not None:
                return stop
            if crew.evaluator is None:
                if self._start_record.wants_plan:
                    from donewhen.session.planned import plan_approval  # loaded on use: most sessions have no plan

                    stop = await plan_approval.approve_foreman_plan(context, crew.steps, self.gates)
                    if stop is not None:
                        return stop
                return await run_ladder(context, crew.steps)
            if not self._start_record.drafts_contract and (stop := await self._approve_plan(context, crew)) is not None:
                return stop
            from donewhen.session.planned.evaluator import Evaluator  # loaded on use: most sessions are not planned

            return await run_ladder(context, crew.steps, Evaluator(context, crew.evaluator).evaluate)


@contextlib.asynccontextmanager
async def open_maker(workplace: Workplace, start_record: StartRecord, log: LogWriter) -> AsyncGenerator[Maker]:
    """Provide the session's maker tree: the one that the log names, with its contents, or a new one."""
    tree = await maker_tree(workplace, start_record, log)
    try:
        yield Maker(workplace.trees, tree, await engine_sandbox(workplace, tree, start_record.reads_only))
    finally:
        orphans.release(tree)
