"""Input of the evaluator: the plan, the contract, all results, the warnings for a person, and the change.

Held-out checks are left out, because the builder gets what the evaluator says. Nothing is judged here.
"""

from collections.abc import Iterator, Sequence

from donewhen.engines.planned.notes import IgnoredEdits
from donewhen.engines.planned.plan import Plan
from donewhen.engines.planned.prompts import EvaluatorInput
from donewhen.engines.planned.trim_patch import trimmed_patch
from donewhen.engines.spec import EngineKind
from donewhen.event_records import NOT_GRADED, CheckResult
from donewhen.session.log import plan_files
from donewhen.session.log.notes import Judged
from donewhen.session.log.state import Round, SessionState
from donewhen.session.loop.round import LadderStep, job_to_plan
from donewhen.session.loop.round_context import RoundContext
from donewhen.session.loop.worker_services import SessionWorkerServices


async def evaluator_input(context: RoundContext, current: Round, results: Sequence[CheckResult]) -> EvaluatorInput:
    """Return the input for a round whose contract is green. `results` are those of the verify commands and probes."""
    state, judged, services = context.log.state, current.judged, SessionWorkerServices(context, plan_files.NOTEBOOK)
    plan, tracker = plan_files.plan_in(state), plan_files.tracker_in(state)
    assert plan is not None and tracker is not None and judged is not None  # only planned, judged work is evaluated
    previous = next((one.opinion for one in reversed(state.rounds) if one.opinion and one.opinion.evaluation), None)
    patch = await services.patch(await services.base(), judged.tree or "")
    shown = [one for one in judged.results or () if one.name not in services.held_out]
    step = LadderStep(kind=EngineKind.PLANNED, engine=None, reason="")
    return EvaluatorInput(
        intent=context.start_record.intent,
        spec=plan.spec,
        contract="\n".join(plan_files.contract_lines(context.start_record.contract, state, plan, for_model=True)),
        tracker=tracker.rendered(),
        results="\n".join(f"- {one.name}: {one.status}" for one in (*shown, *results)),
        warnings=list(_warnings(state, judged, plan, services.held_out)),
        earlier_findings=previous.summary if previous is not None else "",
        patch=trimmed_patch(job_to_plan(context, step).redact(patch)),
    )


def _warnings(state: SessionState, judged: Judged, plan: Plan, held_out: frozenset[str]) -> Iterator[str]:
    for edit in judged.edits or ():
        yield f"{NOT_GRADED}: {edit.path} ({edit.action}): {edit.reason}"
    yield from judged.notes_without(held_out)
    if judged.discriminating is False:
        yield "no check of the contract is red without the change"
    yield from (f"the planner did not say: {one}" for one in plan.filled)
    ignored = IgnoredEdits.all_in(state.notes.get(plan_files.NOTEBOOK, ()))
    yield from (f"in the tracker's file: {line}" for edits in ignored[-1:] for line in edits.lines)
    tracker = plan_files.tracker_in(state)
    if tracker is not None and tracker.open_items:
        yield f"not completed, as the builder reports: item {', '.join(map(str, tracker.open_items))}"
