"""TOML in pieces: tables, and the pairs in them. Values are not interpreted, but they must be valid TOML."""

import re
from functools import partial

from donewhen.records import frozen
from donewhen.syntax.grammar import parse
from donewhen.syntax.merging.entries import ListEntry, row_of
from donewhen.syntax.merging.pieces import Items, Parts, Piece, plain
from donewhen.syntax.merging.trees import NodeReader
from donewhen.toml import BadToml, parse_toml

_TOKEN = re.compile(
    rb'"""(?>(?:[^"\\]++|\\.?|""?(?!"))*)(?:"{3,5})?|'
    rb"'''(?>(?:[^']++|''?(?!'))*)(?:'{3,5})?|"
    rb'"(?>(?:[^"\\\n]++|\\.?)*)"?|'
    rb"'[^'\n]*'|#[^\n]*|[\[\]{}]|\n|[^\"'#\[\]{}\n]+",
    re.DOTALL,
)


def is_sound(text: bytes) -> bool:
    try:
        parse_toml(text)
    except BadToml:
        return False
    return True


def piece(text: bytes) -> Piece:
    return Piece(text, "toml", 0, partial(_tables, text))


@frozen
class _Statement:
    """A header or a pair, without the white space and comments around it."""

    start: int
    end: int
    header: bool


def _statements(text: bytes) -> list[_Statement]:
    found: list[_Statement] = []
    start = end = -1
    depth = 0
    for token in _TOKEN.finditer(text):
        token_text = token[0]
        if token_text == b"\n" and depth == 0:
            found += [_Statement(start, end, text[start : start + 1] == b"[")] if start >= 0 else []
            start = -1
        elif token_text.strip() and not (token_text.startswith(b"#") and start < 0):
            start = token.start() + len(token_text) - len(token_text.lstrip()) if start < 0 else start
            end = token.end() - (len(token_text) - len(token_text.rstrip()))
            depth += (token_text in (b"[", b"{")) - (token_text in (b"]", b"}"))
    return found + ([_Statement(start, end, text[start : start + 1] == b"[")] if start >= 0 else [])


def _tables(text: bytes) -> Items:
    groups: list[list[_Statement]] = []
    for statement in _statements(text):
        if statement.header or not groups:
            groups.append([])
        groups[-1].append(statement)
    entries: list[ListEntry] = []
    for group in groups:
        start, end = group[0].start, group[-1].end
        key = text[group[0].start : group[0].end].split(b"#")[0].strip(b"[] \t") if group[0].header else b""
        table = Piece(text[start:end], "table", start, partial(_pairs, text, group))
        entries.append(ListEntry(table, key, True, True))
    return row_of("tables", text, 0, 0, entries)


def _pairs(text: bytes, group: list[_Statement]) -> Items:
    start = group[0].start
    pairs = group[1:] if group[0].header else group
    head = group[0].end - start if group[0].header else 0
    return row_of("entries", text[start : group[-1].end], start, head, [_pair(text, pair) for pair in pairs])


def _pair(text: bytes, pair: _Statement) -> ListEntry:
    source = text[pair.start : pair.end]
    key = source.partition(b"=")[0].strip()
    return ListEntry(Piece(source, "pair", pair.start, partial(_value, source, pair.start)), key, True, True)


def _value(source: bytes, start: int) -> Parts | None:
    """Split an array, which is written like a Python list; any other value stays whole."""
    equals = source.find(b"=") + 1
    at = equals + len(source[equals:]) - len(source[equals:].lstrip())
    tree = parse("python", source[at:])
    statement = tree.root_node.named_children
    if tree.root_node.has_error or not statement or not statement[0].named_children:
        return None
    value = statement[0].named_children[0]
    if value.type != "list":
        return None
    rest = plain(source[at + value.end_byte :], start + at + value.end_byte)
    array = NodeReader("python", source[at:], start + at).piece(value)
    return Parts([("key", plain(source[:at], start)), ("value", array), ("rest", rest)], independent=False)
