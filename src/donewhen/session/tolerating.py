"""Something that a session can do without: when it breaks that is told once, and the work goes on. What it is for is
not known here."""

import contextlib
from collections.abc import Generator

from donewhen.errors import DonewhenError
from donewhen.events import Error
from donewhen.session.recorder import Recorder

MOST_FAILURES = 3
"""After so many it is not asked any more: each may cost the time that somebody waits for a lock."""
TROUBLE = (
    DonewhenError, OSError, ArithmeticError, AttributeError, LookupError, RuntimeError, TypeError, ValueError,
)  # fmt: skip
"""What a store raises when it breaks, and a reader of somebody's output that meets what nobody has thought of."""


class Tolerance:
    def __init__(self, recorder: Recorder, kind: str) -> None:
        self._recorder = recorder
        self._kind = kind
        self._failures = 0

    @property
    def goes_on(self) -> bool:
        """Whether it is worth another try."""
        return self._failures < MOST_FAILURES

    @contextlib.contextmanager
    def __call__(self) -> Generator[None]:
        """What breaks in the block ends the block, and that is all."""
        try:
            yield
        except TROUBLE as error:
            self._failures += 1
            words = str(error) if isinstance(error, DonewhenError | OSError) else f"{type(error).__name__}: {error}"
            self.tell(f"{words}; the work goes on without it")

    def tell(self, line: str) -> None:
        """Once in a session, whoever works on it."""
        if self._kind not in self._recorder.story.errors:
            self._recorder.emit(Error(kind=self._kind, message=line))
