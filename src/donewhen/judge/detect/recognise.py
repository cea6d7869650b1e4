"""Recognises the tool that a command line calls: test runner, type checker or linter, also after `uv run` or `npx`.

The input is words, the output is a name. A command that is not recognised is not guessed.
"""

import re
from collections.abc import Mapping, Sequence

from donewhen.judge.detect.proposal import Kind
from donewhen.judge.runners.registry import all_runners
from donewhen.records import frozen

ASSIGNMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*=.*")
PYTHON = re.compile(r"(?:.*/)?python(?:3(?:\.\d+)?)?")
RUN_PREFIXES: Mapping[tuple[str, ...], frozenset[str]] = {
    ("uv", "run"): frozenset(
        {"--extra", "--group", "--with", "--python", "-p", "--package", "--only-group", "--env-file"}
    ),
    ("poetry", "run"): frozenset(),
    ("pdm", "run"): frozenset(),
    ("pipenv", "run"): frozenset(),
    ("hatch", "run"): frozenset(),
    ("rye", "run"): frozenset(),
    ("bundle", "exec"): frozenset(),
    ("pnpm", "exec"): frozenset(),
    ("npm", "exec"): frozenset(),
    ("yarn", "exec"): frozenset(),
    ("npx",): frozenset({"-p", "--package"}),
    ("bunx",): frozenset(),
    ("time",): frozenset(),
    ("xvfb-run",): frozenset(),
    ("cross-env",): frozenset(),
    ("dotenv", "--"): frozenset(),
    ("c8",): frozenset({"-r", "--reporter", "--statements", "--branches", "--functions", "--lines"}),
    ("nyc",): frozenset({"-r", "--reporter"}),
    ("coverage", "run"): frozenset({"--source", "--rcfile", "--omit", "--include"}),
}
"""Words that only state how the rest is run → their options that take a value."""
BY_NAME: Mapping[str, tuple[Kind, str]] = {
    **{
        program: ("tests", runner.detected_as or runner.name)
        for runner in all_runners()
        if runner.is_detected
        for program in (*runner.programs, *runner.aliases)
        if program not in runner.subcommands
    },
    "mypy": ("types", "mypy"),
    "pyright": ("types", "pyright"),
    "basedpyright": ("types", "pyright"),
    "tsc": ("types", "tsc"),
    "vue-tsc": ("types", "tsc"),
    "tsd": ("types", "tsd"),
    "phpstan": ("types", "phpstan"),
    "psalm": ("types", "psalm"),
    "ruff": ("lint", "ruff"),
    "flake8": ("lint", "flake8"),
    "pylint": ("lint", "pylint"),
    "eslint": ("lint", "eslint"),
    "biome": ("lint", "biome"),
    "oxlint": ("lint", "oxlint"),
    "standard": ("lint", "standard"),
    "xo": ("lint", "xo"),
    "rubocop": ("lint", "rubocop"),
    "golangci-lint": ("lint", "golangci-lint"),
    "shellcheck": ("lint", "shellcheck"),
}
BY_SUBCOMMAND: Mapping[tuple[str, str], tuple[Kind, str]] = {
    **{
        (program, subcommand): ("tests", runner.detected_as or runner.name)
        for runner in all_runners()
        for program, subcommands in runner.subcommands.items()
        for subcommand in subcommands
    },
    ("node", "--test"): ("tests", "node:test"),
    ("rake", "test"): ("tests", "rake"),
    ("rake", "spec"): ("tests", "rspec"),
    ("cargo", "clippy"): ("lint", "clippy"),
    ("cargo", "fmt"): ("lint", "rustfmt"),
    ("cargo", "check"): ("build", "cargo"),
    ("cargo", "build"): ("build", "cargo"),
    ("go", "vet"): ("lint", "go-vet"),
    ("go", "build"): ("build", "go"),
}


@frozen
class RecognisedTool:
    kind: Kind
    runner: str
    arguments: tuple[str, ...]
    """The words after the words of the tool itself."""


def recognise(words: Sequence[str]) -> RecognisedTool | None:
    """Return the tool that a command finally calls; None if it is not recognised."""
    rest = without_prefixes(words)
    if not rest:
        return None
    name = rest[0].rpartition("/")[2]
    if name in BY_NAME:
        kind, runner = BY_NAME[name]
        return RecognisedTool(kind, runner, tuple(rest[1:]))
    subcommand = next((word for word in rest[1:] if not word.startswith("-") or word == "--test"), "")
    found = BY_SUBCOMMAND.get((name, subcommand))
    if found is None:
        return None
    return RecognisedTool(*found, tuple(word for word in rest[1:] if word != subcommand))


def without_prefixes(words: Sequence[str]) -> list[str]:
    """Return a command without the words that only state how it is run."""
    rest = list(words)
    before: list[str] | None = None
    while rest and rest != before:
        before = list(rest)
        while rest and ASSIGNMENT.fullmatch(rest[0]):
            rest.pop(0)
        rest = _without_prefix(rest)
        if len(rest) > 2 and PYTHON.fullmatch(rest[0]) and "-m" in rest[1:4]:
            rest = rest[rest.index("-m") + 1 :]
    return rest


def _without_prefix(words: list[str]) -> list[str]:
    for prefix, with_value in RUN_PREFIXES.items():
        if tuple(words[: len(prefix)]) == prefix and len(words) > len(prefix):
            return _without_options(words[len(prefix) :], with_value)
    return words


def _without_options(words: list[str], with_value: frozenset[str]) -> list[str]:
    rest = list(words)
    while rest and rest[0].startswith("-"):
        option = rest.pop(0)
        if option in ("-m", "--"):
            break
        if option in with_value and rest:
            rest.pop(0)
    return rest
