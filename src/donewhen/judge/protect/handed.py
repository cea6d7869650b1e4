"""Which files and directories a command hands to a test runner: those are tests, whatever they are called. Pure text.

Words are told as they are written; what of them exists, and where, is for others to find out.
"""

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from donewhen.judge.protect.commands import Named
from donewhen.judge.protect.tables import listed

RUNNERS = listed(
    "pytest py.test unittest nose nose2 trial ward green behave robot jest mocha vitest ava tap tape jasmine uvu qunit"
    " rspec bats phpunit pest busted prove"
)
SEARCH_BY_NAME = frozenset({"jest", "vitest"})
"""What these find in a directory they know by its name, and the directory is as likely the product's."""
PASS_ON = frozenset({"yarn", "pnpm", "bun", "deno", "npm", "node"})
AFTER_A_BREAK = frozenset({"tox", "nox"})
TEST_SCRIPT = re.compile(r"(?:unit|integration)?[-_:]?(?:tests?|spec)(?::.*)?")
"""A script that runs tests, by its name; those of linters are handed the product."""
OF_SOMETHING_ELSE = re.compile(
    r"--(?:cov|coverage|collect-?coverage|ignore|deselect|junit|report|output|rootdir|root|log)[\w-]*", re.IGNORECASE
)
"""Options whose value is no test."""


def runner_of(one: Named) -> str:
    """The runner that a command is, by the last part of its name; nothing where it is none."""
    name = one.word.rpartition("/")[2]
    return name if name in RUNNERS else ""


def handed(one: Named) -> Iterator[str]:
    """The words that a runner is given as places of tests. Doctests are in the product, which is then no test."""
    words = list(_words(one))
    if any(word.startswith("--doctest") for word in words):
        return
    for before, word in pairwise(("", *words)):
        if word and not word.startswith(("-", "/", "~", "$")) and not OF_SOMETHING_ELSE.fullmatch(before):
            yield _path(word)


def _words(one: Named) -> Sequence[str]:
    name, words = one.word.rpartition("/")[2], one.arguments
    if runner_of(one):
        return words
    if one.how != "program":
        return ()
    if "--" in words:
        at = words.index("--")
        is_test = name in AFTER_A_BREAK or any(TEST_SCRIPT.fullmatch(word) for word in (name, *words[:at]))
        return words[at + 1 :] if is_test else ()
    if any(word == "--test" or word.startswith("--test-") for word in words):
        return words
    return words[1:] if name in PASS_ON and words and TEST_SCRIPT.fullmatch(words[0]) else ()


def _path(word: str) -> str:
    """Without the name of a test inside of a file, or the number of a line."""
    return re.sub(r":\d+(?::\d+)*$", "", word.partition("::")[0])
