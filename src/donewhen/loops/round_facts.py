"""Facts of a loop round, read from the log of its session, and the report made from them. Nothing is decided here."""

from dataclasses import dataclass

from donewhen.engines.spec import EngineKind
from donewhen.events import RoundFinished
from donewhen.loops import limits
from donewhen.loops.action import ActionReceipt
from donewhen.loops.finding import occasion_key, problem_key
from donewhen.loops.notes import NOTEBOOK, CheckerDone, InputOutput, LoopProposal, RoundBegan
from donewhen.loops.prompts import LONGEST_REPORT
from donewhen.loops.round_outcome import RoundOutcome
from donewhen.loops.spec import LoopSpec
from donewhen.model.prices import is_free
from donewhen.session.log.loop_record import LoopRecord
from donewhen.session.log.notes import LandingIntent
from donewhen.session.log.state import Gate, SessionState, turns_of
from donewhen.session.loop.budget import MAKER, Allowance
from donewhen.session.person.gates import GateKind


@dataclass(slots=True)
class RoundFacts:
    record: LoopRecord
    spec: LoopSpec
    state: SessionState
    outcome: RoundOutcome | None = None
    """Set when the round ends."""
    decision: str = ""
    action: ActionReceipt | None = None
    finding: str = ""

    @property
    def allowance(self) -> Allowance:
        return limits.from_plain(self.record.limits)

    @property
    def began(self) -> RoundBegan | None:
        return next(reversed(RoundBegan.all_in(self.state.notes.get(NOTEBOOK, ()))), None)

    @property
    def inputs(self) -> tuple[InputOutput, ...]:
        return self.began.inputs if self.began is not None else ()

    @property
    def proposal(self) -> LoopProposal | None:
        return next(reversed(LoopProposal.all_in(self.state.notes.get(NOTEBOOK, ()))), None)

    @property
    def checked(self) -> CheckerDone | None:
        """What the checker said last."""
        return next(reversed(CheckerDone.all_in(self.state.notes.get(NOTEBOOK, ()))), None)

    def was_refuted_before(self, done: CheckerDone) -> bool:
        """Return True if the checker refuted the work of an earlier round of the session."""
        known = CheckerDone.all_in(self.state.notes.get(NOTEBOOK, ()))
        return any(one.verdict == "refuted" and one.n < done.n for one in known)

    @property
    def gate(self) -> Gate | None:
        """The newest gate of the action."""
        gates = [one for one in self.state.gates.values() if one.kind == GateKind.LOOP_ACTION]
        return gates[-1] if gates else None

    @property
    def landing(self) -> LandingIntent:
        assert self.state.landing is not None  # it is written before a proposal
        return self.state.landing

    def occasion(self, base: str) -> str:
        return occasion_key(self.spec.name, base, self.inputs)

    @property
    def problem(self) -> str:
        return problem_key(self.spec.name, self.inputs, self.state)

    def summary(self) -> str:
        """Return the work in a few words: those of the checker, of the maker, or the intent."""
        checked = self.checked.summary if self.checked is not None else ""
        return checked or self._maker_text() or self.spec.intent

    def _maker_text(self) -> str:
        """Return what the maker said last. An attempt that failed may have said nothing."""
        attempted = [one.attempted for one in self.state.rounds if one.attempted is not None]
        return next((one.last_text for one in reversed(attempted) if one.last_text), "")

    def exceeded(self) -> str:
        """Return which limit of tokens or money is exceeded; empty if none is."""
        state = self.state
        return limits.exceeded(self.allowance, state.input_tokens, state.output_tokens, state.usd)

    def usd(self) -> float | None:
        """Return the money that was used; None if it is not known. A free model has no price and costs nothing."""
        state, spec = self.state, self.spec
        models = [state.model or "", *([spec.checker_model] if spec.checker_model else [])]
        has_agent = bool(state.agent) or EngineKind.of(spec.checker_engine) is EngineKind.EXTERNAL
        is_all_free = not has_agent and all(model and is_free(model) for model in models)
        return 0.0 if state.usd is None and is_all_free else state.usd

    @property
    def _gate_decision(self) -> str:
        """Return what the gate of the loop decided; empty before it did."""
        proposal = self.proposal
        return "" if proposal is None else "proceed" if proposal.proceeds else "escalate"

    def finished(self, outcome: RoundOutcome, reason: str) -> RoundFinished:
        """Return the report of the round."""
        state, spec, checked = self.state, self.spec, self.checked
        attempted = [one.attempted for one in state.rounds if one.attempted is not None]
        maker = None
        if attempted:
            text = self._maker_text()
            if more := len(text[LONGEST_REPORT:]):
                text = f"{text[:LONGEST_REPORT]}… and {more:,} more characters"
            maker = {"status": attempted[-1].stop, "turns": turns_of(state, MAKER), "text": text}
        checker = None
        if checked is not None:
            words = {"text": checked.summary, "evidence": checked.evidence}
            checker = {"status": checked.verdict, "turns": checked.turns, **words}
        return RoundFinished(
            loop=spec.name,
            intent=spec.intent,
            outcome=outcome.value,
            reason=reason,
            limit=limits.limit_name(reason) if outcome is RoundOutcome.BUDGET else "",
            level=spec.level.value,
            decision=self.decision or self._gate_decision,
            maker=maker,
            checker=checker,
            action=self.action.plain() if self.action is not None else None,
            input_tokens=state.input_tokens,
            output_tokens=state.output_tokens,
            usd=self.usd(),
            finding=self.finding,
        )
