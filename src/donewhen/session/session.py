"""One intent from start to outcome: contract, baseline, rounds of work, verdict, landing.

    outcome = await Session(place, opened, recorder, crew, watcher).run()

Everything that happened is in the log before anything else happens, so that a session can be run again from its log at
any point: what is done is not done again. How a round is worked on is the ladder's business, what a verb prints that of
others.
"""

import contextlib
from collections.abc import AsyncGenerator, Awaitable, Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Literal, Protocol, cast

import anyio
import anyio.lowlevel

from donewhen.errors import MachineryBroke, NeedsPerson
from donewhen.events import BaselineCompleted, Error, ModelSelected
from donewhen.judge.contract import Contract
from donewhen.judge.receipt import contract_from
from donewhen.judge.verdict import Verdict
from donewhen.model.base import ModelWaits, Said
from donewhen.records import frozen
from donewhen.session.asking import Person, Questions
from donewhen.session.attempting import Rung, Workbench
from donewhen.session.checking import judge_tree, plain_results
from donewhen.session.concluding import Conclusion, baseline_is_green
from donewhen.session.contract_file import tables_of
from donewhen.session.ending import Ending
from donewhen.session.entries import STOPPED
from donewhen.session.gates import WORDS, Gates
from donewhen.session.ladder import climb
from donewhen.session.makers import maker_tree
from donewhen.session.meter import Allowance, Budget
from donewhen.session.opened import Opened, is_planned
from donewhen.session.outcome import Outcome
from donewhen.session.recorder import Recorder
from donewhen.session.remembering import for_session
from donewhen.session.stopping import Stop
from donewhen.session.workplace import Workplace
from donewhen.storage.lease import Fenced
from donewhen.workspace import leftovers
from donewhen.workspace.maker import Maker

if TYPE_CHECKING:
    from donewhen.engines.base import Engine
    from donewhen.session.evaluating import Sceptic


@frozen(kw_only=True)
class Crew:
    """Who works: the engines in their order, on which model, and why."""

    rungs: tuple[Rung, ...]
    model: str | None
    reason: str
    free: bool
    """Whether the model costs nothing."""
    leave: Callable[[], Awaitable[None]]
    """Gives back what the crew holds open."""
    planner: "Engine | None" = None
    """Who plans, and who changes a proposed contract; None without a model."""
    sceptic: "Sceptic | None" = None
    """Who is asked about green work that was planned."""


class Watcher(Protocol):
    """Whoever is there while the session runs."""

    @property
    def person(self) -> Person | None: ...
    @property
    def said(self) -> Said | None: ...


class Session:
    def __init__(
        self,
        place: Workplace,
        opened: Opened,
        recorder: Recorder,
        crew: Callable[[], Awaitable[Crew]],
        watcher: Watcher,
    ) -> None:
        self._place: Workplace = place
        self._opened: Opened = opened
        self._recorder = recorder
        self._crew = crew
        self._scope = anyio.CancelScope()
        self._ending = Ending(place, opened, recorder)
        self._memory = for_session(place, opened, recorder)
        self._said = watcher.said
        self.gates = Gates(recorder, watcher.person)
        on_expiry = cast("Literal['continue', 'wait']", opened.settings.text("engine", "on_question"))
        self.questions = Questions(recorder, on_expiry, watcher.person)

    def cancel(self) -> None:
        """Stop as soon as possible, wherever it is; may be called more than once."""
        self._scope.cancel()

    async def run(self) -> Outcome:
        """Go on from where the log stops, to the outcome or to something that only a person can decide."""
        ended: Outcome | None = None
        try:
            with self._scope:
                await anyio.lowlevel.checkpoint()  # a session that is cancelled before it began does nothing
                ended = await self._to_the_end()
        finally:
            self._memory.close()
        if ended is None:
            ended = await self._ending.finish("cancelled", STOPPED)
        return ended

    async def _to_the_end(self) -> Outcome:
        try:
            return await self._work()
        except Fenced:
            raise  # the session belongs to somebody else now; nothing may be written
        except ModelWaits as error:
            until = f" (until {error.reset_at})" if error.reset_at else ""
            return self._ending.wait(Error(kind=error.kind, message=f"{error}{until}"), reason=f"{error}{until}")
        except NeedsPerson as error:
            return self._ending.wait(reason=str(error))
        except (MachineryBroke, OSError) as error:
            with contextlib.suppress(MachineryBroke, OSError):
                self._recorder.emit(Error(kind="machinery", message=str(error)))
                return await self._ending.finish("failed", str(error))
            raise

    async def _work(self) -> Outcome:
        story = self._recorder.story
        for one in story.rounds[-1:]:
            await self._memory.judged(one)  # its process may have died between the judgement and this
        if (ended := await self._proposed_contract()) is not None:
            return ended
        if story.baseline is None:
            self._recorder.move("judging")
            verdict = await self._baseline(self._opened.contract)
            completed = BaselineCompleted(results=tuple(plain_results(verdict)))
            self._recorder.write(completed, note=self._memory.of_baseline(verdict))
        if not self._may_be_green() and baseline_is_green(story, self._opened.contract):
            return await self._ending.finish("already_satisfied", self._all_green())
        if story.landing is not None:
            return await self._conclusion().land_again(story.landing)
        if "amendment" in story.gates:
            return await self._conclusion().amendment()
        ended = await self._conclusion().conclude(await self._climb())
        return ended if ended is not None else await self._work()

    def _conclusion(self) -> Conclusion:
        return Conclusion(self._place, self._opened, self._recorder, self.gates)

    # -- the contract and the baseline --

    async def _proposed_contract(self) -> Outcome | None:
        """Where the contract is not a person's own: until a person has taken it, or why it goes no further."""
        story, opened = self._recorder.story, self._opened
        if "contract" in story.gates and not story.proposals and not story.wish:
            decision = await self.gates.ask("contract", opened.contract.render())
            if decision is None:
                return self._ending.wait(reason=WORDS["contract"])
            if not decision and not story.wish:
                return await self._ending.finish("rejected", "the proposed contract was refused")
        if opened.drafts or ("contract" in story.gates and (story.wish or story.proposals)):
            async with self._workbench() as (bench, crew):
                stop = await self._settled(bench, crew)
            if stop is not None:
                return await self._conclusion().conclude(stop)
        if story.proposals and story.proposals[-1]["contract"] is not None:
            self._adopt(contract_from(story.opened["contract"]))
        return None

    async def _settled(self, bench: Workbench, crew: Crew) -> Stop | None:
        """Why nothing is built yet: there is no plan, or nobody has taken it."""
        from donewhen.session import drafting, taking  # most sessions have none

        planner = drafting.Drafting(bench, crew.planner, self._baseline, plans=crew.sceptic is not None)
        return await taking.settled(planner, bench.recorder.story, self._opened, self.gates)

    def _adopt(self, contract: Contract) -> None:
        """Go on with a contract that was proposed here."""
        if contract == self._opened.contract:
            return
        settings = self._opened.settings.with_checks(tables_of(contract), self._opened.settings.also)
        self._opened = replace(self._opened, contract=contract, settings=settings)
        self._place = replace(self._place, settings=settings)
        self._ending = Ending(self._place, self._opened, self._recorder)
        self._memory.close()
        self._memory = for_session(self._place, self._opened, self._recorder)

    def _may_be_green(self) -> bool:
        """Whether there is something to do although every check is green: a person says so, or wants to see a plan for
        it, or the checks only stand for ones that nobody could draft."""
        opened, proposals = self._opened, self._recorder.story.proposals
        shows_plan = opened.plans and not opened.drafts and is_planned(opened.settings)
        stood_in = opened.drafts and not proposals[-1]["drafted"]
        return opened.settings.flag("contract", "allow_green") or shows_plan or stood_in

    def _all_green(self) -> str:
        names = ", ".join(check.name for check in self._opened.contract.checks)
        return "every check is green without any work" + (f": {names}" if self._opened.drafts else "")

    async def _baseline(self, contract: Contract) -> Verdict:
        base, emit = self._opened.base, self._recorder.emit
        candidate = await self._place.store.tree_of(base)
        return await judge_tree(self._place, contract, base=base, candidate=candidate, emit=emit, phase="baseline")

    # -- the work --

    @contextlib.asynccontextmanager
    async def _workbench(self) -> AsyncGenerator[tuple[Workbench, Crew]]:
        """What work needs: those who do it, a tree, a budget."""
        crew = await self._crew()
        story = self._recorder.story
        if crew.model is not None and not story.model:
            self._recorder.emit(ModelSelected(model=crew.model, reason=crew.reason))
        settings = self._opened.settings
        async with maker_of(self._place, self._opened, self._recorder) as maker:
            bench = Workbench(
                place=self._place,
                opened=self._opened,
                recorder=self._recorder,
                budget=Budget(Allowance.of(settings), story, crew.free),
                maker=maker,
                asker=self.questions if self._opened.may_ask else None,
                memory=self._memory,
                said=self._said,
            )
            try:
                yield bench, crew
            finally:
                with anyio.CancelScope(shield=True):
                    await crew.leave()

    async def _climb(self) -> Stop:
        async with self._workbench() as (bench, crew):
            if crew.sceptic is None:
                if self._opened.plans and (stop := await _stop_for_plan(bench, crew)) is not None:
                    return stop
                return await climb(bench, crew.rungs)
            if not self._opened.drafts and (stop := await self._settled(bench, crew)) is not None:
                return stop
            from donewhen.session.evaluating import Evaluating  # most sessions are not planned

            return await climb(bench, crew.rungs, Evaluating(bench, crew.sceptic))


async def _stop_for_plan(bench: Workbench, crew: Crew) -> Stop | None:
    from donewhen.session import plans  # most sessions have none

    return await plans.stop_for(bench, crew.rungs)


@contextlib.asynccontextmanager
async def maker_of(place: Workplace, opened: Opened, recorder: Recorder) -> AsyncGenerator[Maker]:
    """The tree that is worked in: the one the log names, with all that was made in it, or a new one."""
    tree = await maker_tree(place, opened, recorder)
    try:
        yield Maker(place.trees, tree, place.room(tree))
    finally:
        leftovers.let_go(tree)
