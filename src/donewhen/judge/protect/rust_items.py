"""Rust source as items: where each function, module or `use` begins and ends. A lexer and braces, no grammar.

Comments, strings and characters are blanked before anything is counted, so that what looks like code in them is none.
What cannot be followed is refused; nothing here is guessed.
"""

import re
from collections.abc import Iterator

from donewhen.judge.protect.taken import Unreadable
from donewhen.records import frozen

OPAQUE = re.compile(
    r"""(?P<line>//[^\n]*)|(?P<block>/\*)|(?<![\w])(?:b|c)?r(?P<fence>\#*+)(?P<raw>")"""
    r"""|"(?:[^"\\]|\\(?:.|\n))*+"|'(?:\\(?:u\{[0-9a-fA-F_]*\}|x[0-9a-fA-F]{2}|.)|[^\\'\n])'|(?P<open>")"""
)
COMMENT_ENDS = re.compile(r"/\*|\*/")
OPEN, CLOSE = "([{", ")]}"
ATTRIBUTE = re.compile(r"#(!?)\s*\[")
KEYWORD = re.compile(
    r"\b(?:(?P<kind>fn|mod|struct|enum|trait|union|type)\s+(?P<name>(?:r#)?\w+)|(?P<macro>macro_rules\s*!)\s*(?P<own>\w+)"
    r"|(?P<value>const|static)\s+(?:mut\s+)?(?P<constant>\w+)\s*:|(?P<plain>use|impl|extern\s+crate)\b)"
)
ENDS_WITH_SEMICOLON = ("use", "const", "static", "type", "extern crate")


@frozen
class Item:
    kind: str
    name: str
    """What tells it from others of its kind; for a `use` or an `impl` the text of it."""
    start: int
    end: int
    attributes: str
    body: tuple[int, int] | None
    """What is between the braces of a module."""

    @property
    def key(self) -> tuple[str, str]:
        return self.kind, self.name

    def text(self, source: str) -> str:
        return source[self.start : self.end]


def masked(source: str) -> str:
    """The source with everything opaque blanked; lengths and line ends stay."""
    found: list[str] = []
    at = 0
    for start, end in _opaque(source):
        found.append(source[at:start] + _blank(source[start:end]))
        at = end
    return "".join(found) + source[at:]


def _blank(text: str) -> str:
    return re.sub(r"[^\n]", " ", text)


def _opaque(source: str) -> Iterator[tuple[int, int]]:
    at = 0
    while match := OPAQUE.search(source, at):
        if match["open"]:
            raise Unreadable
        at = match.end()
        if match["block"]:
            at = _end_of_comment(source, at)
        elif match["raw"]:
            at = _end_of_raw(source, at, match["fence"])
        yield match.start(), at


def _end_of_raw(source: str, at: int, fence: str) -> int:
    end = source.find(f'"{fence}', at)
    if end < 0:
        raise Unreadable
    return end + 1 + len(fence)


def _end_of_comment(source: str, at: int) -> int:
    depth = 1
    while depth:
        match = COMMENT_ENDS.search(source, at)
        if match is None:
            raise Unreadable
        depth += 1 if match[0] == "/*" else -1
        at = match.end()
    return at


def items(source: str, mask: str, start: int, end: int) -> list[Item]:
    """The items of a file or of a module's body, in their order."""
    found: list[Item] = []
    at = start
    while (at := _skip_space(mask, at, end)) < end:
        item = _inner_attribute(source, mask, at, end) or _item(source, mask, at, end)
        found.append(item)
        at = item.end
    return found


def _skip_space(mask: str, at: int, end: int) -> int:
    while at < end and (mask[at].isspace() or mask[at] == ";"):
        at += 1
    return at


def _inner_attribute(source: str, mask: str, at: int, end: int) -> Item | None:
    match = ATTRIBUTE.match(mask, at, end)
    if match is None or not match[1]:
        return None
    close = _closing(mask, match.end() - 1, end) + 1
    text = source[at:close]
    return Item("inner attribute", " ".join(text.split()), at, close, text, None)


def _item(source: str, mask: str, start: int, end: int) -> Item:
    at = start
    while (match := ATTRIBUTE.match(mask, at, end)) and not match[1]:
        at = _skip_space(mask, _closing(mask, match.end() - 1, end) + 1, end)
    head = at
    kind = name = ""
    keyword = KEYWORD.search(mask, head, _first_of(mask, head, end, "{;"))
    if keyword:
        kind = (
            keyword["kind"]
            or keyword["value"]
            or (keyword["macro"] and "macro_rules")
            or " ".join(keyword["plain"].split())
        )
        name = keyword["name"] or keyword["constant"] or keyword["own"] or ""
        if kind == "const" and re.match(r"const\s+(?:unsafe\s+|async\s+|extern\s+)*fn\b", mask[keyword.start() :]):
            kind = "fn"
    last, body = _end(mask, head, end, kind)
    if not name:
        stop = body[0] if body and kind == "impl" else last
        name = " ".join(source[head:stop].split())
    return Item(kind or "other", name, start, last, source[start:head], body if kind == "mod" else None)


def _first_of(mask: str, at: int, end: int, characters: str) -> int:
    found = [place for character in characters if (place := mask.find(character, at, end)) >= 0]
    return min(found, default=end)


def _end(mask: str, at: int, end: int, kind: str) -> tuple[int, tuple[int, int] | None]:
    """Where an item ends, and what its last braces hold."""
    body: tuple[int, int] | None = None
    while at < end:
        character = mask[at]
        if character == ";":
            return at + 1, body
        if character in CLOSE:
            raise Unreadable
        if character in OPEN:
            close = _closing(mask, at, end)
            if character == "{":
                body = (at + 1, close)
                if kind not in ENDS_WITH_SEMICOLON:
                    return close + 1, body
            at = close
        at += 1
    raise Unreadable


def _closing(mask: str, at: int, end: int) -> int:
    """Where the bracket that opens here is closed."""
    expected: list[str] = []
    for place in range(at, end):
        character = mask[place]
        if character in OPEN:
            expected.append(CLOSE[OPEN.index(character)])
        elif character in CLOSE:
            if expected.pop() != character:
                raise Unreadable
            if not expected:
                return place
    raise Unreadable
