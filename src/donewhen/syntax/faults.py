"""Checks whether a text parses as a program of its language, and whether a change broke it.

A grammar is lenient: it accepts some texts that a compiler rejects. For Python, the parser of the running interpreter
is used as well, but it can be older than the project's Python. So its error counts only if it accepted the earlier
version and if the text uses no newer syntax: type parameters and `type` statements (3.12), f-strings with their own
quotes or lines inside (3.12), `except` with a bare list (3.14), t-strings (3.14). A new file has no earlier version, so
only the grammar decides. Syntax that is newer than the grammar is reported as a fault: the grammars have to be kept up
to date.
"""

import ast
import re
import sys
import warnings
from typing import Literal

from tree_sitter import Node

from donewhen.records import frozen
from donewhen.syntax.grammar import LanguageName, parse

_SHOWN = 60


@frozen
class Fault:
    """The position of a syntax error. Lines and columns count from 1, columns in bytes."""

    line: int
    column: int
    message: str


@frozen
class Parse:
    """The effect of a change on whether a text parses."""

    state: Literal["parses", "did not parse before either", "broke"]
    fault: Fault | None = None
    """The first fault of the current text."""


def parse_after_change(language: LanguageName, before: bytes | None, after: bytes | None) -> Parse:
    """Tell whether a change made a text unparsable. None means that there is no file. A file that did not parse before,
    such as a template, is not reported as broken."""
    if after is None:
        return Parse("parses")
    fault = first_fault(language, after)
    if fault is not None:
        broken_before = before is not None and first_fault(language, before) is not None
        return Parse("did not parse before either" if broken_before else "broke", fault)
    if language == "python" and before is not None:
        fault = _python_fault(after)
        if fault is not None and _python_fault(before) is None and not _is_newer_than_ours(after):
            return Parse("broke", fault)
    return Parse("parses")


def first_fault(language: LanguageName, text: bytes) -> Fault | None:
    """Return the first fault that the grammar finds. Raise `SourceUnreadable` if the text is too long."""
    root = parse(language, text).root_node
    if not root.has_error:
        return None
    node = _first_error_node(root)
    # Counted here: reading the column of a node's point corrupts memory in tree-sitter 0.26.0.
    start = node.start_byte
    line, column = text.count(b"\n", 0, start) + 1, start - text.rfind(b"\n", 0, start)
    if node.is_missing:
        return Fault(line, column, f"{node.type!r} is missing")
    return Fault(line, column, f"cannot read {_excerpt(text[node.start_byte : node.end_byte])!r}")


def _first_error_node(root: Node) -> Node:
    """Return the first error node. If that is the root, return its first unnamed child: an unclosed token."""
    cursor = root.walk()
    while True:
        node = cursor.node
        assert node is not None, "the cursor has no node"
        if node.is_missing or (node.is_error and node != root):
            return node
        if node.has_error and cursor.goto_first_child():
            continue
        while not cursor.goto_next_sibling():
            if not cursor.goto_parent():
                return next((child for child in root.children if not child.is_named), root)


def _excerpt(text: bytes) -> str:
    words = " ".join(text[: 4 * _SHOWN].decode("utf-8", "replace").split())
    return words if len(words) <= _SHOWN else words[: _SHOWN - 1] + "…"


def _python_fault(text: bytes) -> Fault | None:
    """Return the error of the interpreter's own parser. A text that is too large for it is not a fault."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            compile(text, "text", "exec", flags=ast.PyCF_ONLY_AST, dont_inherit=True)
    except SyntaxError as refused:
        shown = _excerpt((refused.text or "").encode("utf-8", "replace"))
        reason = _excerpt(refused.msg.encode("utf-8", "replace"))
        return Fault(refused.lineno or 1, max(refused.offset or 1, 1), f"{reason}: {shown!r}" if shown else reason)
    except ValueError as refused:
        return Fault(1, 1, _excerpt(str(refused).encode()))
    except (RecursionError, MemoryError):
        return None
    return None


_NEW_NODES = {"type_alias_statement": (3, 12), "type_parameter": (3, 12)}
_PREFIX = re.compile(rb"[A-Za-z]*")


def _is_newer_than_ours(text: bytes) -> bool:
    """Tell whether a Python text uses syntax that the running Python may not know."""
    ours = sys.version_info[:2]
    cursor = parse("python", text).walk()
    while True:
        node = cursor.node
        assert node is not None, "the cursor has no node"
        if (_version_of(node) or (3, 0)) > ours:
            return True
        if node.type != "string" and cursor.goto_first_child():
            continue
        while not cursor.goto_next_sibling():
            if not cursor.goto_parent():
                return False


def _version_of(node: Node) -> tuple[int, int] | None:
    """Return the Python version that introduced this node's syntax, if it is recent."""
    match node.type:
        case kind if kind in _NEW_NODES:
            return _NEW_NODES[kind]
        case "except_clause" if any(child.type == "," for child in node.children):
            return (3, 14)
        case "string":
            return _version_of_string(node)
        case _:
            return None


def _version_of_string(node: Node) -> tuple[int, int] | None:
    text = node.text or b""
    found = _PREFIX.match(text)
    prefix = found[0].lower() if found is not None else b""
    if b"t" in prefix:
        return (3, 14)
    inner = b" ".join(child.text or b"" for child in node.children if child.type == "interpolation")
    quote = text[len(prefix) : len(prefix) + 1]
    return (3, 12) if b"f" in prefix and (quote in inner or b"\\" in inner or b"\n" in inner or b"#" in inner) else None
