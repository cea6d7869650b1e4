"""YAML in pieces, by indentation: entries of mappings, and plain items of lists. It does not use a YAML parser.

It supports less than YAML allows. Unsupported syntax (anchors, several documents, tabs, complex keys) makes a text
unsound; then only lines are merged.
"""

import re
from functools import partial

from donewhen.syntax.merging.entries import ListEntry, lines_with_offsets, row_of
from donewhen.syntax.merging.pieces import Items, Piece, plain

_KEY = re.compile(rb"""^( *)((?:"[^"\\]*"|'[^']*') *|[^\s#'"\[\]{}&*!|>%@`,?:-][^#:]*|-[^\s#:][^#:]*):(\s.*|)$""")
_DASH = re.compile(rb"^( *)-(\s.*|)$", re.DOTALL)
_SCALAR = re.compile(rb"[|>][-+0-9]*\s*(#.*)?$", re.DOTALL)
_UNKNOWN = re.compile(rb"^[ \t]*(\?|<<[ \t]*:|---|\.\.\.|%)|^ *\t|(:|-)[ \t]+[&*!]\S", re.MULTILINE)


def is_sound(text: bytes) -> bool:
    """Tell whether every line is understood and no key occurs twice in one mapping."""
    if _UNKNOWN.search(text.removeprefix(b"---\n")):
        return False
    keys: list[tuple[int, set[bytes]]] = []
    scalar: int | None = None
    for _, line in lines_with_offsets(text, 0):
        indent = len(line) - len(line.lstrip())
        if not line.strip() or (scalar is not None and indent > scalar) or line.lstrip().startswith(b"#"):
            continue
        dash, mark = _DASH.match(line), _KEY.match(line)
        scalar = indent if _SCALAR.search(line) else None
        while keys and keys[-1][0] > indent:
            keys.pop()
        if dash:
            keys = [one for one in keys if one[0] < indent or not dash]
        elif not mark or not _add_key(keys, indent, mark[2].strip()):
            return False
    return True


def _add_key(keys: list[tuple[int, set[bytes]]], indent: int, key: bytes) -> bool:
    if not keys or keys[-1][0] < indent:
        keys.append((indent, set()))
    if key in keys[-1][1]:
        return False
    keys[-1][1].add(key)
    return True


def piece(text: bytes) -> Piece:
    return Piece(text, "yaml", 0, partial(_block, text, 0, 0))


def _block(text: bytes, offset: int, head: int) -> Items | None:
    """Return the entries at the outermost level of some lines."""
    starts: list[tuple[int, bytes, bytes | None]] = []
    level: int | None = None
    for at, line in lines_with_offsets(text[head:], offset + head):
        indent = len(line) - len(line.lstrip())
        bare = line.strip()
        if not bare or bare.startswith(b"#") or bare == b"---":
            continue
        level = indent if level is None else level
        if indent < level:
            return None
        mark, dash = _KEY.match(line), _DASH.match(line)
        if indent == level and not (dash and starts and starts[0][2] is not None):
            if not mark and not dash:
                return None
            starts.append((at + indent, line, mark[2].strip(b"\"' ") if mark else None))
    if len({key is None for _, _, key in starts}) != 1:
        return None
    return row_of(
        "entries", text, offset, head, [_entry(text, offset, starts, number) for number in range(len(starts))]
    )


def _entry(text: bytes, offset: int, starts: list[tuple[int, bytes, bytes | None]], number: int) -> ListEntry:
    start, line, key = starts[number]
    end = starts[number + 1][0] if number + 1 < len(starts) else offset + len(text)
    core = _without_trailing_comments(text[start - offset : end - offset], len(line) - len(line.lstrip()))
    if key is None:
        return ListEntry(plain(core, start, "item"), core, False, b"\n" not in core and _is_plain(core))
    first = core.split(b"\n", 1)[0]
    below = _SCALAR.search(first) is None and b"\n" in core
    opened = partial(_block, core, start, len(first)) if below else lambda: None
    return ListEntry(Piece(core, "pair", start, opened), key, True, True)


def _without_trailing_comments(core: bytes, indent: int) -> bytes:
    """Remove comments at the end that have the entry's own level: they belong to what follows."""
    lines = core.rstrip().split(b"\n")
    while len(lines) > 1 and (
        not lines[-1].strip()
        or (lines[-1].lstrip().startswith(b"#") and len(lines[-1]) - len(lines[-1].lstrip()) <= indent)
    ):
        lines.pop()
    return b"\n".join(lines).rstrip()


def _is_plain(core: bytes) -> bool:
    """Tell whether it is a word or a string: not a mapping, and not a value whose position in a list is likely to
    matter."""
    value = core.removeprefix(b"-").strip()
    return not _KEY.match(value) and not re.match(rb"^[-+.\d]|^['\"]?-", value)
