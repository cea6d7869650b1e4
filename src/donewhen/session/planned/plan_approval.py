"""Approval of a plan or contract by a person: it is shown, approved, denied, edited as a file, or sent back.

This covers the proposals of `draft_plan`, shown with their baseline, and the plans of the foreman. A foreman's plan is
a note of that engine; here is only when the session stops for it, and what a person decided about it. A decision is in
the log before it counts.
"""

from collections.abc import Iterator, Sequence

from donewhen.engines.foreman.engine import ApprovedNote, ForemanEngine
from donewhen.engines.foreman.plan_request import PlanNote
from donewhen.engines.planner import LimitReached, NoAnswer
from donewhen.engines.spec import EngineKind
from donewhen.errors import BadInput, NeedsPerson
from donewhen.judge.receipt import contract_from
from donewhen.session.log import plan_files
from donewhen.session.log.start_record import StartRecord
from donewhen.session.log.state import SessionState
from donewhen.session.log.writer import LogWriter, StepNotebook
from donewhen.session.loop.round import LadderStep, job_to_plan
from donewhen.session.loop.round_context import RoundContext
from donewhen.session.loop.stop_rules import Stop, stop_at_gate
from donewhen.session.person import edited_contract
from donewhen.session.person.gates import GateDecision, GateKind, Gates
from donewhen.session.planned.draft_plan import PlanDrafter


async def approve_proposal(
    drafter: PlanDrafter, state: SessionState, start_record: StartRecord, gates: Gates
) -> Stop | None:
    """Propose until a person approves. Return None if the work may start, else why not."""
    while not is_approved(state, GateKind.CONTRACT, GateKind.PLAN):
        if (not state.proposals or state.change_request) and (stop := await drafter.propose()) is not None:
            return stop
        if not _asks_person(state, start_record):
            return None
        plan_files.refresh(drafter.log.session, state)
        kind = GateKind.CONTRACT if state.proposals[-1].contract is not None else GateKind.PLAN
        if (stop := await stop_at_gate(gates, kind, len(state.proposals), "\n".join(detail(state)))) is not None:
            return stop
    if not state.rounds:
        _record_edits(drafter.log)
    return None


def _asks_person(state: SessionState, start_record: StartRecord) -> bool:
    """Return True if a person decides.

    A person decides on a plan that was asked for alone, and on a contract that was not given, unless with --yes. A
    person never decides on a drafted contract that asks for nothing.
    """
    if (
        start_record.drafts_contract
        and is_green_already(state)
        and not start_record.settings.flag("contract", "allow_green")
    ):
        return False
    return (
        start_record.wants_plan
        or GateKind.CONTRACT in state.gates
        or (start_record.drafts_contract and not start_record.yes)
    )


def is_green_already(state: SessionState) -> bool:
    """Return True if everything that was drafted is green already. For a substitute contract this is False."""
    results = state.baseline_results
    return bool(results) and all(one.status == "pass" for one in results) and state.proposals[-1].drafted


def is_approved(state: SessionState, *kinds: GateKind) -> bool:
    return any(gate.kind in kinds and gate.decision == GateDecision.APPROVED for gate in state.gates.values())


def detail(state: SessionState) -> Iterator[str]:
    """Yield everything that a person decides about."""
    last, plan, tracker = state.proposals[-1], plan_files.plan_in(state), plan_files.tracker_in(state)
    if last.revised is False:
        yield from (f"Not revised: {last.reason}", "")
    if plan is not None and tracker is not None:
        yield from (*plan.spec.strip().splitlines(), "")
    yield from plan_files.contract_lines(contract_from(state.start_note["contract"]), state, plan)
    if plan is not None and tracker is not None:
        yield from ("", *tracker.rendered().strip().splitlines())
        if plan.filled:
            yield from ("", "What the planner did not specify:", *(f"- {one}" for one in plan.filled))


def _record_edits(log: LogWriter) -> None:
    """Record the edits for a decision that was made while the session ran. The file counts as it is when the work
    begins.
    """
    try:
        edited_contract.record_edits(log)
    except BadInput as error:
        raise NeedsPerson(f"contract accepted, but the edited file is invalid: {error}; fix it, then resume") from None


async def approve_foreman_plan(context: RoundContext, steps: Sequence[LadderStep], gates: Gates) -> Stop | None:
    """Let the foreman plan until a person approves. Return None if the work may start, else why not."""
    notebook = StepNotebook(context.log, EngineKind.FOREMAN)
    if any(note.kind == ApprovedNote.KIND for note in notebook.notes()):
        return None
    foreman = next((step for step in steps if isinstance(step.engine, ForemanEngine)), None)
    if foreman is None:
        why = next((step.reason for step in steps if step.kind is EngineKind.FOREMAN), "there is no planner")
        return Stop("declined", why)
    assert isinstance(foreman.engine, ForemanEngine)
    while not is_approved(context.log.state, GateKind.PLAN):
        context.log.move("running")
        try:
            plan = await foreman.engine.make_plan(job_to_plan(context, foreman), context.log.emit)
        except NoAnswer as none:
            return Stop("declined", f"there is no plan: {none}", code="plan_invalid")
        except LimitReached:
            return Stop("budget", context.budget.reached_limit())
        context.log.move("proposed")
        number = sum(note.kind == PlanNote.KIND for note in notebook.notes())  # every plan has a gate of its own
        if (stop := await stop_at_gate(gates, GateKind.PLAN, number, plan.rendered())) is not None:
            return stop
    notebook.write(ApprovedNote().as_note())
    return None
