"""A planner or an evaluator is asked once: it looks at the tree with tools, and its closing words are the answer.

What the answer says is read elsewhere, and so is what becomes of one that cannot be used.
"""

from donewhen.engines.base import Engine, Job
from donewhen.events import Emit

MOST_TURNS = 24


class Interrupted(Exception):
    """Steers: a limit was reached while somebody was asked."""


class NoAnswer(Exception):
    """Steers: there is no answer, and why."""


async def answer_of(engine: Engine, job: Job, emit: Emit) -> str:
    """The closing words. `Interrupted` at a limit, `NoAnswer` where the model gives none."""
    attempt = await engine.attempt(job, emit)
    if attempt.stop == "budget":
        raise Interrupted
    if attempt.stop == "model_failed":
        raise NoAnswer(attempt.problem)
    if attempt.stop == "turns":
        raise NoAnswer(f"no answer within {job.max_turns} turns")
    return attempt.said
