"""From the reason to stop to the outcome: what lands, what waits for a person, what is not done.

When to stop is decided before, and how an end is written down is `ending`.
"""

import datetime

import anyio

from donewhen.errors import DonewhenError
from donewhen.events import Error
from donewhen.judge.contract import Contract
from donewhen.judge.verdict import Verdict
from donewhen.session import receipts
from donewhen.session.attempting import claim_in
from donewhen.session.checking import judge_tree, outcome, plain_results, summary
from donewhen.session.ending import Ending
from donewhen.session.gates import WORDS, Gates, kind_of
from donewhen.session.opened import Opened, is_planned
from donewhen.session.outcome import Outcome
from donewhen.session.recorder import Recorder
from donewhen.session.stopping import Stop
from donewhen.session.story import Plain, Round, Story
from donewhen.session.workplace import Workplace
from donewhen.storage.lease import Fenced
from donewhen.workspace.store.bare import LARGEST_SHOWN


class Conclusion:
    def __init__(self, place: Workplace, opened: Opened, recorder: Recorder, gates: Gates) -> None:
        self._place = place
        self._opened = opened
        self._recorder = recorder
        self._gates = gates
        self._ending = Ending(place, opened, recorder)

    async def conclude(self, stop: Stop) -> Outcome | None:
        """The outcome; None where a person sent the work back."""
        story = self._recorder.story
        if stop.kind == "waits" or (stop.kind == "declined" and stop.word == "sign_in"):
            return self._ending.wait(reason=stop.reason)
        if stop.kind == "refused":
            return await self._ending.finish("rejected", stop.reason)
        if stop.kind == "declined":
            return await self._ending.finish("failed", stop.reason)
        if stop.kind == "green":
            return await self._intend_and_land(story.rounds[-1].judged or {})
        if stop.kind == "claim":
            return await self._claimed(story.rounds[-1])
        if stop.kind == "inconclusive":
            return await self._doubted(story.rounds[-1])
        judged = story.last_judged or {}
        if judged.get("green"):  # somebody who was asked as well refused it, and there was no more work on it
            return await self._ending.finish("rejected", _refusal(story, stop))
        if judged.get("edits") and (await self._judge_as_is(str(judged["candidate"]))).green:
            return await self.amendment()
        names = {"iterations": "red", "no_progress": "no_progress", "model_failed": "failed", "budget": "budget"}
        name = names[stop.kind]
        if name == "red" and {status for _, status in judged.get("failing", [])} == {"flaky"}:
            name = "flaky"
        return await self._ending.finish(name, stop.reason)

    async def _intend_and_land(self, judged: Plain) -> Outcome:
        return await self._land(
            await self._ending.intend(str(judged["tree"]), str(judged["receipt"]), judged["results"])
        )

    async def _doubted(self, last: Round) -> Outcome:
        """Nobody could say whether green work is good enough: a person decides."""
        decision = await self._gates.ask(f"evaluation-{last.n}", str((last.opinion or {})["summary"]))
        if decision is None:
            return self._ending.wait(reason=WORDS["evaluation"])
        if decision:
            return await self._intend_and_land(last.judged or {})
        return await self._ending.finish("rejected", "a person refused the work after an evaluation without conclusion")

    async def _claimed(self, last: Round) -> Outcome | None:
        """Nothing should change: taken by itself only where nothing contradicts it, else a person reads it."""
        claim = claim_in(last)
        assert claim is not None
        if claim.kind == "premise_wrong" and baseline_is_green(self._recorder.story, self._opened.contract):
            return await self._ending.finish("no_change", claim.summary)
        decision = await self._gates.ask(f"no_change-{last.n}", f"{claim.kind}: {claim.summary}\n\n{claim.evidence}")
        if decision is None:
            return self._ending.wait(reason=WORDS["no_change"])
        if decision:
            return await self._ending.finish("no_change", claim.summary)
        return None

    async def amendment(self) -> Outcome:
        """Only the edits of protected paths stand between the work and green: a person decides whether they count."""
        judged = self._recorder.story.last_judged or {}
        candidate = str(judged["candidate"])
        paths = "\n".join(f"{path} ({action}): {reason}" for path, action, reason in judged["edits"])
        diff = await self._place.store.patch(str(judged["tree"]), candidate, LARGEST_SHOWN)
        if is_planned(self._opened.settings):
            paths = (
                f"No evaluator has looked at this work: only what is green without these edits is evaluated.\n\n{paths}"
            )
        decision = await self._gates.ask("amendment", f"{paths}\n\n{diff.decode('utf-8', 'replace')}")
        if decision is None:
            return self._ending.wait(reason=WORDS["amendment"])
        if not decision:
            return await self._ending.finish("rejected", "a person refused the edits of protected paths")
        verdict = await self._judge_as_is(candidate)
        if not verdict.green:
            return await self._ending.finish(outcome(verdict), f"approved, but judged again: {summary(verdict)}")
        story = self._recorder.story
        costs = receipts.Costs(duration_ms=round(story.active_secs * 1000), tokens=story.tokens, usd=story.usd)
        text = await receipts.made(self._place, verdict, self._opened.contract, costs, as_is=True, amended=True)
        return await self._land(await self._ending.intend(verdict.tree, text, plain_results(verdict)))

    async def land_again(self, plan: Plain) -> Outcome:
        """A landing that was interrupted or refused; going on with the session is a yes to trying it again."""
        story = self._recorder.story
        if any(gate.kind == "landing" and gate.decision == "denied" for gate in story.gates.values()):
            return await self._ending.finish("rejected", "a person refused the landing", tree=str(plan["tree"]))
        if story.gate is not None and story.gate.kind == "landing":
            self._gates.decide(True, "the session goes on")
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
        decision = await self._gates.ask(f"landing-{number}", why)
        if decision is None:
            return self._ending.wait(reason=f"{WORDS['landing']}: {why}")
        if decision:
            return await self._land(plan)
        return await self._ending.finish("rejected", "a person refused the landing", tree=str(plan["tree"]))

    async def _judge_as_is(self, candidate: str) -> Verdict:
        base, emit = self._opened.base, self._recorder.emit
        return await judge_tree(
            self._place, self._opened.contract, base=base, candidate=candidate, emit=emit, phase="final", as_is=True
        )


def _refusal(story: Story, stop: Stop) -> str:
    summary = str(next((one.opinion["summary"] for one in reversed(story.rounds) if one.opinion), ""))
    return summary if stop.kind == "rejected" or not stop.reason else f"{summary}; and then: {stop.reason}"


def baseline_is_green(story: Story, contract: Contract) -> bool:
    """Whether every check that decides was green before any work."""
    results = {one["name"]: one["status"] for one in (story.baseline or {}).get("results", [])}
    today = datetime.datetime.now().astimezone().date()
    deciding = [check.name for check in contract.checks if not check.in_quarantine(today)]
    return bool(deciding) and all(results.get(name) == "pass" for name in deciding)
