"""All failure readers applied to one log, the most reliable one first.

This module does not decide whether two readers report the same failure: a test runner may print compiler output.
"""

from collections.abc import Callable
from importlib import import_module

from donewhen.readers.failures import findings, logs
from donewhen.readers.failures.failure import FailureReport
from donewhen.readers.printed_lines import last
from donewhen.readers.runner_names import RUNNERS

COMPILERS = ("rustc", "javac", "go_build", "tsc", "pyright", "mypy", "eslint", "ruff", "gcc")
GUESSES = ("traceback",)
ORDER = (*RUNNERS, *COMPILERS, *GUESSES)
"""Test runners end with counts that no other tool prints. Compilers and linters print lines that a test may print
too. A trace may come from any program."""


def failure_reports(log: str) -> list[FailureReport]:
    """Return what each reader found, the most reliable first. The lines of the log are split once for all readers.

    A test may print the whole report of another runner, but not after the last line of its own runner. So among several
    runners the one whose closing line comes last is the most reliable.
    """
    try:
        found = [(name, each) for name in ORDER if (each := reader(name)(log))]
        if sum(name in RUNNERS for name, _ in found) > 1:
            printed = logs.lines(log)
            found.sort(key=lambda one: -_closed(one[0], printed))
        return [each for _, each in found]
    finally:
        logs.lines.cache_clear()
        findings.lines.cache_clear()


def reader(name: str) -> Callable[[str], FailureReport | None]:
    """Return the function that reads the failures of one tool out of a log."""
    if name in RUNNERS:
        return import_module(f"donewhen.readers.{name}").read_failures
    return import_module(f"donewhen.readers.compilers.{name}").read


def _closed(name: str, printed: list[str]) -> int:
    """Return the index of a runner's closing line; -1 without one and for other readers, which keep their order."""
    closing = last(import_module(f"donewhen.readers.{name}").CLOSING, printed) if name in RUNNERS else None
    return closing[0] if closing else -1
