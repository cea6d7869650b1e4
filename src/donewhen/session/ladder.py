"""The repair loop, once for every engine: attempt → judge → feedback → attempt, until a reason to stop.

The ladder knows the order of things and no more: how a round is worked on is `attempting`, how it is judged `judging`,
when enough is enough `stopping`. A round that was interrupted goes on where the log says it stopped, and an engine that
has declined is not asked again.
"""

from collections.abc import Sequence
from typing import Protocol

from donewhen.events import EngineDeclined, EngineSelected, IterationStarted
from donewhen.model.base import ModelWaits
from donewhen.session.attempting import Rung, Workbench
from donewhen.session.judging import judge_round
from donewhen.session.stopping import Stop, stop_after
from donewhen.session.story import ROUND, Round, Story
from donewhen.workspace.capture.refusals import CandidateRefused

LAST_WORDS = ("green", "budget", "claim", "rejected", "inconclusive")
"""Reasons to stop that no other engine can do anything about."""


class Opinion(Protocol):
    """Somebody who is asked about work that the judge calls green."""

    async def form(self, current: Round) -> None:
        """Write down what is to be said about a round."""
        ...


async def climb(bench: Workbench, rungs: Sequence[Rung], opinion: Opinion | None = None) -> Stop:
    """Work on the rungs in their order; each one builds on what the one before left.

    The answer is that of the last rung that worked; where none did, why the last one declined.
    """
    worked: Stop | None = None
    stop = Stop("declined", "no engine")
    left = [rung for rung in rungs if rung.name not in bench.recorder.story.declined]
    while left:
        rung = left.pop(0)
        stop = await _on(bench, rung, opinion, bool(left))
        worked = stop if stop.kind != "declined" else worked
        if stop.kind in LAST_WORDS:
            break
        if rung.name == "foreman" and stop.kind != "declined":
            left = [one for one in left if one.name == "native"] or left  # many hands made it; one mends it
        if left:
            reason, following = stop.word or stop.kind, left[0].name
            bench.recorder.emit(EngineDeclined(engine=rung.name, reason=reason, detail=stop.reason, next=following))
    return worked or stop


async def _on(bench: Workbench, rung: Rung, opinion: Opinion | None, has_following: bool) -> Stop:
    if rung.engine is None:
        return Stop("declined", rung.reason, word=rung.declines)
    story = bench.recorder.story
    if rung.name == "foreman" and _last(story, rung) is None and await _holds_work_of_others(bench):
        return Stop("declined", "somebody else's work is in the tree already; it is gone on with", word="under_way")
    if _last(story, rung) is None and _left(story, rung, bench.opened.max_iterations) <= 0:
        return Stop("declined", "all rounds that are allowed are used", word="red")
    try:
        return await _work(bench, rung, opinion)
    except ModelWaits as error:
        last = _last(story, rung)
        if last is not None and last.judged is not None and last.judged["green"]:
            raise  # who was asked about green work waits, and nobody else need work on it
        if not has_following or (rung.name == "foreman" and not rung.agent):
            raise  # the engine below would ask the same model, and what its workers have made would be left behind
        return Stop("waits", str(error), word=error.kind)


async def _work(bench: Workbench, rung: Rung, opinion: Opinion | None) -> Stop:
    recorder, story = bench.recorder, bench.recorder.story
    if story.engine != rung.name:
        recorder.emit(EngineSelected(engine=rung.name, reason=rung.reason, agent=rung.agent))
    while True:
        current = _last(story, rung)
        if current is not None and current.judged is not None:
            if opinion is not None and current.judged["green"] and current.opinion is None:
                await opinion.form(current)
            stop = stop_after(story, current, bench.budget)
            if stop is not None:
                return stop
            current = None
        current = current or _next(bench, rung)
        if current is None:
            worked = _worked(story, rung)
            told = f"{worked} round{'s were' if worked != 1 else ' was'} worked on, and the checks are not green"
            return Stop("iterations", told, word="red")
        if current.attempted is None:
            recorder.move("running")
            await bench.attempt(rung, current)
        if (attempted := current.attempted or {}).get("stop") == "declines":
            return Stop("declined", str(attempted["problem"]), word=str(attempted["word"]))
        recorder.move("judging")
        await judge_round(bench.place, bench.opened, recorder, current, bench.memory)


async def _holds_work_of_others(bench: Workbench) -> bool:
    """Whether the tree holds what an engine made that builds on it; the foreman would put its own in its place."""
    base, store = bench.opened.base, bench.place.store
    own = {str(note.body["tree"]) for note in bench.recorder.story.notes.get("foreman", ()) if note.kind == "united"}
    try:
        made = await bench.place.candidate_of(await bench.maker.snapshot(), base)
    except CandidateRefused:
        return True
    return made not in {await store.tree_of(base), *own}


def _last(story: Story, rung: Rung) -> Round | None:
    """The newest round of a rung, those before a fresh start left out."""
    rounds = story.allowed_rounds
    return rounds[-1] if rounds and rounds[-1].rung == rung.name else None


def _next(bench: Workbench, rung: Rung) -> Round | None:
    """A new round, with its hint; None when all that are allowed are used."""
    story = bench.recorder.story
    left = _left(story, rung, bench.opened.max_iterations)
    if left <= 0:
        return None
    number = len(story.rounds) + 1
    hint, told = bench.memory.begins(number)
    begun = IterationStarted(n=number, max=number - 1 + left)
    bench.recorder.write(begun, *told, note=(ROUND, {"n": number, "rung": rung.name, **hint}))
    return story.rounds[-1]


def _left(story: Story, rung: Rung, over_all: int) -> int:
    """How many rounds a rung may still work."""
    left = rung.max_iterations - _worked(story, rung)
    return min(left, over_all - sum(one.counts for one in story.allowed_rounds)) if over_all else left


def _worked(story: Story, rung: Rung) -> int:
    """How many rounds count against a rung. Work that is sent back may be worked on as often as at first, but not by
    many hands, who would begin anew."""
    rounds = story.allowed_rounds
    sent_back = [number for number, one in enumerate(rounds, 1) if (one.opinion or {}).get("revises")]
    since = sent_back[-1] if sent_back and rung.name != "foreman" else 0
    return sum(one.rung == rung.name and one.counts for one in rounds[since:])
