"""Stream readers: convert what agents print to agent events, one per stream shape. Pure; no I/O, no clock.

A reader never raises because of what an agent prints: it leaves out what it does not know. Every line is also forwarded
raw, next to what a reader makes of it.
"""

from collections.abc import Callable, Iterable
from importlib import import_module
from typing import Any, Protocol

from donewhen.engines.external.agent_events import AgentEvent


class StreamReader(Protocol):
    """Keeps the state between lines; one reader per invocation."""

    def value(self, value: Any) -> Iterable[AgentEvent]:
        """Return what one line of JSON means, without the line itself (`RawLine`)."""
        ...

    def text(self, line: str) -> Iterable[AgentEvent]:
        """Return what a line that is not JSON means: nothing, for most shapes."""
        ...

    def end(self, exit_code: int | None, stderr: str) -> Iterable[AgentEvent]:
        """Return what is known after the process has ended, from its exit code and its last line on stderr."""
        ...


class JsonOnly:
    """Base of readers for agents whose lines are JSON: any other line means nothing."""

    def text(self, line: str) -> Iterable[AgentEvent]:
        del line
        return ()


SHAPES = ("plain", "claude", "codex", "gemini", "opencode", "qwen", "copilot", "pi", "aider", "mini")


def reader(shape: str) -> StreamReader:
    """Return a new reader for a stream shape: `streams/SHAPE.py` has a class `Stream` without arguments."""
    made: Callable[[], StreamReader] = import_module(f"{__name__}.{shape}").Stream
    return made()
