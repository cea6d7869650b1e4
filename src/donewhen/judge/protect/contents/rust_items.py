"""Splits Rust source into items: where each function, module or `use` begins and ends. A lexer, not a parser.

Comments, strings and characters are blanked first, so that code-like text in them is ignored. Source that cannot be
followed is rejected with FileUnreadable; nothing is guessed.
"""

import re
from collections.abc import Iterator

from donewhen.judge.protect.contents.accepted_part import FileUnreadable
from donewhen.records import frozen

OPAQUE = re.compile(
    r"""(?P<line>//[^\n]*)|(?P<block>/\*)|(?<![\w])(?:b|c)?r(?P<fence>\#*+)(?P<raw>")"""
    r"""|"(?>(?:[^"\\]++|\\[\s\S]?)*)(?:"|(?P<open>\Z))|'(?:\\(?:u\{[0-9a-fA-F_]*\}|x[0-9a-fA-F]{2}|.)|[^\\'\n])'"""
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
class RustItem:
    kind: str
    name: str
    """What distinguishes it from others of its kind; for a `use` or an `impl` its text."""
    start: int
    end: int
    attributes: str
    body: tuple[int, int] | None
    """The span between the braces of a module."""

    @property
    def key(self) -> tuple[str, str]:
        return self.kind, self.name

    def text(self, source: str) -> str:
        return source[self.start : self.end]


def masked(source: str) -> str:
    """Return the source with comments, strings and characters blanked. Lengths and line ends do not change."""
    found: list[str] = []
    at = 0
    for start, end in _opaque(source):
        found.append(source[at:start] + re.sub(r"[^\n]", " ", source[start:end]))
        at = end
    return "".join(found) + source[at:]


def _opaque(source: str) -> Iterator[tuple[int, int]]:
    at = 0
    while match := OPAQUE.search(source, at):
        if match["open"] is not None:
            raise FileUnreadable
        at = match.end()
        if match["block"]:
            at = _end_of_comment(source, at)
        elif match["raw"]:
            close = f'"{match["fence"]}'
            if (found := source.find(close, at)) < 0:
                raise FileUnreadable
            at = found + len(close)
        yield match.start(), at


def _end_of_comment(source: str, at: int) -> int:
    depth = 1
    while depth:
        match = COMMENT_ENDS.search(source, at)
        if match is None:
            raise FileUnreadable
        depth += 1 if match[0] == "/*" else -1
        at = match.end()
    return at


def items(source: str, mask: str, start: int, end: int) -> list[RustItem]:
    """Return the items of a file, or of the body of a module, in order."""
    found: list[RustItem] = []
    at = start
    while (at := _skip_space(mask, at, end)) < end:
        item = _inner_attribute(source, mask, at, end) or _item(source, mask, at, end)
        found.append(item)
        at = item.end
    return found


def attribute_spans(mask: str, item: RustItem) -> list[tuple[int, int]]:
    """Return where each attribute of an item begins and ends."""
    found: list[tuple[int, int]] = []
    at, end = item.start, item.start + len(item.attributes)
    while match := ATTRIBUTE.search(mask, at, end):
        at = _closing(mask, match.end() - 1, end) + 1
        found.append((match.start(), at))
    return found


def normal_form(source: str) -> str:
    """Return source without comments, and without the spaces and commas that a formatter may add or remove."""
    found: list[str] = []
    texts: list[str] = []
    at = 0
    for start, end in _opaque(source):
        is_comment = source.startswith(("//", "/*"), start)
        found += [source[at:start], " " if is_comment else "\0"]
        texts += [] if is_comment else [source[start:end]]
        at = end
    code = " ".join("".join((*found, source[at:])).split())
    code = re.sub(r" ?([()\[\]{},;.]) ?", r"\1", code)
    return "\0".join((re.sub(r",([)\]}])", r"\1", code), *texts))


def _skip_space(mask: str, at: int, end: int) -> int:
    while at < end and (mask[at].isspace() or mask[at] == ";"):
        at += 1
    return at


def _inner_attribute(source: str, mask: str, at: int, end: int) -> RustItem | None:
    match = ATTRIBUTE.match(mask, at, end)
    if match is None or not match[1]:
        return None
    close = _closing(mask, match.end() - 1, end) + 1
    text = source[at:close]
    return RustItem("inner attribute", " ".join(text.split()), at, close, text, None)


def _item(source: str, mask: str, start: int, end: int) -> RustItem:
    at = start
    while (match := ATTRIBUTE.match(mask, at, end)) and not match[1]:
        at = _skip_space(mask, _closing(mask, match.end() - 1, end) + 1, end)
    head = at
    kind = name = ""
    opens = min((index for sign in "{;" if (index := mask.find(sign, head, end)) >= 0), default=end)
    keyword = KEYWORD.search(mask, head, opens)
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
    return RustItem(kind or "other", name, start, last, source[start:head], body if kind == "mod" else None)


def _end(mask: str, at: int, end: int, kind: str) -> tuple[int, tuple[int, int] | None]:
    """Return the end of an item, and the span inside of its last braces."""
    body: tuple[int, int] | None = None
    while at < end:
        character = mask[at]
        if character == ";":
            return at + 1, body
        if character in CLOSE:
            raise FileUnreadable
        if character in OPEN:
            close = _closing(mask, at, end)
            if character == "{":
                body = (at + 1, close)
                if kind not in ENDS_WITH_SEMICOLON:
                    return close + 1, body
            at = close
        at += 1
    raise FileUnreadable


def _closing(mask: str, at: int, end: int) -> int:
    """Return the index at which the bracket that opens here is closed."""
    expected: list[str] = []
    for index in range(at, end):
        character = mask[index]
        if character in OPEN:
            expected.append(CLOSE[OPEN.index(character)])
        elif character in CLOSE:
            if expected.pop() != character:
                raise FileUnreadable
            if not expected:
                return index
    raise FileUnreadable
