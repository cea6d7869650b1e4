"""One loop round: inputs, maker, contract, checker, gate, action, record. It is a session with these parts added.

Every step is in the log before the next one begins, so that a round continues after its process died. A round never
raises: every failure is an outcome, and what was reported before it is kept. `round_ending` has the gate and the
action.
"""

from collections.abc import Container, Sequence

import anyio

from donewhen.events import Event, RoundStarted
from donewhen.loops import prompts
from donewhen.loops.checker import BudgetUsedUp, Checker
from donewhen.loops.comments import comments_in
from donewhen.loops.finding import failing_ids, finding_key, touched_symbols
from donewhen.loops.inputs import InputFailed, has_nothing, read_inputs
from donewhen.loops.loop_records import FindingStatus
from donewhen.loops.notes import NOTEBOOK, CheckerDone, RoundBegan, RoundNamed
from donewhen.loops.round_ending import RoundEnding
from donewhen.loops.round_facts import RoundFacts
from donewhen.loops.round_outcome import RoundOutcome
from donewhen.loops.round_store import KNOWN_WORDS, UNSETTLED, RoundStore
from donewhen.loops.spec import LoopLevel, spec_of
from donewhen.printable import shortened
from donewhen.session.log.loop_record import LoopRecord
from donewhen.session.log.notes import Judged, Opinion
from donewhen.session.log.state import Round, SessionState
from donewhen.session.log.writer import StepNotebook
from donewhen.session.loop.budget import Allowance, Budget
from donewhen.session.loop.round_context import RoundContext
from donewhen.session.loop.stop_rules import Stop
from donewhen.session.outcome import Outcome, SessionResult
from donewhen.session.session import Crew, SessionParts

ROUND_OUTCOMES = {Outcome.BUDGET: RoundOutcome.BUDGET, Outcome.VERIFIED: RoundOutcome.PROCEEDED}
"""The outcome of a round whose session was ended elsewhere; every other one is a failure."""
NO_WORK = ("waits", "declined", "model_failed", "refused")
"""Stops after which there is nothing to conclude, unless the contract is green."""
FINISHED = ("done", "claim")
"""Ends of an attempt after which the maker has looked at everything that it wanted to see."""
REFUSED_BY_EVALUATOR = ("rejected", "inconclusive")
"""Stops after which the contract is green, and the evaluator of a plan does not accept the work."""
LONGEST_REASON = 300
UNVERIFIED = {"refuted": "the checker refuted it", "unproven": "the checker could not prove it"}


class LoopRound:
    def __init__(self, record: LoopRecord, state: SessionState, store: RoundStore) -> None:
        self._facts = RoundFacts(record, spec_of(record.table, ""), state)
        self._store = store
        self._opened: RoundEnding | None = None

    # -- before the work --

    async def prepare(self, parts: SessionParts) -> SessionResult | None:
        """Read the inputs. Return the outcome if there is nothing to do, or if they cannot be read."""
        self._opened = RoundEnding(self._facts, self._store, parts)
        facts, spec, notebook = self._facts, self._facts.spec, StepNotebook(parts.log, NOTEBOOK)
        if not RoundNamed.all_in(notebook.notes()):
            words = {"intent": spec.intent, "level": spec.level.value, "trigger": facts.record.trigger}
            notebook.write(RoundNamed(spec.name).as_note(), RoundStarted(loop=spec.name, **words))
        if facts.state.rounds or self.is_begun:
            return None
        if spent := self._store.used_up(spec):
            return await self._ending.finish(RoundOutcome.BUDGET, spent)
        if full := await self._store.too_many_open(parts.workplace, spec):
            return await self._ending.finish(RoundOutcome.SKIPPED, full)
        if facts.began is None:
            inputs, minutes = None, facts.allowance.minutes
            try:
                with anyio.move_on_after(minutes * 60 if minutes else None):
                    inputs = await read_inputs(parts.workplace, parts.start_record.base, spec)
            except InputFailed as error:
                return await self._ending.finish(RoundOutcome.FAILED, str(error))
            if inputs is None:
                used_up = f"minutes: used {minutes:g} for the inputs, allowed {minutes:g}"
                return await self._ending.finish(RoundOutcome.BUDGET, used_up)
            notebook.write(RoundBegan(self._store.recalled(spec.name), inputs).as_note())
        if has_nothing(spec, facts.inputs):
            return await self._ending.finish(RoundOutcome.SKIPPED, "nothing to do: the inputs are empty")
        # A report without inputs may be about anything, so it is written again.
        if spec.inputs or not facts.record.reads_only:
            known = self._known(facts.occasion(parts.start_record.base))
            return await self._ending.finish(RoundOutcome.SKIPPED, f"nothing is new: {known}") if known else None
        return None

    async def skip_known(self) -> SessionResult | None:
        """Return the outcome if what is red is a finding that is known, before a model is paid for it."""
        facts, spec = self._facts, self._facts.spec
        if facts.state.rounds or self.is_begun:
            return None
        if facts.record.reads_only:
            facts.finding = finding_key(spec.name, facts.inputs, failing_ids(facts.state), ())
            known = self._known(facts.finding)
        else:
            known = self._known(facts.problem, UNSETTLED)
        return await self._ending.finish(RoundOutcome.SKIPPED, known) if known else None

    def task(self) -> str:
        began, facts = self._facts.began, self._facts
        recalled = began.recalled if began is not None else ()
        return prompts.maker_task(facts.spec, recalled, facts.inputs, facts.state.baseline_results)

    def rules(self) -> str:
        return prompts.REPORT if self._facts.record.reads_only else ""

    def allowance(self) -> Allowance:
        return self._facts.allowance

    # -- the work --

    async def work(self, context: RoundContext, crew: Crew) -> Stop | None:
        """Let the maker of a report work. Other makers work on the ladder, with the contract."""
        if not self._facts.record.reads_only:
            return None
        from donewhen.loops.report_round import run_report_maker  # loaded on use: other rounds do not need it

        return await run_report_maker(context, crew.steps)

    # -- after the work --

    @property
    def is_begun(self) -> bool:
        return self._facts.proposal is not None

    async def go_on(self) -> SessionResult:
        return await self._ending.go_on()

    async def conclude(self, stop: Stop) -> SessionResult | None:
        """Return the outcome; None if the work goes back to the maker."""
        judged = self._facts.state.last_judged
        if stop.kind == "budget":
            return await self._ending.finish(RoundOutcome.BUDGET, stop.reason)
        if stop.kind in NO_WORK and not (judged is not None and judged.green):
            return await self._ending.finish(RoundOutcome.FAILED, stop.reason)
        if limit := self._facts.exceeded():
            return await self._ending.finish(RoundOutcome.BUDGET, limit)
        try:
            return await (self._conclude_report() if self._facts.record.reads_only else self._conclude_work(stop))
        except BudgetUsedUp as used_up:
            return await self._ending.finish(RoundOutcome.BUDGET, str(used_up))

    async def _conclude_report(self) -> SessionResult | None:
        facts = self._facts
        facts.finding = finding_key(facts.spec.name, facts.inputs, failing_ids(facts.state), ())
        attempted = facts.state.rounds[-1].attempted
        said = attempted.last_text if attempted is not None else ""
        if facts.spec.level is not LoopLevel.REPORT and not comments_in(said):
            return await self._ending.nothing_to_do("nothing to do: the maker proposes no comment")
        checked = await self._check(facts.state.rounds[-1])
        if checked is None:
            return None
        if limit := facts.exceeded():
            return await self._ending.finish(RoundOutcome.BUDGET, limit)
        reason = _unverified_words(checked) if checked.verdict in UNVERIFIED else ""
        if facts.spec.level is not LoopLevel.REPORT:
            return await self._ending.propose_comments(reason)
        return await self._ending.finish(RoundOutcome.REPORTED, reason)

    async def _conclude_work(self, stop: Stop) -> SessionResult | None:
        facts, parts, judged = self._facts, self._ending.parts, self._facts.state.last_judged
        if judged is None or not judged.tree:
            why = judged.refused if judged is not None and judged.refused else stop.reason
            return await self._ending.finish(RoundOutcome.FAILED, f"there is no work to judge: {why}")
        if judged.tree == await parts.workplace.store.tree_of(parts.start_record.base):
            return await self._nothing_changed(judged, stop)
        symbols = await touched_symbols(parts.workplace, parts.start_record.base, judged.tree)
        facts.finding = finding_key(facts.spec.name, facts.inputs, failing_ids(facts.state), symbols)
        known = self._known(facts.finding)
        if known := known or await self._store.known_on_forge(parts.workplace, facts.spec, self._ending.keys):
            return await self._ending.finish(RoundOutcome.SKIPPED, known)
        unverified = "" if judged.green else _red_words(judged)
        if judged.green and stop.kind in REFUSED_BY_EVALUATOR:
            unverified = stop.reason
        if not unverified:
            checked = await self._check(facts.state.rounds[-1])
            if checked is None:
                return None
            if limit := facts.exceeded():
                return await self._ending.finish(RoundOutcome.BUDGET, limit)
            if checked.verdict in UNVERIFIED:
                unverified = _unverified_words(checked)
        return await self._ending.propose(judged, unverified)

    async def _nothing_changed(self, judged: Judged, stop: Stop) -> SessionResult:
        attempted = self._facts.state.rounds[-1].attempted
        if attempted is not None and attempted.stop not in FINISHED:  # failing to look is not finding nothing
            if reached := Budget(self._facts.allowance, self._facts.state, free=True).reached_limit():
                return await self._ending.finish(RoundOutcome.BUDGET, reached)
            why = attempted.problem or attempted.stop
            return await self._ending.finish(
                RoundOutcome.FAILED, f"the maker changed nothing and did not finish: {why}"
            )
        said = f": {stop.reason}" if stop.kind == "claim" else ""
        if judged.green:
            return await self._ending.nothing_to_do(f"nothing to do{said}")
        return await self._ending.finish(
            RoundOutcome.FAILED, f"the maker changed nothing{said}, and {_red_words(judged)}"
        )

    async def _check(self, current: Round) -> CheckerDone | None:
        """Return what the checker says; None if it refuted the work for the first time: the maker gets the evidence."""
        facts, parts = self._facts, self._ending.parts
        parts.log.move("judging")
        async with parts.round_context() as (context, crew):
            assert crew.checker is not None  # a loop round has one
            done = await Checker(context, crew.checker, facts.spec, facts.inputs).check(current)
        if done.verdict != "refuted" or facts.was_refuted_before(done):
            return done
        feedback = prompts.refutation(done.summary, done.evidence)
        opinion = Opinion(n=current.n, status="rejected", summary=done.summary, feedback=feedback, revises=True)
        parts.log.write(note=opinion.note(), sync=True)
        return None

    def _known(self, key: str, statuses: Container[FindingStatus] = KNOWN_WORDS) -> str:
        return self._store.known(self._facts.spec.name, key, statuses)

    def closing_events(self, outcome: Outcome, reason: str) -> Sequence[Event]:
        facts = self._facts
        return [facts.finished(facts.outcome or ROUND_OUTCOMES.get(outcome, RoundOutcome.FAILED), reason)]

    @property
    def _ending(self) -> RoundEnding:
        assert self._opened is not None  # `prepare` comes first
        return self._opened


def _unverified_words(checked: CheckerDone) -> str:
    """Return one short line: it is shown in lists, and told to the makers of later rounds."""
    return f"{UNVERIFIED[checked.verdict]}: {shortened(' '.join(checked.summary.split()), LONGEST_REASON)}"


def _red_words(judged: Judged) -> str:
    failing = ", ".join(f"{one.name} is {one.status}" for one in judged.failing)
    return f"the contract is red: {failing or judged.refused or 'nothing was judged'}"
