"""A planner or an evaluator heard to the end of its answer: or until too long a silence.

How often they are asked, and what becomes of an answer, is the business of others.
"""

import anyio

from donewhen.engines.base import Engine, Job
from donewhen.engines.planned.asking import Interrupted, NoAnswer, answer_of
from donewhen.errors import DonewhenError
from donewhen.events import Error
from donewhen.session.attempting import Workbench


class Silent(NoAnswer):
    """Steers: nothing was heard for too long."""


async def answer_in_time(bench: Workbench, engine: Engine, job: Job) -> str:
    """The closing words; `NoAnswer` where there are none, `Interrupted` at a limit."""
    answer: str | None = None
    problem: Exception | None = None
    async with anyio.create_task_group() as tasks:

        async def listen() -> None:
            await bench.silence()
            tasks.cancel_scope.cancel()

        if bench.silence_secs:
            tasks.start_soon(listen)
        try:
            answer = await _answer(bench, engine, job)
        except (NoAnswer, Interrupted, DonewhenError) as error:
            problem = error  # not through the group, which would wrap it
        tasks.cancel_scope.cancel()
    if problem is not None:
        raise problem
    if answer is None:
        raise Silent(f"nothing was heard for {bench.silence_secs:g} s")
    return answer


async def _answer(bench: Workbench, engine: Engine, job: Job) -> str:
    """The boundary to whoever is asked: what breaks in it is no answer, and never the end of the session."""
    try:
        return await answer_of(engine, job, bench.recorder.emit)
    except (NoAnswer, Interrupted, DonewhenError):
        raise
    except Exception as error:
        words = f"{type(error).__name__}: {error}"
        bench.recorder.emit(Error(kind="engine", message=words))
        raise NoAnswer(words) from error
