"""Output of a verdict: JSON lines for a program, a table for a terminal, plain lines otherwise."""

import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager

from donewhen.cli.views import verdict_lines
from donewhen.events import Emit, Event
from donewhen.judge.verdict import Verdict
from donewhen.records import frozen


@frozen
class Audience:
    emit: Emit
    show: Callable[[Verdict], None]


@contextmanager
def audience(as_json: bool = False) -> Generator[Audience]:
    """Yield `emit` for events during judging, and `show`. Call `show` with the verdict after the block."""
    if as_json:
        from donewhen.cli.views.json_lines import JsonLines

        yield Audience(JsonLines().emit, _nothing)
    elif sys.stdout.isatty():
        from donewhen.cli.views.verdict_table import VerdictTable

        view = VerdictTable()
        with view.watching() as emit:
            yield Audience(emit, view.show)
    else:
        yield Audience(_nothing, verdict_lines.show)


def _nothing(fact: Event | Verdict) -> None:
    del fact
