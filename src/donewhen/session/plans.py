"""A plan that a person wants to see before anything is built: made, shown, changed, taken or refused.

The plan itself is the engine's note. Here is only when the session stops for it, and what a person has said about it.
"""

from collections.abc import Sequence

from donewhen.engines.base import Note
from donewhen.engines.foreman.engine import APPROVED, ForemanEngine
from donewhen.engines.foreman.plan import Unsound, plan_in
from donewhen.engines.foreman.planning import PLANNED, WISH, Interrupted, NoPlan, is_plan
from donewhen.errors import BadInput
from donewhen.events import GateDecided
from donewhen.session.attempting import Rung, Workbench
from donewhen.session.gates import WORDS, Gates
from donewhen.session.recorder import Recorder, RungNotebook
from donewhen.session.stopping import Stop
from donewhen.session.story import Story

RUNG = "foreman"


async def stop_for(bench: Workbench, rungs: Sequence[Rung]) -> Stop | None:
    """Why the session goes no further than to its plan; None when it was taken."""
    if _notes(bench.recorder.story, APPROVED):
        return None
    foreman = next((rung for rung in rungs if isinstance(rung.engine, ForemanEngine)), None)
    if foreman is None:
        return Stop("declined", next((rung.reason for rung in rungs if rung.name == RUNG), "nobody can plan"))
    assert isinstance(foreman.engine, ForemanEngine)
    bench.recorder.move("running")
    try:
        plan = await foreman.engine.planned(bench.job_to_plan(foreman), bench.recorder.emit)
    except NoPlan as none:
        return Stop("declined", f"there is no plan: {none}", word="plan_invalid")
    except Interrupted:
        return Stop("budget", bench.budget.reached())
    bench.recorder.move("proposed")
    decision = await Gates(bench.recorder, None).ask(_gate(bench.recorder.story), plan.rendered())
    if decision is None:
        return Stop("waits", WORDS["plan"])
    if not decision:
        return Stop("refused", "the plan was refused")
    RungNotebook(bench.recorder, RUNG).write(Note(APPROVED, {}))
    return None


def wishes(recorder: Recorder, text: str) -> bool:
    """Write down what a person wants to be different in the plan that waits; False when none does."""
    gate = recorder.story.gate
    if gate is None or gate.kind != "plan":
        return False
    if is_plan(text):
        try:
            plan_in(text)
        except Unsound as unsound:
            raise BadInput(f"the plan cannot be used: {'; '.join(unsound.issues)}") from unsound
    decided = GateDecided(gate="plan", id=gate.id, decision="changed", by="a person", answer=text)
    recorder.write(decided, note=(f"{RUNG}.{WISH}", {"text": text}), sync=True)
    return True


def _gate(story: Story) -> str:
    """Every plan is decided by itself."""
    return f"plan-{len(_notes(story, PLANNED))}"


def _notes(story: Story, kind: str) -> list[Note]:
    return [note for note in story.notes.get(RUNG, ()) if note.kind == kind]
