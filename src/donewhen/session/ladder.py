"""The repair loop, once for every engine: attempt → judge → feedback → attempt, until a reason to stop.

The ladder knows the order of things and no more: how a round is worked on is `attempting`, how it is judged `judging`,
when enough is enough `stopping`. A round that was interrupted goes on where the log says it stopped.
"""

from collections.abc import Sequence

from donewhen.events import EngineDeclined, EngineSelected, IterationStarted
from donewhen.session.attempting import Rung, Workbench
from donewhen.session.judging import judge_round
from donewhen.session.recorder import Recorder
from donewhen.session.stopping import Stop, stop_after
from donewhen.session.story import ROUND, Round, Story


async def climb(bench: Workbench, rungs: Sequence[Rung]) -> Stop:
    """Work on the rungs in their order; each one builds on what the one before left."""
    stop = Stop("iterations", "no engine")
    for number, rung in enumerate(rungs):
        stop = await _work(bench, rung)
        if stop.kind in ("green", "budget", "claim") or number + 1 == len(rungs):
            break
        following = rungs[number + 1].name
        bench.recorder.emit(EngineDeclined(engine=rung.name, reason=stop.kind, detail=stop.reason, next=following))
    return stop


async def _work(bench: Workbench, rung: Rung) -> Stop:
    recorder, story = bench.recorder, bench.recorder.story
    if story.engine != rung.name:
        recorder.emit(EngineSelected(engine=rung.name, reason=rung.reason))
    while True:
        current = _last(story, rung)
        if current is not None and current.judged is not None:
            stop = stop_after(story, current, bench.budget)
            if stop is not None:
                return stop
            current = None
        current = current or _next(recorder, rung, bench.opened.max_iterations)
        if current is None:
            return Stop("iterations", f"{_worked(story, rung)} rounds were worked on, and the checks are not green")
        if current.attempted is None:
            recorder.move("running")
            await bench.attempt(rung, current)
        recorder.move("judging")
        await judge_round(bench.place, bench.opened, recorder, current)


def _last(story: Story, rung: Rung) -> Round | None:
    """The newest round of a rung, those before a fresh start left out."""
    rounds = story.allowed_rounds
    return rounds[-1] if rounds and rounds[-1].rung == rung.name else None


def _next(recorder: Recorder, rung: Rung, over_all: int) -> Round | None:
    """A new round; None when all that are allowed are used."""
    story = recorder.story
    left = rung.max_iterations - _worked(story, rung)
    if over_all:
        left = min(left, over_all - len(story.allowed_rounds))
    if left <= 0:
        return None
    number = len(story.rounds) + 1
    recorder.write(IterationStarted(n=number, max=number - 1 + left), note=(ROUND, {"n": number, "rung": rung.name}))
    return story.rounds[-1]


def _worked(story: Story, rung: Rung) -> int:
    return sum(one.rung == rung.name for one in story.allowed_rounds)
