"""Questions to a person, during the work or at a gate. Questions and answers are in the log.

A question that was asked before a crash is not asked again: its answer, or the rest of its time, still counts.
"""

import datetime
from collections.abc import Awaitable, Callable
from typing import Literal

import anyio

from donewhen.engines.interface import AnswerTimeout
from donewhen.errors import NeedsPerson
from donewhen.events import QuestionAnswered, QuestionAsked, QuestionExpired
from donewhen.session.log.state import Question
from donewhen.session.log.writer import LogWriter
from donewhen.session.person.gates import Person

WAIT_SECS = 600.0


class StillWaiting(NeedsPerson):
    """No answer came, and the work must not continue without one: the session waits."""


def _now() -> datetime.datetime:
    return datetime.datetime.now(datetime.UTC)


class Questions:
    """The questions of one session. At most one waits at a time."""

    def __init__(
        self,
        log: LogWriter,
        on_expiry: Literal["continue", "wait"],
        person: Person | None,
        now: Callable[[], datetime.datetime] = _now,
    ) -> None:
        self._log = log
        self._on_expiry = on_expiry
        self._person = person
        self._now = now
        self._answered = anyio.Event()

    async def ask(self, id: str, prompt: str) -> str:
        question = self._log.state.questions.get(id) or self._open(id, prompt)
        if question.answer is None and not question.expired:
            await self._wait(question)
        if question.answer is None:
            raise AnswerTimeout("no answer in time; choose the least risky option yourself and continue")
        return question.answer

    def post(self, id: str, prompt: str) -> bool:
        """Ask for a program that does not wait here and looks for the answer later. Return False if a question waits.

        A question with this id that was asked before is not asked again.
        """
        if id not in self._log.state.questions:
            if self._log.state.question is not None:
                return False
            self._log.write(QuestionAsked(id=id, prompt=prompt, expires_at=None), sync=True)
        return True

    def deliver(self, text: str) -> bool:
        """Accept an answer from another process or the terminal. Return False if no question waits."""
        question = self._log.state.question
        if question is None:
            return False
        self._log.write(QuestionAnswered(id=question.id, answer=text), sync=True)
        self._answered.set()
        return True

    def _open(self, id: str, prompt: str) -> Question:
        until = (self._now() + datetime.timedelta(seconds=WAIT_SECS)).isoformat(timespec="milliseconds")
        self._log.write(QuestionAsked(id=id, prompt=prompt, expires_at=until.replace("+00:00", "Z")))
        return self._log.state.questions[id]

    async def _wait(self, question: Question) -> None:
        self._answered = anyio.Event()
        left = datetime.datetime.fromisoformat(question.expires_at or self._now().isoformat()) - self._now()
        with anyio.move_on_after(max(0.0, left.total_seconds())):
            async with anyio.create_task_group() as tasks:
                if self._person is not None:
                    tasks.start_soon(self._await_answer, self._person.answer, question.prompt)
                await self._answered.wait()
                tasks.cancel_scope.cancel()
        if question.answer is None and self._on_expiry == "wait":
            raise StillWaiting(f"waiting for an answer to: {question.prompt}")
        if question.answer is None:
            self._log.write(QuestionExpired(id=question.id))

    async def _await_answer(self, answer: Callable[[str], Awaitable[str | None]], prompt: str) -> None:
        text = await answer(prompt)
        if text is None:
            self._answered.set()
        else:
            self.deliver(text)
