"""Verdict on a terminal: progress while the judge works, then a table. `verdict_lines` provides the texts."""

from collections.abc import Generator
from contextlib import contextmanager

from rich.console import Console
from rich.markup import escape
from rich.style import Style
from rich.table import Table
from rich.text import Text

from donewhen import events
from donewhen.cli.group import one_line
from donewhen.cli.views.verdict_lines import TAIL_LINES, evidence, remarks, status, tests, time
from donewhen.events import Emit, Event
from donewhen.judge.verdict import CheckStatus, Verdict
from donewhen.printable import escaped
from donewhen.session.check import judge_tree

COLOURS = {CheckStatus.PASS: "none", CheckStatus.FLAKY: "yellow", CheckStatus.VACUOUS: "yellow"}
PHASES = {"baseline": " on the base", "rerun": " once more", "control": " as control"}


class VerdictTable:
    """Shows progress on a terminal, and the verdict at the end."""

    def __init__(self) -> None:
        self._console = Console(highlight=False)
        # The spinner is not green: only a verified result is.
        self._status = self._console.status("judging", spinner_style="cyan")

    @contextmanager
    def progress(self) -> Generator[Emit]:
        """Show progress until the block ends, with or without a verdict."""
        with self._status:
            yield self._show_progress

    def _show_progress(self, event: Event) -> None:
        if isinstance(event, events.CheckStarted):
            self._status.update(f"{escape(event.name)}{PHASES.get(event.phase, '')}")

    def show(self, verdict: Verdict) -> None:
        self._console.print(_table(verdict))
        for result in verdict.results:
            if result.status is not CheckStatus.PASS:
                self._console.rule(escape(result.name), align="left", style="dim")
                tail = "\n".join(result.output_tail.splitlines()[-TAIL_LINES:])
                self._console.print(_with_colours(tail), soft_wrap=True)
        for line in remarks(verdict):
            self._console.print(one_line(line), style="dim", markup=False, soft_wrap=True)
        self._console.print(
            one_line(judge_tree.summary(verdict)), markup=False, style="bold green" if verdict.green else "bold red"
        )


def _with_colours(output: str) -> Text:
    """Return the output of a check with its colours, but without other terminal controls, links included."""
    found = Text.from_ansi(output)
    text = Text(escaped(found.plain, _one_sign, keep="\n\t"))
    for span in found.spans:
        style = span.style if isinstance(span.style, Style) else Style()
        kept = Style(color=style.color, bold=style.bold, dim=style.dim, italic=style.italic, underline=style.underline)
        text.stylize(kept, span.start, span.end)
    return text


def _one_sign(char: str) -> str:
    """Replace a character by exactly one, because the positions of colours are counted in characters."""
    shown = one_line(char)
    return shown if len(shown) == 1 else "\ufffd"


def _table(verdict: Verdict) -> Table:
    table = Table(box=None, pad_edge=False, header_style="dim")
    for heading in ("check", "result", "tests", "evidence", "time", ""):
        table.add_column(heading, justify="right" if heading in ("tests", "time") else "left")
    for result in verdict.results:
        shown = Text(status(result), style=COLOURS.get(result.status, "red"))
        reasons = Text(one_line("; ".join(result.reasons)))
        table.add_row(result.name, shown, tests(result), evidence(result), time(result), reasons)
    return table
