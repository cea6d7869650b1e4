"""Scans the children of a node as a row: each with its white space, comments and separator. One pass over one node."""

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Protocol

from tree_sitter import Node

from donewhen.syntax.grammar import LanguageName
from donewhen.syntax.merging.names import is_import, item_key
from donewhen.syntax.merging.orders import SORTINGS
from donewhen.syntax.merging.pieces import Items, Piece, RowItem
from donewhen.syntax.merging.rules import CLOSERS, LEADING, OPENERS, ROWS_SEPARATED, SEPARATORS, Rule

RULE_NAMES: dict[Rule, str] = {
    "members": "definitions", "statements": "statements", "cases": "cases", "entries": "entries", "fields": "members",
    "elements": "elements", "set": "elements", "names": "names", "parameters": "parameters",
    "arguments": "arguments", "bases": "base classes", "alternatives": "alternatives",
}  # fmt: skip


_SEPARATOR_NEXT = re.compile(rb"\s*[,|]")


class Source(Protocol):
    """The text of the nodes, and a method that makes a piece from a node."""

    @property
    def language(self) -> LanguageName: ...
    @property
    def text(self) -> bytes: ...
    def piece(self, node: Node) -> Piece: ...


class Scan:
    """One pass over the children of a row."""

    def __init__(self, source: Source, rule: Rule, children: Sequence[Node], start: int, end: int) -> None:
        self.source, self.text = source, source.text
        self.rule: Rule = rule
        self.decorators = rule == "bases" and bool(children) and children[0].type == "decorator"
        self.separated = rule in ROWS_SEPARATED and not self.decorators
        opened = self._opening(children)
        self.head_end = children[opened].end_byte if opened >= 0 else start
        self.start, self.end, self.children = start, end, children[opened + 1 :]
        self.items: list[RowItem] = []
        self.at = self.head_end
        self.lead_start: int | None = None
        self.broken = b"\n" in self.text[start:end]

    def _opening(self, children: Sequence[Node]) -> int:
        """Return the index of the bracket or word after which the row starts; -1 if it starts at once."""
        if children and children[0].type in ("from", "#ifndef", "#ifdef"):
            marks = ("import", "(") if children[0].type == "from" else ("identifier",)
            found = [
                at for at, child in enumerate(children) if child.type in marks and not (child.type == "(" and at == 0)
            ]
            return found[-1] if children[0].type == "from" and found else found[0] if found else -1
        if self.rule == "members" and (
            not children or children[0].type not in (*OPENERS, "const", "var", "type", "interface")
        ):
            return -1
        return next((at for at, child in enumerate(children) if child.type in OPENERS), -1)

    def row(self) -> Items | None:
        """Return the row; None if the node does not have the structure of a row."""
        for child in self.children:
            if child.type in CLOSERS and child.end_byte == self.end:
                break
            if not self._take(child):
                return None
        tail = self.text[self.at : self.end]
        sep = ROWS_SEPARATED.get(self.rule, b"") if self.separated else b""
        head = self.text[self.start : self.head_end]
        sortings = SORTINGS if self.rule in ("names", "members", "statements") else ()
        what = RULE_NAMES[self.rule]
        if self.rule == "names":
            what = (
                "imports"
                if b"import" in head or self._is_inside_import()
                else "__all__"
                if b"{" not in head
                else "exports"
            )
        between = (
            b" " if self.separated else b"\n\n\n" if self.start == 0 and self.source.language == "python" else b"\n\n"
        )
        return Items(what, head, self.items, tail, sep, between, sortings)

    def _is_inside_import(self) -> bool:
        node = self.children[0].parent if self.children else None
        while node is not None and node.type in ("use_list", "scoped_use_list", "named_imports", "import_clause"):
            node = node.parent
        return node is not None and is_import(node)

    def _take(self, child: Node) -> bool:
        if "comment" in child.type or (child.type in LEADING and not self.decorators):
            self._take_comment(child)
            return True
        if not child.is_named and (child.type in SEPARATORS or (child.type == ":" and not self.separated)):
            return self._take_separator(child)
        if (
            not child.is_named
            and self.rule not in ("arguments", "alternatives", "cases")
            and child.type not in ("this", "super")
        ):
            return False
        return self._take_item(child)

    def _take_comment(self, child: Node) -> None:
        between = self.text[self.at : child.start_byte]
        on_the_line = b"\n" not in between and child.type not in LEADING and self.lead_start is None
        if (
            on_the_line
            and self.items
            and not (self.separated and not self.items[-1].sep and self._has_separator_after(child))
        ):
            self.items[-1] = replace(self.items[-1], rest=self.items[-1].rest + between + self._slice(child))
            self.at = child.end_byte
        elif on_the_line and not self.items and self.start < self.head_end:
            self.head_end = self.at = child.end_byte
        elif self.lead_start is None:
            self.lead_start = child.start_byte

    def _has_separator_after(self, comment: Node) -> bool:
        """Tell whether a separator follows this comment; such a row is not merged."""
        return _SEPARATOR_NEXT.match(self.text, comment.end_byte, self.end) is not None

    def _slice(self, node: Node) -> bytes:
        return self.text[node.start_byte : node.end_byte]

    def _take_separator(self, child: Node) -> bool:
        if not self.separated:
            if not self.items or self.lead_start is not None:
                return False
            upto = self.text[self.at : child.end_byte]
            self.items[-1] = replace(self.items[-1], rest=self.items[-1].rest + upto)
        elif not self.items and self.rule == "alternatives":
            self.head_end = self.at = child.end_byte
            return True
        elif not self.items or self.items[-1].sep or self.items[-1].rest or self.lead_start is not None:
            return False
        else:
            self.items[-1] = replace(self.items[-1], sep=self.text[self.at : child.end_byte])
        self.at = child.end_byte
        return True

    def _take_item(self, child: Node) -> bool:
        lead_start = child.start_byte if self.lead_start is None else self.lead_start
        gap, lead = self.text[self.at : lead_start], self.text[lead_start : child.start_byte]
        if gap.strip() or (self.separated and self.items and not (self.items[-1].sep or b"\n" in gap)):
            return False
        key, named, free = item_key(child, self.rule, self.broken)
        order = self._order(child, key)
        filler = child.type == "pass_statement" or self._slice(child) == b"..."
        core = self.source.piece(child)
        self.items.append(RowItem(gap, lead, core, b"", b"", key, named, free or filler, order, filler))
        self.at, self.lead_start = child.end_byte, None
        return True

    def _order(self, child: Node, key: bytes) -> bytes | None:
        if self.rule == "names":
            return key
        return b" ".join(self._slice(child).split()) if is_import(child) else None
