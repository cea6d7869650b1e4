"""The end of a loop round: what the gate decides, the escalation that waits for a person, the action and its receipt.

What will be done is in the log before it is done. An action whose result is unknown after a crash is repeated only if
that has no second effect; else a person decides again.
"""

import contextlib
import datetime
from dataclasses import asdict, dataclass, replace

from donewhen.errors import DonewhenError
from donewhen.events import Event, GateOpened, Landed
from donewhen.loops.action import ActionContext, ActionReceipt
from donewhen.loops.actions import admission, carry_out, describe, may_repeat, published_besides
from donewhen.loops.gate import ActionProposal, GateOpinion, decide
from donewhen.loops.loop_records import LoopWork, WorkStatus
from donewhen.loops.notes import NOTEBOOK, ActionBegun, ActionDone, LoopProposal
from donewhen.loops.round_facts import RoundFacts
from donewhen.loops.round_outcome import RoundOutcome
from donewhen.loops.round_store import RoundStore
from donewhen.loops.spec import ActionKind
from donewhen.session.check.judge_tree import check_results, summary
from donewhen.session.check.rejudging import Rejudging
from donewhen.session.conclude import land as landing
from donewhen.session.conclude.conclude import landing_plan
from donewhen.session.log.notes import Judged, LandingIntent
from donewhen.session.log.writer import StepNotebook
from donewhen.session.outcome import Outcome, SessionResult
from donewhen.session.person.gates import GateDecision, GateKind, is_expired
from donewhen.session.session import SessionParts
from donewhen.storage.lease import LeaseLost
from donewhen.workspace.git.objects import FILE as FILE_MODE

SESSION_OUTCOMES = {
    RoundOutcome.REPORTED: Outcome.NO_CHANGE,
    RoundOutcome.SKIPPED: Outcome.NO_CHANGE,
    RoundOutcome.PROCEEDED: Outcome.VERIFIED,
    RoundOutcome.BUDGET: Outcome.BUDGET,
    RoundOutcome.FAILED: Outcome.FAILED,
    RoundOutcome.ESCALATED: Outcome.REJECTED,
}
"""The outcome of the session of a round that has ended. An escalation ends when a person denies it."""
ON_OWN_BRANCH = (ActionKind.BRANCH, ActionKind.OPEN_PR)
EXPIRED = "expired"
BEGUN = "; the action was begun and its result is unknown"


@dataclass(slots=True)
class RoundEnding:
    facts: RoundFacts
    store: RoundStore
    parts: SessionParts

    async def propose(self, judged: Judged, unverified: str) -> SessionResult:
        """Let the gate decide what becomes of the work. `unverified` says why it is not verified."""
        parts, facts = self.parts, self.facts
        proposal = await self._proposal(judged, unverified)
        decision = await decide(facts.spec, proposal, parts.workplace.repo.root, parts.workplace.launcher)
        if decision.proceeds and (why := self.store.why_not_alone(parts.workplace.repo.root, facts.spec)):
            decision = GateOpinion(False, why)
        if decision.proceeds and (besides := await published_besides(self._context(_intent_of(judged)))):
            decision = GateOpinion(False, f"a pull request would be opened{besides}")
        if facts.record.dry_run:
            would = await describe(self._context(_intent_of(judged)))
            how = "it would proceed" if decision.proceeds else f"it would wait for a person: {decision.reason}"
            facts.action = ActionReceipt(kind=proposal.action, summary=f"not carried out (dry run): {would}")
            return await self.finish(RoundOutcome.REPORTED, how)
        await self._intend(judged)
        note = LoopProposal(
            kind=proposal.action,
            verified=proposal.verified,
            proceeds=decision.proceeds,
            reason=decision.reason,
            finding=facts.finding,
            summary=proposal.summary,
            onto=parts.workplace.repo.branch,
            shown=asdict(proposal),
        )
        self._notebook.write(note.as_note())
        return await self.go_on()

    async def propose_comments(self, unverified: str) -> SessionResult:
        """Let the gate decide about comments. No file is changed."""
        base = await self.parts.workplace.store.tree_of(self.parts.start_record.base)
        return await self.propose(Judged(n=0, green=not unverified, tree=base), unverified)

    async def _proposal(self, judged: Judged, unverified: str) -> ActionProposal:
        parts, facts, tree = self.parts, self.facts, judged.tree or ""
        store, base = parts.workplace.store, await parts.workplace.store.tree_of(parts.start_record.base)
        counts = [*(await store.line_counts(base, tree)).values()]
        known = [one for one in counts if one is not None]
        changes = await store.diff(base, tree)
        return ActionProposal(
            loop=facts.spec.name,
            session=parts.start_record.session,
            level=facts.spec.level.value,
            action=facts.spec.action.kind.value,
            summary=facts.summary(),
            verified=not unverified,
            unverified_reason=unverified,
            paths=tuple(change.path for change in changes),
            special_paths=tuple(one.path for one in changes if one.new is not None and one.new.mode != FILE_MODE),
            insertions=sum(one.added for one in known),
            deletions=sum(one.removed for one in known),
            binary_files=len(counts) - len(known),
            usd=facts.usd(),
            tokens=facts.state.tokens,
            tree=tree,
            base=parts.start_record.base,
            finding=facts.finding,
        )

    async def _intend(self, judged: Judged) -> None:
        """Write down the tree, so that nothing else can be carried out."""
        parts = self.parts
        if judged.receipt:
            await parts.ending.intend(judged.tree or "", judged.receipt, judged.results or ())
            return
        await parts.workplace.store.keep(f"sessions/{parts.start_record.session}/judged", judged.tree or "")
        parts.log.write(note=_intent_of(judged).note(), sync=True)

    async def go_on(self) -> SessionResult:
        """Continue after the gate has decided: carry the action out, wait for a person, or end."""
        facts, proposal, gate = self.facts, self.facts.proposal, self.facts.gate
        assert proposal is not None  # it was written before
        facts.finding = proposal.finding
        if gate is None:
            is_done, top = bool(ActionDone.all_in(self._notebook.notes())), self.parts.workplace.repo.root
            if proposal.proceeds and not is_done and (why := self.store.why_not_alone(top, facts.spec)):
                return await self._escalate(f"{why}{BEGUN if ActionBegun.all_in(self._notebook.notes()) else ''}")
            return await (self._act("") if proposal.proceeds else self._escalate(proposal.reason))
        if not gate.decision and is_expired(gate):
            self.parts.gates.decide(False, EXPIRED)
        if facts.state.deciders.get(gate.id) == EXPIRED:  # also if the process died right after it
            facts.decision = EXPIRED
        facts.decision = facts.decision or gate.decision
        if not gate.decision:
            return self.parts.ending.wait(reason=gate.reason)
        return await (self._act(gate.id) if gate.decision == GateDecision.APPROVED else self._deny())

    async def _escalate(self, reason: str) -> SessionResult:
        """Keep the work as a branch, and let it wait in the inbox."""
        parts, facts, spec = self.parts, self.facts, self.facts.spec
        kept = await self._keep_work()
        number = 1 + sum(one.kind == GateKind.LOOP_ACTION for one in facts.state.gates.values())
        until = datetime.datetime.now(datetime.UTC) + datetime.timedelta(days=spec.expires_days)
        would = await describe(self._context(facts.landing))
        gate = GateOpened(
            gate=GateKind.LOOP_ACTION,
            id=GateKind.LOOP_ACTION.id(number),
            reason=f"loop {spec.name}: {reason}",
            detail="\n".join([reason, f"approval will {would}", *([f"the work is on {kept.branch}"] if kept else [])]),
            expires_at=until.isoformat(timespec="seconds") if spec.expires_days else None,
        )
        self.store.opened(spec.name, self.keys, parts.start_record.session, reason)
        is_new = kept is not None and facts.state.landed is None
        landed = [Landed(branch=kept.branch, commit=kept.commit)] if kept is not None and is_new else []
        finished = facts.finished(RoundOutcome.ESCALATED, reason)
        return parts.ending.wait(*landed, gate, finished, reason=gate.reason)

    async def _act(self, gate: str) -> SessionResult:
        """Carry the action out once. `gate` is where a person approved it; empty if the gate let it proceed."""
        facts = self.facts
        done = ActionDone.all_in(self._notebook.notes())
        if not done and not facts.landing.receipt and await self._has_change() and (red := await self._still_red()):
            return await self._escalate(f"approved, but not carried out: {red}")
        if not done:
            async with admission(self._context(facts.landing)) as obstacle:
                if obstacle:  # nothing is used up: the work waits for another decision
                    return await self._escalate(f"{'approved, but ' if gate else ''}not carried out: {obstacle}")
                if (ended := await self._carry_out(gate)) is not None:
                    return ended
            done = ActionDone.all_in(self._notebook.notes())
        facts.action = ActionReceipt.load(done[-1].receipt)
        made, branch = facts.action.commit, facts.action.branch
        if ActionKind(facts.action.kind) in ON_OWN_BRANCH:  # it is not merged yet
            work = self._work(WorkStatus.OPEN, made)
        else:
            work = self._work(WorkStatus.KEPT, made, branch, made)
        self.store.acted(facts.spec.name, self.keys, work, facts.action.summary)
        landed = [Landed(branch=branch, commit=made)] if made else []
        proposal = facts.proposal
        reason = "a person approved it" if gate else proposal.reason if proposal is not None else ""
        return await self.finish(RoundOutcome.PROCEEDED, reason, *landed)

    async def _carry_out(self, gate: str) -> SessionResult | None:
        """Carry the action out and write its receipt down. Return how the round ends if it is not carried out."""
        facts, kind = self.facts, self.facts.spec.action.kind
        begun = {one.gate for one in ActionBegun.all_in(self._notebook.notes())}
        if gate in begun and not may_repeat(kind):
            return await self._escalate("the action was begun and its result is unknown; approval repeats it")
        if gate not in begun:
            now = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
            self._notebook.write(ActionBegun(gate, now).as_note())
        try:
            receipt = await carry_out(replace(self._context(facts.landing), is_repeated=bool(begun)))
        except LeaseLost:
            raise
        except (DonewhenError, OSError) as error:
            kept = None
            with contextlib.suppress(DonewhenError):  # a person may have changed the branch
                kept = await self._keep_work()
            where = f"; the work is on {kept.branch}" if kept is not None else ""
            session = self.parts.start_record.session
            failure = f"{kind.value} failed: {error}{where}; try again: donewhen resume {session}"
            if await self._has_change():  # it waits to be tried again, and is not made again
                self.store.opened(facts.spec.name, self.keys, session, failure)
            return await self.finish(RoundOutcome.FAILED, failure)
        self._notebook.write(ActionDone(receipt.plain()).as_note())
        return None

    def _work(self, status: WorkStatus, made: str = "", onto: str = "", seen_at: str = "") -> LoopWork:
        proposal = self.facts.proposal
        return LoopWork(
            session=self.parts.start_record.session,
            action=self.facts.spec.action.kind.value,
            onto=onto or self._onto,
            made=made,
            is_verified=proposal is not None and proposal.verified,
            status=status,
            seen_at=seen_at,
            at=datetime.datetime.now(datetime.UTC),
        )

    async def _has_change(self) -> bool:
        base = await self.parts.workplace.store.tree_of(self.parts.start_record.base)
        return self.facts.landing.tree != base

    async def _keep_work(self) -> landing.Landing | None:
        """Keep the work as a branch; None if no file is changed."""
        return await landing.land_branch(self.parts.workplace, self._plan) if await self._has_change() else None

    async def _still_red(self) -> str:
        """Judge work again that was red when it was escalated. Return what is red; empty if it is green now."""
        parts, plan = self.parts, self._plan
        judge = Rejudging(parts.workplace, parts.start_record.contract, parts.log)
        verdict = await judge.rejudge(plan.base, plan.tree)
        if not verdict.green:
            return f"the contract is red: {summary(verdict)}"
        intent = self.facts.landing.changed(
            receipt=await judge.write_receipt(verdict), results=check_results(verdict), tree=verdict.tree
        )
        parts.log.write(note=intent.note(), sync=True)
        return ""

    async def _deny(self) -> SessionResult:
        parts, spec = self.parts, self.facts.spec
        if self.facts.decision == EXPIRED:
            why = "it expired without a decision"
            self.store.expired(spec.name, self.keys, parts.start_record.session, why)
        else:
            why = "a person denied it"
            if line := self.store.denied(spec, self.keys, self._work(WorkStatus.DENIED), why):
                parts.say(f"note: {line}")
        left = await landing.remove_landed_branch(parts.workplace, parts.start_record.session)
        return await self.finish(RoundOutcome.ESCALATED, f"{why}; {left}" if left else why)

    async def nothing_to_do(self, reason: str) -> SessionResult:
        """End a round that cost something and found nothing: it is not run again at the same commit and inputs."""
        parts = self.parts
        if not self.facts.record.dry_run:
            self.store.nothing_to_do(self.facts.spec.name, self.keys[1], parts.start_record.session)
        return await self.finish(RoundOutcome.SKIPPED, reason)

    async def finish(self, outcome: RoundOutcome, reason: str, *events: Event) -> SessionResult:
        """End the round and its session."""
        facts, parts = self.facts, self.parts
        facts.outcome = outcome
        if outcome is RoundOutcome.REPORTED and not facts.record.dry_run:
            self.store.reported(facts.spec.name, self.keys, parts.start_record.session)
        tree = facts.landing.tree if facts.state.landing is not None else ""
        if facts.gate is not None:
            self.store.decided(parts.start_record.session, facts.finished(outcome, reason))
        return await parts.ending.finish(SESSION_OUTCOMES[outcome], reason, *events, tree=tree)

    @property
    def keys(self) -> tuple[str, ...]:
        return self.facts.finding, self.facts.occasion(self.parts.start_record.base), self.facts.problem

    @property
    def _plan(self) -> landing.LandingPlan:
        return landing_plan(self.parts.start_record, self.facts.landing)

    @property
    def _notebook(self) -> StepNotebook:
        return StepNotebook(self.parts.log, NOTEBOOK)

    def _context(self, intent: LandingIntent) -> ActionContext:
        return ActionContext(
            parts=self.parts,
            spec=self.facts.spec,
            plan=landing_plan(self.parts.start_record, intent),
            finished=self.facts.finished(RoundOutcome.PROCEEDED, ""),
            finding=self.facts.finding,
            onto=self._onto,
        )

    @property
    def _onto(self) -> str:
        proposal = self.facts.proposal
        return (proposal.onto if proposal is not None else "") or self.parts.workplace.repo.branch


def _intent_of(judged: Judged) -> LandingIntent:
    now = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
    return LandingIntent(tree=judged.tree or "", receipt="", at=now, results=judged.results or ())
