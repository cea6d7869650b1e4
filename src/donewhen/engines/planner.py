"""Calls of a planner or an evaluator: it reads the tree with tools, and its last text is the answer.

An answer that cannot be used is asked for again, with what is wrong with it. The callers say how often, read the
answers, and note what is wrong, so that nothing is asked twice after a crash.
"""

from collections.abc import Awaitable, Callable
from typing import TypeVar

from donewhen.engines.interface import Engine, Job
from donewhen.engines.typed_reply import InvalidReply
from donewhen.events import Emit

T = TypeVar("T")

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


async def ask_until_valid(
    left: Callable[[], int],
    ask: Callable[[], Awaitable[str]],
    accept: Callable[[str], Awaitable[T]],
    reject: Callable[[InvalidReply], None],
) -> T | None:
    """Return the first answer that is accepted; None when no attempt is left.

    `accept` raises `InvalidReply` for an answer that cannot be used. `reject` notes it, so that `left` counts it and
    `ask` tells the model what is wrong.
    """
    while left() > 0:
        try:
            return await accept(await ask())
        except InvalidReply as invalid:
            reject(invalid)
    return None
