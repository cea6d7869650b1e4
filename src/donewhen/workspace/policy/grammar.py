"""The shell grammar with limits: turns text into a syntax tree, or gives the reason why there is none.

`reader` finds out what the tree means. The parser is linear in time and memory for ordinary text, but not for all text
(a few thousand backticks cost a gigabyte), and it cannot be stopped. So a script is measured before it is parsed. The
only ordinary text that is long is what a here-document writes into a file. It is cut out first, and the code that meets
its place in the tree puts it back. Some text within the limits still takes minutes. `plain` recognises text that never
does; a caller that cannot wait has the rest parsed in another process (`workspace.policy_process`).

The parser is also unsafe for some text. Where a brace may open `{1..3}`, it looks up the next character in a table of
256 entries without checking how large the character is. The memory after that table decides whether the result is a
wrong answer or a crash of the process. So the parser never gets a larger character there: see `harmless`.
"""

import re
from collections.abc import Callable
from functools import cache

import tree_sitter_bash
from tree_sitter import Language, Node, Parser

from donewhen.records import frozen

LONGEST = 128 * 1024 - 1
"""The Linux limit for a single argument, so no `sh -c` could get a longer command."""

MOST_TEXT = 16 * 1024
"""Characters, without the here-documents that were cut out."""
MOST_SIGNS = 1500
"""Characters that are not letters, digits, space or common in file names. Many of them can make parsing slow."""
MOST_BACKTICKS = 64
MOST_HEREDOCS = 64
MOST_PIPES = 24
"""Only for text that contains `<`. To the grammar, a pipe may continue below a here-document or next to it. After an
error it tries both, and each further pipe doubles the time."""

CUT = "\x01"
"""Starts the line that replaces a here-document that was cut out. `_ODD` rejects commands that contain it."""

_ODD = re.compile(r"[\x00-\x08\x0b-\x1f\x7f\ud800-\udfff]")
_SIGN = re.compile(r"[^\w\s./,:=+'\"-]")
_HEREDOC = re.compile(r"<<(-?)[ \t]*(['\"]?)([A-Za-z_][\w.-]*)\2(?=[\s)|&;<>])")
_EXPANDS = re.compile(r"[$`\\]")
_TABS = re.compile(r"^\t+", re.MULTILINE)
_LOOKED_UP = re.compile(r"(\{[0-9.]*)([^\x00-\xff])")
_STAND_IN = "@"
"""Like a character beyond ASCII, it is not special there. Unlike a letter, it cannot make `${…}` a variable."""

_BARE = re.compile(r"(?<![\\$])\$([A-Za-z_]\w*)(?=[-/.,:=+@^\\])")
_BRACED = re.compile(r"\$\{([A-Za-z_]\w*)\}(?=[-/.,:=+@^\\])")


class Unread(Exception):
    """A script that the policy cannot read; `kind` is the kind of the resulting doubt."""

    def __init__(self, kind: str) -> None:
        super().__init__(kind)
        self.kind = kind


@frozen
class Parsed:
    root: Node
    source: bytes
    bodies: tuple[str, ...]
    """The here-documents that were cut out, in order of appearance."""

    def text(self, node: Node) -> str:
        return self.source[node.start_byte : node.end_byte].decode(errors="replace")


Parse = Callable[[str], Parsed]
"""A function from text to tree. It raises `Unread` if some part of the text is not certain."""


@frozen
class Measured:
    """A script within the limits of the parser, in the form that the parser gets."""

    text: str
    bodies: tuple[str, ...]
    signs: int

    def parsed(self) -> Parsed:
        root = _parser().parse(harmless(self.text)).root_node
        if root.has_error:
            raise Unread("unparsed")
        return Parsed(root, self.text.encode(), self.bodies)


@cache
def _parser() -> Parser:
    return Parser(Language(tree_sitter_bash.language()))


def parse(text: str) -> Parsed:
    """Return the tree of a whole script. This may take minutes or crash the process."""
    return measured(text).parsed()


def measured(text: str) -> Measured:
    if len(text) > LONGEST:
        raise Unread("too-long")
    if _ODD.search(text):
        raise Unread("odd-characters")
    text, bodies = without_heredocs(text)
    # The grammar reads `$a/$b/c` as two words; with braces it reads one.
    text = _BARE.sub(r"${\1}", text)
    signs = len(_SIGN.findall(text))
    pipes = text.count("|") - 2 * text.count("||") if "<" in text else 0
    if len(text) > MOST_TEXT or signs > MOST_SIGNS or text.count("`") > MOST_BACKTICKS or pipes > MOST_PIPES:
        raise Unread("too-long")
    return Measured(text, bodies, signs)


def harmless(text: str) -> bytes:
    """Return the script as the parser may see it. The length is unchanged, so that positions in the tree stay valid."""
    return _LOOKED_UP.sub(lambda found: found[1] + _STAND_IN * len(found[2].encode()), text).encode()


def as_typed(text: str) -> str:
    """Return a part of a script as a person may have written it, without the braces that `measured` added."""
    return _BRACED.sub(r"$\1", text)


def without_heredocs(text: str) -> tuple[str, tuple[str, ...]]:
    """Replace each here-document without expansions by one line; return the script and the removed bodies."""
    kept: list[str] = []
    bodies: list[str] = []
    start = 0
    for _ in range(MOST_HEREDOCS):
        opened = _HEREDOC.search(text, start)
        line_end = text.find("\n", opened.end()) + 1 if opened else 0
        if not opened or not line_end:
            break
        tabs = r"\t*" if opened[1] else ""
        closing = re.compile(rf"^{tabs}{re.escape(opened[3])}$", re.MULTILINE).search(text, line_end)
        body = text[line_end : closing.start()] if closing else ""
        # Without this blank, the grammar would add what follows to the delimiter.
        kept += [text[start : opened.end()], " ", text[opened.end() : line_end]]
        start = line_end
        if body and (opened[2] or not _EXPANDS.search(body)):
            kept.append(f"{CUT}{len(bodies)}\n")
            start += len(body)
            bodies.append(_TABS.sub("", body) if opened[1] else body)
    return "".join([*kept, text[start:]]), tuple(bodies)
