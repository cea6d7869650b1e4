"""Approval of a plan or contract by a person: it is shown, approved, denied, edited as a file, or sent back.

This covers the proposals of `draft_plan`, shown with their baseline, and the plans of the foreman. A foreman's plan is
a note of that engine; here is only when the session stops for it, and what a person decided about it. A decision is in
the log before it counts.
"""

from collections.abc import Iterator, Sequence

from donewhen.engines.foreman.engine import ApprovedNote, ForemanEngine
from donewhen.engines.foreman.plan_request import PlanNote
from donewhen.engines.interface import Note
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
from donewhen.session.loop.stop_rules import Stop
from donewhen.session.person import edited_contract
from donewhen.session.person.gates import GateDecision, GateKind, Gates
from donewhen.session.planned.draft_plan import PlanDrafter


async def settled(drafting: PlanDrafter, story: SessionState, opened: StartRecord, gates: Gates) -> Stop | None:
    """Propose until a person approves. Return None if the work may start, else why not."""
    while not is_taken(story):
        if (not story.proposals or story.wish) and (stop := await drafting.propose()) is not None:
            return stop
        if not _asks(story, opened):
            return None
        plan_files.refresh(drafting.recorder.session, story)
        kind = GateKind.CONTRACT if story.proposals[-1].contract is not None else GateKind.PLAN
        decision = await gates.ask(kind, len(story.proposals), "\n".join(detail(story)))
        if decision is None:
            return Stop("waits", kind.reason)
        if decision is GateDecision.DENIED:
            return Stop("refused", f"a person denied the proposed {kind}")
    if not story.rounds:
        _take_edits(drafting.recorder)
    return None


def _asks(story: SessionState, opened: StartRecord) -> bool:
    """Return True if a person decides.

    A person decides on a plan that was asked for alone, and on a contract that was not given, unless with --yes. A
    person never decides on a drafted contract that asks for nothing.
    """
    if opened.drafts and asks_for_nothing(story) and not opened.settings.flag("contract", "allow_green"):
        return False
    return opened.plans or GateKind.CONTRACT in story.gates or (opened.drafts and not opened.yes)


def asks_for_nothing(story: SessionState) -> bool:
    """Return True if everything that was drafted is green already. For a substitute contract this is False."""
    results = story.baseline_results
    return bool(results) and all(one.status == "pass" for one in results) and story.proposals[-1].drafted


def is_taken(story: SessionState) -> bool:
    return any(
        gate.kind in (GateKind.CONTRACT, GateKind.PLAN) and gate.decision == GateDecision.APPROVED
        for gate in story.gates.values()
    )


def detail(story: SessionState) -> Iterator[str]:
    """Yield everything that a person decides about."""
    last, plan, tracker = story.proposals[-1], plan_files.plan_in(story), plan_files.tracker_in(story)
    if last.revised is False:
        yield from (f"Not revised: {last.reason}", "")
    if plan is not None and tracker is not None:
        yield from (*plan.spec.strip().splitlines(), "")
    yield from plan_files.contract_lines(contract_from(story.opened["contract"]), story, plan)
    if plan is not None and tracker is not None:
        yield from ("", *tracker.rendered().strip().splitlines())
        if plan.filled:
            yield from ("", "What the planner did not specify:", *(f"- {one}" for one in plan.filled))


def _take_edits(recorder: LogWriter) -> None:
    """Record the edits for a decision that was made while the session ran. The file counts as it is when the work
    begins.
    """
    try:
        edited_contract.keep(recorder)
    except BadInput as unsound:
        raise NeedsPerson(
            f"contract accepted, but the edited file is invalid: {unsound}; fix it, then resume"
        ) from None


async def stop_for(bench: RoundContext, rungs: Sequence[LadderStep], gates: Gates) -> Stop | None:
    """Let the foreman plan until a person approves. Return None if the work may start, else why not."""
    if _notes(bench.recorder.story, ApprovedNote.KIND):
        return None
    foreman = next((rung for rung in rungs if isinstance(rung.engine, ForemanEngine)), None)
    if foreman is None:
        why = next((rung.reason for rung in rungs if rung.kind is EngineKind.FOREMAN), "there is no planner")
        return Stop("declined", why)
    assert isinstance(foreman.engine, ForemanEngine)
    decision: GateDecision | None = GateDecision.CHANGED
    while decision is GateDecision.CHANGED:
        bench.recorder.move("running")
        try:
            plan = await foreman.engine.planned(job_to_plan(bench, foreman), bench.recorder.emit)
        except NoAnswer as none:
            return Stop("declined", f"there is no plan: {none}", word="plan_invalid")
        except LimitReached:
            return Stop("budget", bench.budget.reached())
        bench.recorder.move("proposed")
        number = len(_notes(bench.recorder.story, PlanNote.KIND))  # every plan has a gate of its own
        decision = await gates.ask(GateKind.PLAN, number, plan.rendered())
    if decision is None:
        return Stop("waits", GateKind.PLAN.reason)
    if decision is GateDecision.DENIED:
        return Stop("refused", "a person denied the plan")
    StepNotebook(bench.recorder, EngineKind.FOREMAN).write(ApprovedNote().as_note())
    return None


def _notes(story: SessionState, kind: str) -> list[Note]:
    return [note for note in story.notes.get(EngineKind.FOREMAN, ()) if note.kind == kind]
