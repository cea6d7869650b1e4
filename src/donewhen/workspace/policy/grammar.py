"""The shell grammar, bounded: text to a syntax tree, or to the reason why there is none. What it means: `reader`.

The parser is linear in time and memory for ordinary text, but not for all text (a few thousand backticks cost a
gigabyte), and it cannot be stopped. So a script is measured before it is parsed. What is written into a file through
a here-document is the one ordinary thing that is long; it is cut out first and put back by whoever meets its place
in the tree. Some text within the bounds still takes minutes: `plain` says which never does, and whoever cannot wait
asks about the rest in another process (`workspace.consulting`).

Nor is it safe for all text. Where a brace may open `{1..3}`, it looks up what follows in a table of 256 characters
without asking how large the character is, and what lies behind that table decides between a wrong answer and the
death of the process. So it never sees a larger character there: see `harmless`.
"""

import re
from collections.abc import Callable
from functools import cache

import tree_sitter_bash
from tree_sitter import Language, Node, Parser

from donewhen.records import frozen

LONGEST = 128 * 1024 - 1
"""Linux takes no single argument beyond this, so no `sh -c` could be given a longer command."""

MOST_TEXT = 16 * 1024
"""Characters, here-documents not counted."""
MOST_SIGNS = 1500
"""Characters that are neither letters, digits, space nor common in file names; they are what parsing can choke on."""
MOST_BACKTICKS = 64
MOST_HEREDOCS = 64
MOST_PIPES = 24
"""Where there is a `<`, too. To the grammar a pipe may go on below a here-document or beside it; once it has lost its
way it tries both, for each pipe twice as long as for the one before."""

CUT = "\x01"
"""Starts the line that stands for a here-document that was cut out; `odd` keeps it out of every command."""

_ODD = re.compile(r"[\x00-\x08\x0b-\x1f\x7f\ud800-\udfff]")
_SIGN = re.compile(r"[^\w\s./,:=+'\"-]")
_HEREDOC = re.compile(r"<<(-?)[ \t]*(['\"]?)([A-Za-z_][\w.-]*)\2(?=[\s)|&;<>])")
_EXPANDS = re.compile(r"[$`\\]")
_TABS = re.compile(r"^\t+", re.MULTILINE)
_LOOKED_UP = re.compile(r"(\{[0-9.]*)([^\x00-\xff])")
_STAND_IN = "@"
"""Not special where it is put, as no character beyond ASCII is; unlike a letter it cannot make `${…}` a variable."""

_BARE = re.compile(r"(?<![\\$])\$([A-Za-z_]\w*)(?=[-/.,:=+@^\\])")
_BRACED = re.compile(r"\$\{([A-Za-z_]\w*)\}(?=[-/.,:=+@^\\])")


class Unread(Exception):
    """A script that the policy does not look through; `kind` is the doubt it leaves."""

    def __init__(self, kind: str) -> None:
        super().__init__(kind)
        self.kind = kind


@frozen
class Parsed:
    root: Node
    source: bytes
    bodies: tuple[str, ...]
    """The here-documents that were cut out, in order."""

    def text(self, node: Node) -> str:
        return self.source[node.start_byte : node.end_byte].decode(errors="replace")


Parse = Callable[[str], Parsed]
"""A way from text to tree; `Unread` when some part of the text is not certain."""


@frozen
class Measured:
    """A script that is not too much for the parser, as the parser gets it."""

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
    """The tree of a whole script. It may take minutes, or kill the process."""
    return measured(text).parsed()


def measured(text: str) -> Measured:
    if len(text) > LONGEST:
        raise Unread("too-long")
    if _ODD.search(text):
        raise Unread("odd-characters")
    text, bodies = without_heredocs(text)
    # The grammar reads `$a/$b/c` as two words; with braces it does not.
    text = _BARE.sub(r"${\1}", text)
    signs = len(_SIGN.findall(text))
    pipes = text.count("|") - 2 * text.count("||") if "<" in text else 0
    if len(text) > MOST_TEXT or signs > MOST_SIGNS or text.count("`") > MOST_BACKTICKS or pipes > MOST_PIPES:
        raise Unread("too-long")
    return Measured(text, bodies, signs)


def harmless(text: str) -> bytes:
    """What the parser may see of a script: as long as the script, so that places in the tree are places in it."""
    return _LOOKED_UP.sub(lambda found: found[1] + _STAND_IN * len(found[2].encode()), text).encode()


def as_typed(text: str) -> str:
    """A part of a script as a person may have written it."""
    return _BRACED.sub(r"$\1", text)


def without_heredocs(text: str) -> tuple[str, tuple[str, ...]]:
    """The script with each here-document that holds no expansion replaced by one line, and what was taken out."""
    kept: list[str] = []
    bodies: list[str] = []
    start = 0
    for _ in range(MOST_HEREDOCS):
        opened = _HEREDOC.search(text, start)
        line_end = text.find("\n", opened.end()) + 1 if opened else 0
        if not opened or not line_end:
            break
        body = _body(text, opened, line_end)
        # The blank keeps what follows out of the delimiter, to which the grammar would add it.
        kept += [text[start : opened.end()], " ", text[opened.end() : line_end]]
        start = line_end
        if body and (opened[2] or not _EXPANDS.search(body)):
            kept.append(f"{CUT}{len(bodies)}\n")
            start += len(body)
            bodies.append(_TABS.sub("", body) if opened[1] else body)
    return "".join([*kept, text[start:]]), tuple(bodies)


def _body(text: str, opened: re.Match[str], start: int) -> str:
    """What stands between the line that opens a here-document and the line that ends it; nothing if it never ends."""
    tabs = r"\t*" if opened[1] else ""
    closing = re.compile(rf"^{tabs}{re.escape(opened[3])}$", re.MULTILINE).search(text, start)
    return text[start : closing.start()] if closing else ""
