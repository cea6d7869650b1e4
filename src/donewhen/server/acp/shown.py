"""Texts of models and repositories as an editor may show them: nothing in them acts, and no invisible character stays.

Editors render what an agent says as Markdown. An image in it would be loaded from wherever it says, which tells its
server what stands in the address. So images become links, which no editor follows by itself.
"""

import re

from donewhen.printable import one_line, shortened, visible
from donewhen.server.acp.prompt_text import fenced

LONGEST = 20_000
LONGEST_TITLE = 200
_ELEMENT = re.compile(
    r"<(?=/?(?:img|iframe|object|embed|svg|video|audio|link|script|style|source|picture)\b)", re.IGNORECASE
)


def words(text: str) -> str:
    """Return a text with its Markdown, but without images and elements that load something."""
    return _ELEMENT.sub("&lt;", shortened(visible(text), LONGEST).replace("![", "! ["))


def block(text: str, language: str = "") -> str:
    """Return a text as a code block, exactly as it is."""
    return fenced(shortened(visible(text), LONGEST), language)


def title(text: object) -> str:
    """Return a text as one short line without Markdown."""
    return shortened(one_line(" ".join(str(text or "").split())), LONGEST_TITLE)


def code(text: object) -> str:
    """Return a text as one short line of code."""
    return f"`{title(text).replace('`', 'ˋ')}`"
