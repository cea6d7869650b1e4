"""Finds the files and directories that a command passes to a test runner. They are tests, whatever their name. Pure
text.

Words are returned as written. The caller finds out which of them exist, and where.
"""

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from donewhen.judge.protect.commands.commands import NamedFile
from donewhen.judge.runners.registry import all_runners

RUNNERS = frozenset(program for runner in all_runners() if runner.arguments_are_paths for program in runner.programs)
SEARCH_BY_NAME = frozenset(
    program for runner in all_runners() if runner.finds_tests_by_name for program in runner.programs
)
"""These runners select files in a directory by name, so the directory may as well belong to the product."""
PASS_ON = frozenset({"yarn", "pnpm", "bun", "deno", "npm", "node"})
PASS_AFTER_DASHES = frozenset({"tox", "nox"})
TEST_SCRIPT = re.compile(r"(?:unit|integration)?[-_:]?(?:tests?|spec)(?::.*)?")
"""A script that runs tests, by its name. Scripts of linters get files of the product."""
VALUE_IS_NO_TEST = re.compile(
    r"--(?:cov|coverage|collect-?coverage|ignore|deselect|junit|report|output|rootdir|root|log)[\w-]*", re.IGNORECASE
)
"""Options whose value is not a test."""


def runner_of(one: NamedFile) -> str:
    """Return the runner that a command starts, by the last part of its name; empty if it is not a runner."""
    name = one.word.rpartition("/")[2]
    return name if name in RUNNERS else ""


def test_arguments(one: NamedFile) -> Iterator[str]:
    """Yield the words that tell a runner where tests are.

    Doctests are in the product. With them the words name the product, so nothing is returned.
    """
    words = list(_words(one))
    if any(word.startswith("--doctest") for word in words):
        return
    for before, word in pairwise(("", *words)):
        if word and not word.startswith(("-", "/", "~", "$")) and not VALUE_IS_NO_TEST.fullmatch(before):
            yield _path(word)


def _words(one: NamedFile) -> Sequence[str]:
    name, words = one.word.rpartition("/")[2], one.arguments
    if runner_of(one):
        return words
    if one.how != "program":
        return ()
    if "--" in words:
        at = words.index("--")
        is_test = name in PASS_AFTER_DASHES or any(TEST_SCRIPT.fullmatch(word) for word in (name, *words[:at]))
        return words[at + 1 :] if is_test else ()
    if any(word == "--test" or word.startswith("--test-") for word in words):
        return words
    return words[1:] if name in PASS_ON and words and TEST_SCRIPT.fullmatch(words[0]) else ()


def _path(word: str) -> str:
    """Return the path without the name of a test inside of the file, and without line numbers."""
    path = word.partition("::")[0]
    numbers = re.match(r"(?:\d+:)*", path[::-1])  # from the end, so that each number is read once
    return path[: len(path) - numbers.end()] if numbers else path
