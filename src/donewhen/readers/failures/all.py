"""Every reader of failures asked about one log, the one that knows its tool most surely first.

Whether two of them tell the same thing is not decided here: a test runner may print what a compiler said.
"""

import re
from importlib import import_module

from donewhen.readers.failures import findings, logs
from donewhen.readers.failures.failure import Told
from donewhen.readers.printed import last

RUNNERS = (
    "pytest",
    "cargo_test",
    "go_test",
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
"""Test runners close with counts that nobody else prints; compilers and linters print lines that a test may print
too; a trace may be anybody's."""
CLOSING = {
    "pytest": re.compile(r"(?:=+ )?\d{1,9} \w+.* in \d+\.\d+ ?s(?:econds)?(?: \(.{1,40}\))?(?: =+)?"),
    "cargo test": re.compile(r"test result: FAILED\. .*"),
    "go test": re.compile(r'FAIL(?:\t.*)?|\{"Time":.*"Action":"fail".*\}'),
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
"""What a runner says at its end. A test may print the whole report of another runner, but not behind that."""


def told(log: str) -> list[Told]:
    """What each reader found, the surest first. The lines of the log are made once for all of them."""
    try:
        found = [each for each in (_read(name, log) for name in ORDER) if each]
        runners = [each for each in found if each.reader in CLOSING]
        if len(runners) > 1:
            printed = logs.lines(log)
            found.sort(key=lambda each: -_closed(each, printed))
        return found
    finally:
        logs.lines.cache_clear()
        findings.lines.cache_clear()


def _read(name: str, log: str) -> Told | None:
    return import_module(f"donewhen.readers.failures.{name}").read(log)


def _closed(told: Told, printed: list[str]) -> int:
    """Where a runner closed; the order stays as it is for those that did not, and for others."""
    closing = last(CLOSING[told.reader], printed) if told.reader in CLOSING else None
    return closing[0] if closing else -1
