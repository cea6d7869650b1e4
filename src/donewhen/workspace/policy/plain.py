"""Plain text: text that the parser reads quickly and without crashing. Nearly every real command is plain.

The parser gets slower with pipes and signs; it crashed on characters beyond ASCII. With few of the former and none of
the latter, it was never seen to take more than a few hundredths of a second, whatever the text. This says nothing about
whether a command is wanted: text that is not plain is only read in another process (`workspace.policy_process`).
"""

from typing import NoReturn

from donewhen.workspace.policy.grammar import Parsed, Unread, measured

MOST_TEXT = 200
MOST_SIGNS = 40
MOST_PIPES = 3
MOST_SCRIPTS = 16
"""Limit for one command plus the scripts found inside it."""


class NotPlain(Exception):
    """A text that should be read in a process where the parser may hang or crash."""


class PlainParser:
    """`grammar.parse` for one command, as far as it is plain. Each call checks again: a variable or `eval` can turn a
    short text into a long one."""

    def __init__(self) -> None:
        self.scripts = 0

    def __call__(self, text: str) -> Parsed:
        found = measured(text)
        self.scripts += 1
        few = found.signs <= MOST_SIGNS and found.text.count("|") <= MOST_PIPES and self.scripts <= MOST_SCRIPTS
        if not few or len(found.text) > MOST_TEXT or not found.text.isascii():
            raise NotPlain
        return found.parsed()


def unreadable(_: str) -> NoReturn:
    """Act as a parser that always fails."""
    raise Unread("unparsed")
