"""An agent that just prints: its lines are words for people, and the last of them are its closing words."""

from collections import deque
from collections.abc import Iterable
from typing import Any

from donewhen.engines.external.happening import Happening, Spoke

CLOSING_LINES = 20


class Stream:
    def __init__(self) -> None:
        self._last: deque[str] = deque(maxlen=CLOSING_LINES)

    def value(self, value: Any) -> Iterable[Happening]:
        return self.text(value) if isinstance(value, str) else ()

    def text(self, line: str) -> Iterable[Happening]:
        self._last.append(line)
        return ()

    def end(self, exit_code: int | None, stderr: str) -> Iterable[Happening]:
        del exit_code, stderr
        said = "\n".join(self._last).strip()
        if said:
            yield Spoke(said)
