"""The repair loop, the same for every engine: attempt, judge, feedback, next attempt, until there is a reason to stop.

This module decides only the order. How a round is worked on is in `round`, how it is judged in `judge_round`, when to
stop in `stop_rules`. An interrupted round continues where the log ends. An engine that has declined is not used again.
"""

from collections.abc import Awaitable, Callable, Sequence

from donewhen.engines.spec import EngineKind
from donewhen.events import EngineDeclined, EngineSelected, IterationStarted
from donewhen.model.interface import ModelWaits
from donewhen.session.log.notes import RoundBegun
from donewhen.session.log.state import Round, SessionState
from donewhen.session.loop.judge_round import judge_round
from donewhen.session.loop.round import LadderStep, run_attempt
from donewhen.session.loop.round_context import RoundContext
from donewhen.session.loop.stop_rules import Stop, stop_after
from donewhen.session.recall.session_memory import recalled
from donewhen.workspace.trees.capture.refusals import CandidateRefused

LAST_WORDS = ("green", "budget", "claim", "rejected", "inconclusive")
"""Reasons to stop that no other engine can change."""


Evaluate = Callable[[Round], Awaitable[None]]
"""Evaluates a round that the judge calls green, and writes the opinion to the log."""


async def climb(bench: RoundContext, rungs: Sequence[LadderStep], evaluate: Evaluate | None = None) -> Stop:
    """Work on the ladder steps in order; each one builds on the work of the one before.

    Return the stop of the last step that worked. If no step worked, return why the last one declined.
    """
    worked: Stop | None = None
    stop = Stop("declined", "no engine")
    left = [rung for rung in rungs if rung.kind not in bench.recorder.story.declined]
    while left:
        rung = left.pop(0)
        stop = await _on(bench, rung, evaluate, bool(left))
        worked = stop if stop.kind != "declined" else worked
        if stop.kind in LAST_WORDS:
            break
        if rung.kind.has_workers and stop.kind != "declined":
            # Several workers made it; a single engine repairs it.
            left = [one for one in left if one.kind is EngineKind.NATIVE] or left
        if left:
            reason, following = stop.word or stop.kind, left[0].kind
            bench.recorder.emit(EngineDeclined(engine=rung.kind, reason=reason, detail=stop.reason, next=following))
    return worked or stop


async def _on(bench: RoundContext, rung: LadderStep, evaluate: Evaluate | None, has_following: bool) -> Stop:
    if rung.engine is None:
        return Stop("declined", rung.reason, word=rung.declines)
    story = bench.recorder.story
    if rung.kind.needs_clean_tree and _last(story, rung) is None and await _holds_work_of_others(bench, rung):
        return Stop("declined", "the tree already contains another engine's work; continuing from it", word="under_way")
    if _last(story, rung) is None and _left(story, rung, bench.opened.max_iterations) <= 0:
        return Stop("declined", "no rounds left", word="red")
    try:
        return await _work(bench, rung, evaluate)
    except ModelWaits as error:
        last = _last(story, rung)
        if last is not None and last.judged is not None and last.judged.green:
            raise  # the evaluator of green work waits; no other engine needs to work on it
        if not has_following or (rung.kind.has_workers and not rung.agent):
            raise  # the next engine would use the same model, and the results of the workers would be lost
        return Stop("waits", str(error), word=error.kind)


async def _work(bench: RoundContext, rung: LadderStep, evaluate: Evaluate | None) -> Stop:
    recorder, story = bench.recorder, bench.recorder.story
    if story.engine != rung.kind:
        recorder.emit(EngineSelected(engine=rung.kind, reason=rung.reason, agent=rung.agent))
    while True:
        current = _last(story, rung)
        if current is not None and current.judged is not None:
            if evaluate is not None and current.judged.green and current.opinion is None:
                await evaluate(current)
            stop = stop_after(story, current, bench.budget)
            if stop is not None:
                return stop
            current = None
        current = current or _next(bench, rung)
        if current is None:
            worked = _worked(story, rung)
            told = f"{worked} round{'s' if worked != 1 else ''} done, and the checks are not green"
            return Stop("iterations", told, word="red")
        if current.attempted is None:
            recorder.move("running")
            await run_attempt(bench, rung, current)
        if current.attempted is not None and current.attempted.stop == "declines":
            return Stop("declined", current.attempted.problem, word=current.attempted.word or "")
        recorder.move("judging")
        await judge_round(bench.place, bench.opened, recorder, current, bench.memory)


async def _holds_work_of_others(bench: RoundContext, rung: LadderStep) -> bool:
    """Return True if the tree holds work of another engine."""
    base, store = bench.opened.base, bench.place.store
    notes = bench.recorder.story.notes.get(rung.kind, ())
    own = {str(note.body["tree"]) for note in notes if note.kind == "united"}
    try:
        made = await bench.place.candidate_of(await bench.maker.snapshot(), base)
    except CandidateRefused:
        return True
    return made not in {await store.tree_of(base), *own}


def _last(story: SessionState, rung: LadderStep) -> Round | None:
    """Return the last round if it belongs to this ladder step. Rounds before the limits were reset are ignored."""
    rounds = story.allowed_rounds
    return rounds[-1] if rounds and rounds[-1].rung == rung.kind else None


def _next(bench: RoundContext, rung: LadderStep) -> Round | None:
    """Start a new round, with its hint. Return None if all allowed rounds are used."""
    story = bench.recorder.story
    left = _left(story, rung, bench.opened.max_iterations)
    if left <= 0:
        return None
    number = len(story.rounds) + 1
    hint = bench.memory.begins(number)
    told = [recalled(hint)] if hint is not None and hint.text else []
    begun = IterationStarted(n=number, max=number - 1 + left)
    bench.recorder.write(begun, *told, note=RoundBegun(n=number, step=rung.kind.value, hint=hint).note())
    return story.rounds[-1]


def _left(story: SessionState, rung: LadderStep, over_all: int) -> int:
    """Return how many rounds a ladder step may still work."""
    left = rung.max_iterations - _worked(story, rung)
    return min(left, over_all - sum(one.counts for one in story.allowed_rounds)) if over_all else left


def _worked(story: SessionState, rung: LadderStep) -> int:
    """Return how many rounds count against a ladder step.

    Work that an evaluator sent back gets the full number of rounds again, unless workers would begin from the start.
    """
    rounds = story.allowed_rounds
    sent_back = [number for number, one in enumerate(rounds, 1) if one.opinion is not None and one.opinion.revises]
    since = sent_back[-1] if sent_back and not rung.kind.has_workers else 0
    return sum(one.rung == rung.kind and one.counts for one in rounds[since:])
