"""What an evaluator is shown: the plan, the contract, all results, what a person would be warned of, and the change.

Of held-out checks nothing is shown, since what an evaluator says is told to whoever builds. Nothing is judged here.
"""

from collections.abc import Container, Iterator, Mapping, Sequence
from typing import Any

from donewhen.engines.planned.plan import Plan
from donewhen.engines.planned.shown import shown_patch
from donewhen.engines.planned.words import Case
from donewhen.session import artifacts
from donewhen.session.attempting import Rung, Workbench
from donewhen.session.hands import SessionHands
from donewhen.session.story import Plain, Round, Story
from donewhen.session.tracked import IGNORED


async def case_of(bench: Workbench, current: Round, results: Sequence[Plain]) -> Case:
    """For a round whose contract is green; `results` are those of the verify commands and probes."""
    story, judged, hands = bench.recorder.story, current.judged or {}, SessionHands(bench, artifacts.RUNG)
    plan, tracker = artifacts.plan_in(story), artifacts.tracker_in(story)
    assert plan is not None and tracker is not None  # only what was planned is evaluated
    before = next((one.opinion for one in reversed(story.rounds) if (one.opinion or {}).get("evaluation")), None)
    patch = await hands.patch(await hands.base(), str(judged["tree"]))
    shown = [one for one in judged["results"] if one["name"] not in hands.held_out]
    return Case(
        intent=bench.opened.intent,
        spec=plan.spec,
        contract="\n".join(artifacts.contract_lines(bench.opened.contract, story, plan, for_model=True)),
        tracker=tracker.rendered(),
        results="\n".join(f"- {one['name']}: {one['status']}" for one in (*shown, *results)),
        warnings=list(_warnings(story, judged, plan, hands.held_out)),
        before=str(before["summary"]) if before else "",
        patch=shown_patch(bench.job_to_plan(Rung(name=artifacts.RUNG, engine=None, reason="")).redact(patch)),
    )


def _warnings(story: Story, judged: Mapping[str, Any], plan: Plan, held_out: Container[str]) -> Iterator[str]:
    for path, action, reason in judged["edits"]:
        yield f"{path} ({action}) was edited and is not graded: {reason}"
    notes = judged["notes"]
    about = judged.get("note_checks", [note.partition(":")[0] for note in notes])  # logs of before 0.2 lack the key
    yield from (note for note, check in zip(notes, about, strict=True) if check not in held_out)
    if judged.get("discriminating") is False:
        yield "no check of the contract is red without the change"
    yield from (f"the planner left it open: {one}" for one in plan.filled)
    ignored = [note.body["lines"] for note in story.notes.get(artifacts.RUNG, ()) if note.kind == IGNORED]
    yield from (f"in the tracker's file: {line}" for lines in ignored[-1:] for line in lines)
    tracker = artifacts.tracker_in(story)
    if tracker is not None and tracker.open:
        yield f"not completed by the builder's own word: item {', '.join(map(str, tracker.open))}"
