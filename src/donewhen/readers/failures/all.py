"""Every reader of failures asked about one log, the one that knows its tool most surely first.

Whether two of them tell the same thing is not decided here: a test runner may print what a compiler said.
"""

from importlib import import_module

from donewhen.readers.failures import findings, logs
from donewhen.readers.failures.failure import Told

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


def told(log: str) -> list[Told]:
    """What each reader found, the surest first. The lines of the log are made once for all of them."""
    try:
        found = (import_module(f"donewhen.readers.failures.{name}").read(log) for name in ORDER)
        return [each for each in found if each]
    finally:
        logs.lines.cache_clear()
        findings.lines.cache_clear()
