"""All failure readers applied to one log, the most reliable one first.

This module does not decide whether two readers report the same failure: a test runner may print compiler output.
"""

import re
from collections.abc import Callable
from importlib import import_module

from donewhen.readers.failures import findings, logs
from donewhen.readers.failures.failure import FailureReport
from donewhen.readers.printed_lines import last

RUNNERS = (
    "pytest",
    "cargo",
    "go",
    "phpunit",
    "rspec",
    "vitest",
    "jest",
    "node",
    "mocha",
    "unittest",
    "dotnet",
    "maven",
    "gradle",
)
COMPILERS = ("rustc", "javac", "go_build", "tsc", "pyright", "mypy", "eslint", "ruff", "gcc")
GUESSES = ("traceback",)
ORDER = (*RUNNERS, *COMPILERS, *GUESSES)
"""Test runners end with counts that no other tool prints. Compilers and linters print lines that a test may print
too. A trace may come from any program."""
CLOSING = {
    "pytest": re.compile(r"(?:=+ )?\d{1,9} \w.* in \d+\.\d+ ?s(?:econds)?(?: \(.{1,40}\))?(?: =+)?"),
    "cargo test": re.compile(r"test result: FAILED\. .*"),
    "go test": re.compile(r'FAIL(?:\t.*)?|\{"Time":(?=.*"Action":"fail").*\}'),
    "phpunit": re.compile(r"Tests: \d{1,9}, .*"),
    "rspec": re.compile(r"\d{1,9} examples?, \d{1,9} failures?.*"),
    "vitest": re.compile(r" +(?:Tests|Test Files) {2}.*"),
    "jest": re.compile(r"(?:Tests|Test Suites): .*"),
    "node:test": re.compile(r"(?:ℹ|#) duration_ms [\d.]+"),
    "mocha": re.compile(r" {2}\d{1,9} failing"),
    "unittest": re.compile(r"FAILED \(.*\)"),
    "dotnet test": re.compile(r"(?:Failed! .*|Test Run Failed\.)"),
    "maven": re.compile(r"(?:\[[A-Z]+\] ?)?(?:Tests run: .*|BUILD FAILURE)"),
    "gradle": re.compile(r"BUILD FAILED in .*|\d{1,9} tests? completed.*"),
}
"""The last line of a runner's output. A test may print the whole report of another runner, but not after that line."""


def told(log: str) -> list[FailureReport]:
    """Return what each reader found, the most reliable first. The lines of the log are split once for all readers."""
    try:
        found = [each for each in (reader(name)(log) for name in ORDER) if each]
        runners = [each for each in found if each.reader in CLOSING]
        if len(runners) > 1:
            printed = logs.lines(log)
            found.sort(key=lambda each: -_closed(each, printed))
        return found
    finally:
        logs.lines.cache_clear()
        findings.lines.cache_clear()


def reader(name: str) -> Callable[[str], FailureReport | None]:
    """Return the function that reads the failures of one tool out of a log."""
    if name in RUNNERS:
        return import_module(f"donewhen.readers.{name}").read_failures
    return import_module(f"donewhen.readers.compilers.{name}").read


def _closed(told: FailureReport, printed: list[str]) -> int:
    """Return the index of a runner's closing line; -1 without one and for other readers, which keep their order."""
    closing = last(CLOSING[told.reader], printed) if told.reader in CLOSING else None
    return closing[0] if closing else -1
