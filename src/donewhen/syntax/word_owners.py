"""Assigns the words of a text to its declarations, or to the text outside all declarations.

Each declaration owns its span without the spans inside it. Two texts are compared by their words and by the shape of
the syntax tree, so that white space counts only where it has a meaning: in strings, and in Python.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from tree_sitter import Node, Tree, TreeCursor

from donewhen.syntax.declarations import Declaration
from donewhen.syntax.tables.place import LanguageTable

Span = tuple[int, int]
Tokens = tuple[bytes, ...]

_WHOLE = ("string", "heredoc", "regex", "template_literal", "jsx_text", "char_literal", "character")
"""Parts of the type names of nodes whose white space is content."""
_SEPARATORS = frozenset({b",", b";"})
_OPENS, _CLOSES = b"\0(", b"\0)"
"""Markers around the words of a node that has children; no word starts with them."""


@dataclass(slots=True)
class TextOwner:
    """The text of one span without the spans inside it; the outermost owner is the text itself."""

    span: Span
    members: bool
    parent: "TextOwner | None" = None
    children: "list[TextOwner]" = field(default_factory=list["TextOwner"])
    tokens: list[bytes] = field(default_factory=list[bytes])
    comments: list[bytes] = field(default_factory=list[bytes])
    imports: list[bytes] = field(default_factory=list[bytes])

    def raw(self, text: bytes) -> bytes:
        """Return its bytes, with a mark in place of each inner span."""
        parts: list[bytes] = []
        position = self.span[0]
        for child in self.children:
            parts.append(text[position : child.span[0]])
            position = child.span[1]
        parts.append(text[position : self.span[1]])
        return b"\0".join(parts).replace(b"\r\n", b"\n")


def _close_node(tokens: list[bytes]) -> None:
    """End a node. A node without its own words adds no shape: a body with one member consists only of the member."""
    if tokens and tokens[-1].startswith(_OPENS):
        tokens.pop()
    else:
        tokens.append(_CLOSES)


def text_owners(declarations: Sequence[Declaration], length: int) -> dict[Span, TextOwner]:
    """Return one owner per span; declarations with the same span share it. The whole text has the span (-1, length +
    1)."""
    outside = TextOwner((-1, length + 1), members=True)
    found = {outside.span: outside}
    opened = [outside]
    for declaration in declarations:
        span = (declaration.start, declaration.end)
        if span in found:
            found[span].members |= declaration.members
            continue
        while opened[-1].span[1] <= span[0] or opened[-1].span[1] < span[1]:
            opened.pop()
        owner = TextOwner(span, declaration.members, opened[-1])
        opened[-1].children.append(owner)
        opened.append(owner)
        found[span] = owner
    return found


def distribute(
    tree: Tree, table: LanguageTable, text: bytes, found: dict[Span, TextOwner], wanted: Iterable[Span]
) -> None:
    """Give every wanted owner its words, in one walk over the tree."""
    _Distribution(table, text, found, frozenset(wanted)).walk(tree.walk())


class _Distribution:
    def __init__(
        self, table: LanguageTable, text: bytes, found: dict[Span, TextOwner], wanted: frozenset[Span]
    ) -> None:
        self._table = table
        self._text = text
        self._wanted = wanted
        ordered = list(found.values())
        self._owner = ordered[0]
        self._upcoming = ordered[:0:-1]
        """Owners whose spans have not started, the next one last."""
        self._covered = 0

    def walk(self, cursor: TreeCursor) -> None:
        above: list[tuple[list[bytes], bool]] = []
        while True:
            node = cursor.node
            assert node is not None, "the cursor has no node"
            free = all_free = not above or above[-1][1]
            tokens, inside = self._enter(node, free)
            if inside and cursor.goto_first_child():
                tokens.append(_OPENS + node.type.encode())
                above.append((tokens, all_free and self._is_open(node, len(above))))
                continue
            while not cursor.goto_next_sibling():
                if not cursor.goto_parent():
                    return
                _close_node(above.pop()[0])

    def _is_open(self, node: Node, depth: int) -> bool:
        """Tell whether the contents of this node count as top-level contents of the file."""
        return depth == 0 or node.type in self._table.branches

    def _enter(self, node: Node, free: bool) -> tuple[list[bytes], bool]:
        """Collect the words of a node. Return the list for its structure, and whether to visit its children."""
        owner = self._owner_of(node)
        outside = owner.parent is None
        tokens = owner.tokens
        if owner.span not in self._wanted and not owner.children:
            self._covered = node.end_byte
            return tokens, False
        if node.type in self._table.comments and owner.members:
            owner.comments.append(self._read_word(node))
            return tokens, False
        if outside and free and node.is_named and self._table.imports(node):
            owner.imports.append(b" ".join(self._read_word(node).split()))
            return tokens, False
        if node.child_count and not any(part in node.type for part in _WHOLE):
            return tokens, True
        self._collect_gap(node, tokens)
        word = self._read_word(node)
        if word and not (owner.members and word in _SEPARATORS):
            tokens.append(word)
        return tokens, False

    def _owner_of(self, node: Node) -> TextOwner:
        start, end = node.start_byte, node.end_byte
        while self._owner.parent is not None and (self._owner.span[1] <= start or self._owner.span[1] < end):
            self._owner = self._owner.parent
        while self._upcoming and self._upcoming[-1].span[0] <= start and end <= self._upcoming[-1].span[1]:
            self._owner = self._upcoming.pop()
        return self._owner

    def _read_word(self, node: Node) -> bytes:
        self._covered = max(self._covered, node.end_byte)
        return self._text[node.start_byte : node.end_byte].replace(b"\r\n", b"\n")

    def _collect_gap(self, node: Node, tokens: list[bytes]) -> None:
        """Collect words between two nodes: some grammars have no node for them."""
        if node.start_byte > self._covered:
            words = self._text[self._covered : node.start_byte].split()
            tokens.extend(word for word in words if word not in _SEPARATORS)
