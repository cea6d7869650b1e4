"""Calls of a planner or an evaluator: it reads the tree with tools, and its last text is the answer.

An answer that cannot be used is asked for again, with what is wrong with it. The caller limits the number of attempts,
reads the answers, and writes a note about each unusable one, so that nothing is asked twice after a crash.
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
    return attempt.last_text


async def ask_until_valid(
    attempts_left: Callable[[], int],
    ask: Callable[[], Awaitable[str]],
    accept: Callable[[str], Awaitable[T]],
    reject: Callable[[InvalidReply], None],
) -> T | None:
    """Return the first answer that is accepted; None when no attempt is left.

    `accept` raises `InvalidReply` for an answer that cannot be used. `reject` notes it, so that `left` counts it and
    `ask` can give the issues to the model.
    """
    while attempts_left() > 0:
        try:
            return await accept(await ask())
        except InvalidReply as invalid:
            reject(invalid)
    return None
