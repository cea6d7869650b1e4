"""Verdict in plain lines, for output without a terminal, and texts that the terminal table also uses."""

import click

from donewhen.cli.group import one_line
from donewhen.event_records import NOT_GRADED
from donewhen.judge.output_tail import plain
from donewhen.judge.verdict import CheckStatus, Result, Verdict
from donewhen.session.check import judge_tree

TAIL_LINES = 15


def show(verdict: Verdict) -> None:
    for result in verdict.results:
        about = [status(result), tests(result), evidence(result), time(result), "; ".join(result.reasons)]
        click.echo(one_line(f"{result.name}: {', '.join(filter(None, about))}"))
        if result.status is not CheckStatus.PASS:
            for line in plain(result.output_tail).splitlines()[-TAIL_LINES:]:
                click.echo(f"    {one_line(line.expandtabs())}")
    for line in remarks(verdict):
        click.echo(one_line(line))
    click.echo(one_line(judge_tree.summary(verdict)))


def remarks(verdict: Verdict) -> list[str]:
    lines: list[str] = []
    for edit in verdict.edits:
        parts = f" [{', '.join(edit.parts)}]" if edit.parts else ""
        lines.append(f"{NOT_GRADED}: {edit.path} {edit.action}{parts} ({edit.reason})")
    if verdict.discriminating is False:
        lines.append("not discriminating: the checks are green without these changes as well")
    if verdict.basis:
        lines.append(f"which changes count: {', '.join(verdict.basis)}")
    return [*lines, *map(str, verdict.notes)]


def status(result: Result) -> str:
    return f"{result.status.value} (quarantined)" if result.quarantined else result.status.value


def tests(result: Result) -> str:
    if result.tests is None:
        return ""
    failed = f", {result.tests.failed} failed" if result.tests.failed else ""
    skipped = f", {result.tests.skipped} skipped" if result.tests.skipped else ""
    return f"{result.tests.passed} passed{failed}{skipped}"


def evidence(result: Result) -> str:
    return f"{result.evidence}, cached" if result.cached else result.evidence


def time(result: Result) -> str:
    return f"{result.duration_ms / 1000:.1f} s"
