"""End of a session: turns the reason to stop into an outcome. The work lands, or the session finishes or waits.

`Conclusion` decides which, and `Ending` writes it down. An intent is durable in the log before its effect. When to stop
is decided in `loop.stop_rules`.
"""

import datetime
from collections.abc import Callable, Sequence

import anyio

from donewhen.errors import DonewhenError
from donewhen.event_records import CheckResult
from donewhen.events import DiffReady, Error, Event, Landed, SessionFinished, StateChanged
from donewhen.judge.contract import Contract
from donewhen.judge.verdict import Verdict
from donewhen.session.check import receipts
from donewhen.session.check.judge_tree import TreeToJudge, check_results, judge_tree, outcome_of, summary
from donewhen.session.conclude import amendment
from donewhen.session.conclude import land as landing
from donewhen.session.log import handoff
from donewhen.session.log.notes import AmendmentIntent, LandingIntent
from donewhen.session.log.start_record import StartRecord
from donewhen.session.log.state import Round, SessionState
from donewhen.session.log.writer import LogWriter
from donewhen.session.loop.stop_rules import Stop
from donewhen.session.outcome import OF_STOP, Outcome, SessionResult
from donewhen.session.person.gates import GateDecision, GateKind, Gates
from donewhen.session.workplace import Workplace
from donewhen.storage.lease import LeaseLost

ClosingEvents = Callable[[Outcome, str], Sequence[Event]]
"""Returns what else is reported when a session ends with this outcome and reason."""


def no_closing_events(outcome: Outcome, reason: str) -> Sequence[Event]:
    del outcome, reason
    return ()


class Ending:
    def __init__(
        self,
        workplace: Workplace,
        start_record: StartRecord,
        log: LogWriter,
        closing_events: ClosingEvents = no_closing_events,
    ) -> None:
        self._workplace = workplace
        self._start_record = start_record
        self._log = log
        self._closing_events = closing_events

    async def intend(self, tree: str, receipt_text: str, results: tuple[CheckResult, ...]) -> LandingIntent:
        """Write down what will be landed, before anything is written to the user's repository. Return that plan."""
        digest = await receipts.keep(self._workplace, receipt_text)
        await self._workplace.store.keep(f"sessions/{self._start_record.session}/judged", tree)
        now = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
        plan = LandingIntent(tree=tree, receipt=digest, at=now, results=results)
        self._log.write(await self._diff(tree), note=plan.note(), sync=True)
        return plan

    async def land(self, plan: LandingIntent) -> SessionResult:
        """Land the judged tree where the settings say. Repeating it after a crash changes nothing."""
        how = self._start_record.settings.text("engine", "land")
        events: list[Event] = []
        if how != "none":
            land = landing.land_apply if how == "apply" else landing.land_branch
            landed = await land(self._workplace, landing_plan(self._start_record, plan))
            events.append(Landed(branch=landed.branch, commit=landed.commit, note=landed.note))
        return await self.finish(Outcome.VERIFIED, "every check passed", *events, tree=plan.tree)

    async def finish(self, outcome: Outcome, reason: str, *events: Event, tree: str = "") -> SessionResult:
        """Write the outcome to the log. Unless it is a success, also write the handoff file for a person."""
        state, start_record = self._log.state, self._start_record
        judged = state.last_judged
        results = results_at_end(state)
        written = list(events)
        if not tree and judged is not None and judged.tree:
            tree = judged.tree
            written.append(await self._diff(tree))
        passed = sum(one.status == "pass" for one in results)
        summary = f"{outcome}: {passed} of {len(results)} checks passed"
        refused = judged.refused if judged is not None and not state.landing else None
        if refused:
            reason = f"{reason}; the last work was refused and not judged: {refused}"
            summary = f"{outcome}: the last work was refused and not judged: {refused}"
        finished = SessionFinished(
            outcome=outcome,
            reason=reason,
            iterations=state.iterations,
            results=results,
            summary=summary,
            tree=tree or await self._workplace.store.tree_of(start_record.base),
            refused=(judged.refused_paths or ()) if judged is not None and refused else (),
        )
        if outcome is Outcome.VERIFIED and start_record.loop is None:  # of a round, an approval is for what was shown
            offer = await amendment.offer(self._workplace, start_record, state, tree)
            written += [offer] if offer is not None else []
        written += self._closing_events(outcome, reason)
        moved = [StateChanged(from_=state.run_state, to="finished")] if state.run_state != "finished" else []
        self._log.write(*written, *moved, finished, sync=True)
        if outcome.is_success:
            handoff.remove(start_record.session)  # from an earlier end of the session
        else:
            handoff.write(start_record.session, state)
        return SessionResult(start_record.session, outcome, reason)

    def wait(self, *events: Event, reason: str) -> SessionResult:
        """Let the session wait for a person or for time."""
        state = self._log.state
        moved = [StateChanged(from_=state.run_state, to="waiting")] if state.run_state != "waiting" else []
        if events or moved:
            self._log.write(*events, *moved, sync=True)
        return SessionResult(self._start_record.session, Outcome.WAITING, reason)

    async def _diff(self, tree: str) -> DiffReady:
        size = await self._workplace.store.diffstat(await self._workplace.store.tree_of(self._start_record.base), tree)
        return DiffReady(files=size.files, insertions=size.insertions, deletions=size.deletions)


def landing_plan(start_record: StartRecord, plan: LandingIntent | AmendmentIntent) -> landing.LandingPlan:
    return landing.LandingPlan(
        session=start_record.session,
        intent=start_record.intent,
        base=start_record.base,
        tree=plan.tree,
        parent=start_record.parent,
        receipt_digest=plan.receipt,
        at=plan.at,
    )


class Conclusion:
    def __init__(
        self, workplace: Workplace, start_record: StartRecord, log: LogWriter, gates: Gates, ending: Ending
    ) -> None:
        self._workplace = workplace
        self._start_record = start_record
        self._log = log
        self._gates = gates
        self._ending = ending

    @property
    def is_begun(self) -> bool:
        """True if the log holds a conclusion that is not complete: `go_on` continues it."""
        return self._log.state.landing is not None or GateKind.AMENDMENT in self._log.state.gates

    async def go_on(self) -> SessionResult | None:
        """Continue a conclusion that was interrupted, or that a person has decided on."""
        plan = self._log.state.landing
        return await (self._retry_landing(plan) if plan is not None else self._decide_amendment())

    async def conclude(self, stop: Stop) -> SessionResult | None:
        """Return the outcome; None if a person sent the work back."""
        state = self._log.state
        if stop.kind == "waits" or (stop.kind == "declined" and stop.code == "sign_in"):
            return self._ending.wait(reason=stop.reason)
        if stop.kind in ("refused", "declined"):
            return await self._ending.finish(OF_STOP[stop.kind], stop.reason)
        if stop.kind == "green":
            return await self._intend_and_land(state.rounds[-1])
        if stop.kind == "claim":
            return await self._decide_claim(state.rounds[-1])
        if stop.kind == "inconclusive":
            return await self._decide_evaluation(state.rounds[-1])
        judged = state.last_judged
        if judged is not None and judged.green:  # the evaluation did not pass, and no further round followed
            return await self._ending.finish(Outcome.REJECTED, _rejection_reason(state, stop))
        if judged is not None and judged.edits:
            verdict = await self._judge_as_is(judged.candidate or "")
            if verdict.green:
                gate = await amendment.gate(self._workplace, self._start_record, state, verdict)
                self._gates.open(gate)
                return await self._decide_amendment()
        outcome = OF_STOP[stop.kind]
        if outcome is Outcome.RED and judged is not None and {one.status for one in judged.failing} == {"flaky"}:
            outcome = Outcome.FLAKY
        return await self._ending.finish(outcome, stop.reason)

    async def _intend_and_land(self, last: Round) -> SessionResult:
        judged = last.judged
        assert judged is not None and judged.tree is not None  # it is green
        return await self._land(await self._ending.intend(judged.tree, judged.receipt or "", judged.results or ()))

    async def _decide_evaluation(self, last: Round) -> SessionResult:
        """Let a person decide on green work for which the evaluation came to no conclusion."""
        assert last.opinion is not None
        decision = await self._gates.ask(GateKind.EVALUATION, last.n, last.opinion.summary)
        if decision is None:
            return self._ending.wait(reason=GateKind.EVALUATION.reason)
        if decision is GateDecision.APPROVED:
            return await self._intend_and_land(last)
        return await self._ending.finish(
            Outcome.REJECTED, "a person rejected the work after an inconclusive evaluation"
        )

    async def _decide_claim(self, last: Round) -> SessionResult | None:
        """Handle the claim that nothing should change. Accept it without a person only if nothing contradicts it."""
        claim = last.attempted.claim if last.attempted is not None else None
        assert claim is not None
        if claim.kind == "premise_wrong" and baseline_is_green(self._log.state, self._start_record.contract):
            return await self._ending.finish(Outcome.NO_CHANGE, claim.summary)
        detail = f"{claim.kind}: {claim.summary}\n\n{claim.evidence}"
        decision = await self._gates.ask(GateKind.NO_CHANGE, last.n, detail)
        if decision is None:
            return self._ending.wait(reason=GateKind.NO_CHANGE.reason)
        if decision is GateDecision.APPROVED:
            return await self._ending.finish(Outcome.NO_CHANGE, claim.summary)
        return None

    async def _decide_amendment(self) -> SessionResult:
        """Let a person decide at the open gate whether edits of protected paths count."""
        judged, kind = self._log.state.last_judged, GateKind.AMENDMENT
        assert judged is not None and judged.candidate is not None  # only judged work has such edits
        candidate = judged.candidate
        decision = await self._gates.ask_again(kind, kind.id(), self._log.state.gates[kind.id()].detail)
        if decision is None:
            return self._ending.wait(reason=GateKind.AMENDMENT.reason)
        if decision is GateDecision.DENIED:
            return await self._ending.finish(Outcome.REJECTED, "a person denied the edits of protected paths")
        verdict = await self._judge_as_is(candidate)
        if not verdict.green:
            return await self._ending.finish(
                outcome_of(verdict), f"approved, but the new verdict is: {summary(verdict)}"
            )
        costs = receipts.ReceiptCosts.of(self._log.state)
        text = await receipts.receipt_text(
            self._workplace, verdict, self._start_record.contract, costs, as_is=True, amended=True
        )
        return await self._land(await self._ending.intend(verdict.tree, text, check_results(verdict)))

    async def _retry_landing(self, plan: LandingIntent) -> SessionResult:
        """Retry a landing that was interrupted or refused. Resuming the session counts as approval of the retry."""
        state = self._log.state
        if any(gate.kind == GateKind.LANDING and gate.decision == GateDecision.DENIED for gate in state.gates.values()):
            return await self._ending.finish(Outcome.REJECTED, "a person denied the landing", tree=plan.tree)
        if state.gate is not None and state.gate.kind == GateKind.LANDING:
            self._gates.decide(True, "the session continues")
        return await self._land(plan)

    async def _land(self, plan: LandingIntent) -> SessionResult:
        landed: SessionResult | None = None
        try:
            with anyio.CancelScope(shield=True):  # a landing must not be cancelled half-way
                landed = await self._ending.land(plan)
        except LeaseLost:
            raise
        except (DonewhenError, OSError) as error:
            self._log.emit(Error(kind="landing", message=str(error)))
            return await self._decide_landing(plan, str(error))
        assert landed is not None  # a shielded scope is not cancelled
        return landed

    async def _decide_landing(self, plan: LandingIntent, why: str) -> SessionResult:
        before = [gate for gate in self._log.state.gates.values() if gate.kind == GateKind.LANDING]
        is_open = bool(before) and not before[-1].decision
        decision = await self._gates.ask(GateKind.LANDING, len(before) + (not is_open), why)
        if decision is None:
            return self._ending.wait(reason=f"{GateKind.LANDING.reason}: {why}")
        if decision is GateDecision.APPROVED:
            return await self._land(plan)
        return await self._ending.finish(Outcome.REJECTED, "a person denied the landing", tree=plan.tree)

    async def _judge_as_is(self, candidate: str) -> Verdict:
        tree = TreeToJudge(base=self._start_record.base, candidate=candidate, as_is=True)
        return await judge_tree(self._workplace, self._start_record.contract, tree, self._log.emit)


def _rejection_reason(state: SessionState, stop: Stop) -> str:
    summary = next((one.opinion.summary for one in reversed(state.rounds) if one.opinion), "")
    return summary if stop.kind == "rejected" or not stop.reason else f"{summary}; then: {stop.reason}"


def results_at_end(state: SessionState) -> tuple[CheckResult, ...]:
    """Return the results of what will be landed, else of the last judged work, else of the baseline."""
    if state.landing is not None:
        return state.landing.results
    judged = state.last_judged
    return state.baseline_results if judged is None else judged.results or ()


def baseline_is_green(state: SessionState, contract: Contract) -> bool:
    """Return True if every check that decides (is not in quarantine) was green before any work."""
    results = {one.name: one.status for one in state.baseline_results}
    today = datetime.datetime.now().astimezone().date()
    deciding = [check.name for check in contract.checks if not check.in_quarantine(today)]
    return bool(deciding) and all(results.get(name) == "pass" for name in deciding)
