"""Text that the parser is certain to get through, quickly and alive: what nearly every real command is.

What makes the parser slow grows with pipes and signs; what killed it was a character beyond ASCII. Little of the one
and nothing of the other was never seen to cost it more than a few hundredths of a second, whatever the text. This is no
judgement of a command: text that is not plain is only read elsewhere (`workspace.consulting`).
"""

from typing import NoReturn

from donewhen.workspace.policy.grammar import Parsed, Unread, measured

MOST_TEXT = 200
MOST_SIGNS = 40
MOST_PIPES = 3
MOST_SCRIPTS = 16
"""One command, and what is found inside it."""


class NotPlain(Exception):
    """A text that should be read where the parser may hang or die."""


class PlainParser:
    """`grammar.parse` for one command, as far as it is plain. It is asked again for what a variable or `eval` makes of
    a short text, which need not be short."""

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
    """A parser that gives up at once."""
    raise Unread("unparsed")
