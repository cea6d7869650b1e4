"""Syntax trees in pieces: rows, definitions, and nodes of which at most one child may have changed.

This module does not walk trees: each call opens one node and looks at its children.
"""

from collections.abc import Sequence
from functools import partial

from tree_sitter import Node

from donewhen.records import frozen
from donewhen.syntax.grammar import LanguageName
from donewhen.syntax.merging.names import is_import, text_of
from donewhen.syntax.merging.pieces import Items, Parts, Piece, plain
from donewhen.syntax.merging.rules import DEFINITIONS, FIELDS_THAT_PART, HERITAGE, ROWS, Rule
from donewhen.syntax.merging.scan import Scan


@frozen
class NodeReader:
    """The text of one version, and how to read its nodes."""

    language: LanguageName
    text: bytes
    offset: int = 0
    """The start of the text in the file."""

    def whole(self, root: Node) -> Piece:
        """Return the whole text as a piece: a tree omits the white space before its first node."""
        rule = ROWS[self.language][root.type]
        return Piece(self.text, root.type, 0, lambda: self._row(rule, root.children, 0, len(self.text)))

    def piece(self, node: Node, role: str = "") -> Piece:
        """Return the piece of a node. `role` replaces the node's kind if the kind alone is not specific enough."""
        kind = role or ("import" if is_import(node) else self._kind(node))
        text = self.text[node.start_byte : node.end_byte]
        return Piece(
            text, kind, self.offset + node.start_byte, partial(self._split, node, role), addable=is_import(node)
        )

    def _kind(self, node: Node) -> str:
        inner = node.child_by_field_name("definition") if node.type == "decorated_definition" else None
        return inner.type if inner else node.type

    def _split(self, node: Node, role: str) -> Items | Parts | None:
        if node.type == "import_clause":
            braces = next((child for child in node.children if child.type == "named_imports"), None)
            cut = braces.start_byte if braces else node.end_byte
            names = self.piece(braces) if braces else plain(b"", cut, "named_imports")
            default = plain(self.text[node.start_byte : cut], node.start_byte)
            return Parts([("default", default), ("names", names)], independent=True)
        if self._kind(node) in DEFINITIONS and (parts := self._definition(node)):
            return parts
        rule = ROWS[self.language].get(role or self._role(node))
        row = self._row(rule, self._children(node), node.start_byte, node.end_byte) if rule else None
        return row or self._split_children(node)

    def _role(self, node: Node) -> str:
        parent = node.parent
        if self.language == "python":
            if node.type == "block" and parent is not None and parent.type == "match_statement":
                return "match body"
            if node.type == "binary_operator" and parent is not None and parent.type == "type":
                return "alternatives"
            if node.type in ("list", "tuple") and parent is not None and "assignment" in parent.type:
                left = parent.child_by_field_name("left")
                return "__all__" if left is not None and text_of(left) == b"__all__" else node.type
        return node.type

    def _children(self, node: Node) -> list[Node]:
        """Return the children; a chain of alternatives is one row, although the tree has nested pairs."""
        if node.type not in ("union_type", "binary_operator"):
            return node.children
        found: list[Node] = []
        waiting = [node]
        while waiting:
            one = waiting.pop()
            if one is node or (one.type == node.type and one.start_byte == node.start_byte):
                waiting += reversed(one.children)
            else:
                found.append(one)
        return found

    def _definition(self, node: Node) -> Parts | None:
        """Split a definition into decorators, signature and body."""
        inner = node.child_by_field_name("definition") if node.type == "decorated_definition" else node
        if inner is None:
            return None
        parts: list[tuple[str, Piece]] = []
        if self.language == "python":
            parts.append(("decorators", self._decorators(node, inner)))
        at = inner.start_byte
        for index, child in enumerate(inner.children):
            field = inner.field_name_for_child(index) or child.type
            if self.language == "python" and field == "body":
                break
            absent = self._absent_before(inner, field)
            if absent:
                cut = at + len(self.text[at : child.start_byte].rstrip()) if field == "body" else child.end_byte
                nothing = Piece(b"", "bases", cut, lambda: Items("base classes", b"", (), b"", b",", b" "))
                parts += [(f"before {absent}", plain(self.text[at:cut], at)), (absent, nothing)]
                at = cut
            if field in FIELDS_THAT_PART:
                parts += [
                    (f"before {field}", plain(self.text[at : child.start_byte], at)),
                    (field, self._part(child, field)),
                ]
                at = child.end_byte
            if field == "parameters" and not inner.child_by_field_name("return_type"):
                parts += [("before return_type", plain(b"", at)), ("return_type", plain(b"", at))]
        if self.language == "python":
            return self._python_body(inner, parts, at)
        end = ("end", plain(self.text[at : node.end_byte], at))
        return Parts([*parts, end], independent=True) if parts else None

    def _absent_before(self, inner: Node, field: str) -> str | None:
        """Return the optional part that is absent here. Its position is kept, so that one side can add it."""
        if field == "name" and inner.type == "class_definition" and not inner.child_by_field_name("superclasses"):
            return "superclasses"
        heritage = HERITAGE.get(inner.type) if self.language in ("javascript", "typescript", "tsx") else None
        if field == "body" and heritage and not any(child.type == heritage for child in inner.children):
            return heritage
        return None

    def _part(self, child: Node, field: str) -> Piece:
        if field == "superclasses":
            return self.piece(child, "bases")
        return self.piece(child, "class body" if child.parent and child.parent.type in ("class", "module") else "")

    def _python_body(self, inner: Node, parts: list[tuple[str, Piece]], at: int) -> Parts | None:
        """Add the body, which starts after the colon: comments before the first statement belong to it."""
        colons = [child for child in inner.children if child.type == ":"]
        body = inner.child_by_field_name("body")
        if not colons or body is None:
            return None
        start = colons[-1].end_byte
        inside = [child for child in inner.children if child.start_byte >= start and child.id != body.id]
        before = [child for child in inside if child.start_byte < body.start_byte]
        after = [child for child in inside if child.start_byte >= body.start_byte]
        children = [*before, *body.children, *after]
        rule: Rule = "members" if inner.type == "class_definition" else "statements"
        piece = Piece(
            self.text[start : inner.end_byte], "body", start, lambda: self._row(rule, children, start, inner.end_byte)
        )
        return Parts([*parts, ("before body", plain(self.text[at:start], at)), ("body", piece)], independent=True)

    def _decorators(self, node: Node, inner: Node) -> Piece:
        decorators = [child for child in node.children if child.type == "decorator" or child.type == "comment"]

        def opened() -> Items | None:
            row = self._row("bases", decorators if node.id != inner.id else [], node.start_byte, inner.start_byte)
            return row and Items("decorators", row.head, row.items, row.tail, b"", row.tail or b"\n")

        return Piece(self.text[node.start_byte : inner.start_byte], "decorators", node.start_byte, opened)

    def _split_children(self, node: Node) -> Parts | None:
        """Split into the children and the white space before each; the number of children is part of the roles."""
        parts: list[tuple[str, Piece]] = []
        at = node.start_byte
        for child in node.children:
            parts += [("gap", plain(self.text[at : child.start_byte], at)), (child.type, self.piece(child))]
            at = child.end_byte
        return Parts([*parts, ("end", plain(self.text[at : node.end_byte], at))], independent=False) if parts else None

    def _row(self, rule: Rule, children: Sequence[Node], start: int, end: int) -> Items | None:
        return Scan(self, rule, children, start, end).row()
