"""One call of a planner or an evaluator: it reads the tree with tools, and its last text is the answer.

This module does not parse the answer and does not handle unusable answers; the callers do both.
"""

from donewhen.engines.interface import Engine, Job
from donewhen.events import Emit

MOST_TURNS = 24


class LimitReached(Exception):
    """Control flow: a limit was reached during the call."""


class NoAnswer(Exception):
    """Control flow: there is no answer; the message says why."""


async def answer_of(engine: Engine, job: Job, emit: Emit) -> str:
    """Return the last text. Raise `LimitReached` at a limit, and `NoAnswer` if the model gives no answer."""
    attempt = await engine.attempt(job, emit)
    if attempt.stop == "budget":
        raise LimitReached
    if attempt.stop == "model_failed":
        raise NoAnswer(attempt.problem)
    if attempt.stop == "turns":
        raise NoAnswer(f"no answer within {job.max_turns} turns")
    return attempt.said
