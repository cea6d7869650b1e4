"""Who is told about a judgement: a program by lines of JSON, a terminal by a table, everybody else by plain lines."""

import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager

from donewhen.cli import verdict_lines
from donewhen.events import Emit, Event
from donewhen.judge.verdict import Verdict
from donewhen.records import frozen


@frozen
class Audience:
    emit: Emit
    show: Callable[[Verdict], None]


@contextmanager
def audience(as_json: bool = False) -> Generator[Audience]:
    """While something is judged, its events go to `emit`; the verdict is to be shown after the end of the block."""
    if as_json:
        from donewhen.cli.lines import Lines

        yield Audience(Lines().emit, _nothing)
    elif sys.stdout.isatty():
        from donewhen.cli.verdict_view import Live

        view = Live()
        with view.watching() as emit:
            yield Audience(emit, view.show)
    else:
        yield Audience(_nothing, verdict_lines.show)


def _nothing(fact: Event | Verdict) -> None:
    del fact
