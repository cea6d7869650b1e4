"""Readers of what agents print, one per shape of stream: a line in, happenings out. Pure; no I/O, no clock.

A reader never raises for what an agent prints: what it does not know is left out (the engine forwards every line raw
beside what a reader makes of it).
"""

from collections.abc import Callable, Iterable
from importlib import import_module
from typing import Any, Protocol

from donewhen.engines.external.happening import Happening


class Reader(Protocol):
    """Keeps what it must remember between lines; one reader per invocation."""

    def value(self, value: Any) -> Iterable[Happening]:
        """What one line of JSON means, the line itself (`Raw`) not among it."""
        ...

    def text(self, line: str) -> Iterable[Happening]:
        """What a line that is no JSON means: nothing, for most."""
        ...

    def end(self, exit_code: int | None, stderr: str) -> Iterable[Happening]:
        """What is known once the process has ended: an exit code, its last words on stderr."""
        ...


class JsonOnly:
    """For agents whose lines are JSON: any other says nothing."""

    def text(self, line: str) -> Iterable[Happening]:
        del line
        return ()


SHAPES = ("plain", "claude", "codex", "gemini", "opencode", "qwen", "copilot", "pi", "aider", "mini")


def reader(shape: str) -> Reader:
    """A new reader for a shape of stream: `streams/SHAPE.py` has a class `Stream` without arguments."""
    made: Callable[[], Reader] = import_module(f"{__name__}.{shape}").Stream
    return made()
