"""Reader for an agent that only prints text: its lines are for people, and the last ones are its closing message."""

from collections import deque
from collections.abc import Iterable
from typing import Any

from donewhen.engines.external.agent_events import AgentText, Happening

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
            yield AgentText(said)
