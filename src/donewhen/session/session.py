"""One intent from start to outcome: contract, baseline, rounds of work, verdict, landing.

    outcome = await Session(place, opened, recorder, crew, watcher).run()

Everything that happened is in the log before anything else happens, so that a session can be run again from its log at
any point: what is done is not done again. How a round is worked on is the ladder's business, what a verb prints that of
others.
"""

import contextlib
import datetime
from collections.abc import AsyncGenerator, Awaitable, Callable
from typing import Literal, Protocol, cast

import anyio
import anyio.lowlevel

from donewhen.errors import DonewhenError, MachineryBroke, NeedsPerson
from donewhen.events import BaselineCompleted, Error, ModelSelected
from donewhen.judge.contract import Contract
from donewhen.judge.verdict import Phase, Verdict
from donewhen.model.base import ModelWaits, Said
from donewhen.records import frozen
from donewhen.session import receipts
from donewhen.session.asking import Person, Questions
from donewhen.session.attempting import Rung, Workbench, claim_in
from donewhen.session.checking import judge_tree, outcome, plain_results, summary
from donewhen.session.ending import Ending
from donewhen.session.entries import STOPPED
from donewhen.session.gates import WORDS, Gates, kind_of
from donewhen.session.ladder import climb
from donewhen.session.makers import maker_tree
from donewhen.session.meter import Allowance, Budget
from donewhen.session.opened import Opened
from donewhen.session.outcome import Outcome
from donewhen.session.recorder import Recorder
from donewhen.session.stopping import Stop
from donewhen.session.story import Plain, Round, Story
from donewhen.session.workplace import Workplace
from donewhen.storage.lease import Fenced
from donewhen.workspace import leftovers
from donewhen.workspace.maker import Maker


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
        self._place = place
        self._opened = opened
        self._recorder = recorder
        self._crew = crew
        self._scope = anyio.CancelScope()
        self._ending = Ending(place, opened, recorder)
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
        with self._scope:
            await anyio.lowlevel.checkpoint()  # a session that is cancelled before it began does nothing
            ended = await self._to_the_end()
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
        if "contract" in story.gates and (ended := await self._proposed_contract()) is not None:
            return ended
        if story.baseline is None:
            self._recorder.move("judging")
            verdict = await self._judge(await self._place.store.tree_of(self._opened.base), "baseline")
            self._recorder.write(BaselineCompleted(results=tuple(plain_results(verdict))))
        wanted = self._opened.settings.flag("contract", "allow_green")
        if not wanted and baseline_is_green(story, self._opened.contract):
            return await self._ending.finish("already_satisfied", "every check is green without any work")
        if story.landing is not None:
            return await self._land_again(story.landing)
        if "amendment" in story.gates:
            return await self._amendment()
        return await self._conclude(await self._climb())

    # -- the contract and the baseline --

    async def _proposed_contract(self) -> Outcome | None:
        decision = await self.gates.ask("contract", self._opened.contract.render())
        if decision is None:
            return self._ending.wait(reason=WORDS["contract"])
        return None if decision else await self._ending.finish("rejected", "the proposed contract was refused")

    async def _judge(self, candidate: str, phase: Phase, as_is: bool = False) -> Verdict:
        base, emit = self._opened.base, self._recorder.emit
        return await judge_tree(
            self._place, self._opened.contract, base=base, candidate=candidate, emit=emit, phase=phase, as_is=as_is
        )

    # -- the work --

    async def _climb(self) -> Stop:
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
                said=self._said,
            )
            try:
                if self._opened.plans and (stop := await _stop_for_plan(bench, crew)) is not None:
                    return stop
                return await climb(bench, crew.rungs)
            finally:
                with anyio.CancelScope(shield=True):
                    await crew.leave()

    async def _conclude(self, stop: Stop) -> Outcome:
        story = self._recorder.story
        if stop.kind == "waits" or (stop.kind == "declined" and stop.word == "sign_in"):
            return self._ending.wait(reason=stop.reason)
        if stop.kind == "refused":
            return await self._ending.finish("rejected", stop.reason)
        if stop.kind == "declined":
            return await self._ending.finish("failed", stop.reason)
        if stop.kind == "green":
            judged = story.rounds[-1].judged or {}
            return await self._land(
                await self._ending.intend(str(judged["tree"]), str(judged["receipt"]), judged["results"])
            )
        if stop.kind == "claim":
            return await self._claimed(story.rounds[-1])
        judged = story.last_judged or {}
        if judged.get("edits") and (await self._judge(str(judged["candidate"]), "final", as_is=True)).green:
            return await self._amendment()
        names = {"iterations": "red", "no_progress": "no_progress", "model_failed": "failed", "budget": "budget"}
        name = names[stop.kind]
        if name == "red" and {status for _, status in judged.get("failing", [])} == {"flaky"}:
            name = "flaky"
        return await self._ending.finish(name, stop.reason)

    async def _claimed(self, last: Round) -> Outcome:
        """Nothing should change: taken by itself only where nothing contradicts it, else a person reads it."""
        claim = claim_in(last)
        assert claim is not None
        if claim.kind == "premise_wrong" and baseline_is_green(self._recorder.story, self._opened.contract):
            return await self._ending.finish("no_change", claim.summary)
        decision = await self.gates.ask(f"no_change-{last.n}", f"{claim.kind}: {claim.summary}\n\n{claim.evidence}")
        if decision is None:
            return self._ending.wait(reason=WORDS["no_change"])
        if decision:
            return await self._ending.finish("no_change", claim.summary)
        return await self._work()

    # -- the end --

    async def _amendment(self) -> Outcome:
        """Only the edits of protected paths stand between the work and green: a person decides whether they count."""
        judged = self._recorder.story.last_judged or {}
        candidate = str(judged["candidate"])
        paths = "\n".join(f"{path} ({action}): {reason}" for path, action, reason in judged["edits"])
        diff = await self._place.store.patch(str(judged["tree"]), candidate)
        decision = await self.gates.ask("amendment", f"{paths}\n\n{diff.decode('utf-8', 'replace')}")
        if decision is None:
            return self._ending.wait(reason=WORDS["amendment"])
        if not decision:
            return await self._ending.finish("rejected", "a person refused the edits of protected paths")
        verdict = await self._judge(candidate, "final", as_is=True)
        if not verdict.green:
            return await self._ending.finish(outcome(verdict), f"approved, but judged again: {summary(verdict)}")
        story = self._recorder.story
        costs = receipts.Costs(duration_ms=round(story.active_secs * 1000), tokens=story.tokens, usd=story.usd)
        text = await receipts.made(self._place, verdict, self._opened.contract, costs, as_is=True, amended=True)
        return await self._land(await self._ending.intend(verdict.tree, text, plain_results(verdict)))

    async def _land_again(self, plan: Plain) -> Outcome:
        """A landing that was interrupted or refused; going on with the session is a yes to trying it again."""
        story = self._recorder.story
        if any(gate.kind == "landing" and gate.decision == "denied" for gate in story.gates.values()):
            return await self._ending.finish("rejected", "a person refused the landing", tree=str(plan["tree"]))
        if story.gate is not None and story.gate.kind == "landing":
            self.gates.decide(True, "the session goes on")
        return await self._land(plan)

    async def _land(self, plan: Plain) -> Outcome:
        landed: Outcome | None = None
        try:
            with anyio.CancelScope(shield=True):  # it has landed or it has not; there is nothing between
                landed = await self._ending.land(plan)
        except Fenced:
            raise
        except (DonewhenError, OSError) as error:
            self._recorder.emit(Error(kind="landing", message=str(error)))
            return await self._not_landed(plan, str(error))
        assert landed is not None  # a shielded scope is not cancelled
        return landed

    async def _not_landed(self, plan: Plain, why: str) -> Outcome:
        tries = sum(kind_of(id) == "landing" for id in self._recorder.story.gates)
        last = self._recorder.story.gates.get(f"landing-{tries}")
        number = tries if last is not None and not last.decision else tries + 1
        decision = await self.gates.ask(f"landing-{number}", why)
        if decision is None:
            return self._ending.wait(reason=f"{WORDS['landing']}: {why}")
        if decision:
            return await self._land(plan)
        return await self._ending.finish("rejected", "a person refused the landing", tree=str(plan["tree"]))


async def _stop_for_plan(bench: Workbench, crew: Crew) -> Stop | None:
    from donewhen.session import plans  # most sessions have none

    return await plans.stop_for(bench, crew.rungs)


def baseline_is_green(story: Story, contract: Contract) -> bool:
    """Whether every check that decides was green before any work."""
    results = {one["name"]: one["status"] for one in (story.baseline or {}).get("results", [])}
    today = datetime.datetime.now().astimezone().date()
    deciding = [check.name for check in contract.checks if not check.in_quarantine(today)]
    return bool(deciding) and all(results.get(name) == "pass" for name in deciding)


@contextlib.asynccontextmanager
async def maker_of(place: Workplace, opened: Opened, recorder: Recorder) -> AsyncGenerator[Maker]:
    """The tree that is worked in: the one the log names, with all that was made in it, or a new one."""
    tree = await maker_tree(place, opened, recorder)
    try:
        yield Maker(place.trees, tree, place.room(tree))
    finally:
        leftovers.let_go(tree)
