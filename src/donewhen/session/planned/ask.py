"""One call of a planner or evaluator, to the end of its answer or until it is silent for too long.

How often it is called, and what is done with the answer, is decided by the caller.
"""

import anyio

from donewhen.engines.interface import Engine, Job
from donewhen.engines.planner import LimitReached, NoAnswer, answer_of
from donewhen.errors import DonewhenError
from donewhen.events import Error
from donewhen.session.loop.round_context import RoundContext


class WatchdogExpired(NoAnswer):
    """Control flow: nothing was logged for too long."""


async def answer_in_time(context: RoundContext, engine: Engine, job: Job) -> str:
    """Return the final text. Raise `NoAnswer` if there is none, `LimitReached` at a limit."""
    answer: str | None = None
    problem: Exception | None = None
    async with anyio.create_task_group() as tasks:

        async def listen() -> None:
            await context.silence()
            tasks.cancel_scope.cancel()

        if context.silence_secs:
            tasks.start_soon(listen)
        try:
            answer = await _answer(context, engine, job)
        except (NoAnswer, LimitReached, DonewhenError) as error:
            problem = error  # raised outside the task group, which would wrap it
        tasks.cancel_scope.cancel()
    if problem is not None:
        raise problem
    if answer is None:
        raise WatchdogExpired(f"no activity for {context.silence_secs:g} s")
    return answer


async def _answer(context: RoundContext, engine: Engine, job: Job) -> str:
    """Call the engine. A failure inside it means no answer, and never ends the session."""
    try:
        return await answer_of(engine, job, context.log.emit)
    except (NoAnswer, LimitReached, DonewhenError):
        raise
    except Exception as error:
        words = f"{type(error).__name__}: {error}"
        context.log.emit(Error(kind="engine", message=words))
        raise NoAnswer(words) from error
