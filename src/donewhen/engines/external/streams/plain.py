"""Reader for an agent that only prints text: its lines are for people, and the last ones are its closing message."""

import json
from collections import deque
from collections.abc import Iterable
from typing import Any

from donewhen.engines.external.agent_events import AgentEvent, AgentText

CLOSING_LINES = 20


class Stream:
    def __init__(self) -> None:
        self._last: deque[str] = deque(maxlen=CLOSING_LINES)

    def value(self, value: Any) -> Iterable[AgentEvent]:
        # An answer may be one line of JSON, such as that of a second agent that checks work.
        return self.text(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))

    def text(self, line: str) -> Iterable[AgentEvent]:
        self._last.append(line)
        return ()

    def end(self, exit_code: int | None, stderr: str) -> Iterable[AgentEvent]:
        del exit_code, stderr
        last_text = "\n".join(self._last).strip()
        if last_text:
            yield AgentText(last_text)
