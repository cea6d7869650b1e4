"""Output of a verdict: JSON lines for a program, a table for a terminal, plain lines otherwise."""

import sys
from collections.abc import Generator
from contextlib import contextmanager

from donewhen.cli.views import verdict_lines
from donewhen.events import Event
from donewhen.judge.verdict import Verdict
from donewhen.session.check.judge_tree import VerdictView


@contextmanager
def audience(as_json: bool = False) -> Generator[VerdictView]:
    """Provide a view while the judge works. Call its `show` with the verdict after the block."""
    if as_json:
        from donewhen.cli.views.json_lines import JsonLines

        yield VerdictView(JsonLines().emit, _ignore)
    elif sys.stdout.isatty():
        from donewhen.cli.views.verdict_table import VerdictTable

        view = VerdictTable()
        with view.progress() as emit:
            yield VerdictView(emit, view.show)
    else:
        yield VerdictView(_ignore, verdict_lines.show)


def _ignore(fact: Event | Verdict) -> None:
    del fact
