"""Which words of a text belong to which of its declarations, and which to none.

Each declaration owns its span without the spans inside it. Two texts are compared by words and by the shape of the
tree over them, so that white space counts only where it means something: in strings, and in Python.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from tree_sitter import Node, Tree, TreeCursor

from donewhen.syntax.declarations import Declaration
from donewhen.syntax.tables.place import Table

Span = tuple[int, int]
Tokens = tuple[bytes, ...]

_WHOLE = ("string", "heredoc", "regex", "template_literal", "jsx_text", "char_literal", "character")
"""Parts of the names of nodes whose white space is content."""
_SEPARATORS = frozenset({b",", b";"})
_OPENS, _CLOSES = b"\0(", b"\0)"
"""Around the words of a node that has children; no word begins so."""


@dataclass(slots=True)
class Owner:
    """What belongs to one span and not to the spans in it; the text itself is the outermost."""

    span: Span
    members: bool
    parent: "Owner | None" = None
    children: "list[Owner]" = field(default_factory=list["Owner"])
    tokens: list[bytes] = field(default_factory=list[bytes])
    comments: list[bytes] = field(default_factory=list[bytes])
    imports: list[bytes] = field(default_factory=list[bytes])

    def raw(self, text: bytes) -> bytes:
        """Its bytes, with a mark where those of others were."""
        parts: list[bytes] = []
        position = self.span[0]
        for child in self.children:
            parts.append(text[position : child.span[0]])
            position = child.span[1]
        parts.append(text[position : self.span[1]])
        return b"\0".join(parts).replace(b"\r\n", b"\n")


def _close(heap: list[bytes]) -> None:
    """The end of a node. One without words of its own is no shape: a body with one member in it is all the member's."""
    if heap and heap[-1].startswith(_OPENS):
        heap.pop()
    else:
        heap.append(_CLOSES)


def owners(declarations: Sequence[Declaration], length: int) -> dict[Span, Owner]:
    """One owner for each span; declarations that share a span share it. The whole text is under (-1, length + 1)."""
    outside = Owner((-1, length + 1), members=True)
    found = {outside.span: outside}
    opened = [outside]
    for declaration in declarations:
        span = (declaration.start, declaration.end)
        if span in found:
            found[span].members |= declaration.members
            continue
        while opened[-1].span[1] <= span[0] or opened[-1].span[1] < span[1]:
            opened.pop()
        owner = Owner(span, declaration.members, opened[-1])
        opened[-1].children.append(owner)
        opened.append(owner)
        found[span] = owner
    return found


def distribute(tree: Tree, table: Table, text: bytes, found: dict[Span, Owner], wanted: Iterable[Span]) -> None:
    """Gives every wanted owner its words, in one walk over the tree."""
    _Distribution(table, text, found, frozenset(wanted)).walk(tree.walk())


class _Distribution:
    def __init__(self, table: Table, text: bytes, found: dict[Span, Owner], wanted: frozenset[Span]) -> None:
        self._table = table
        self._text = text
        self._wanted = wanted
        ordered = list(found.values())
        self._owner = ordered[0]
        self._coming = ordered[:0:-1]
        """Owners whose spans have not begun, the next one last."""
        self._covered = 0

    def walk(self, cursor: TreeCursor) -> None:
        above: list[tuple[list[bytes], bool]] = []
        while True:
            node = cursor.node
            assert node is not None, "a cursor stands on a node"
            free = all_free = not above or above[-1][1]
            heap, inside = self._enter(node, free)
            if inside and cursor.goto_first_child():
                heap.append(_OPENS + node.type.encode())
                above.append((heap, all_free and self._is_open(node, len(above))))
                continue
            while not cursor.goto_next_sibling():
                if not cursor.goto_parent():
                    return
                _close(above.pop()[0])

    def _is_open(self, node: Node, depth: int) -> bool:
        """Whether what stands in this node is as if it stood in the file itself."""
        return depth == 0 or node.type in self._table.branches

    def _enter(self, node: Node, free: bool) -> tuple[list[bytes], bool]:
        """Takes the words of a node. Where its structure is noted, and whether its children are to be looked at."""
        owner = self._owner_of(node)
        outside = owner.parent is None
        heap = owner.tokens
        if owner.span not in self._wanted and not owner.children:
            self._covered = node.end_byte
            return heap, False
        if node.type in self._table.comments and owner.members:
            owner.comments.append(self._taken(node))
            return heap, False
        if outside and free and node.is_named and self._table.imports(node):
            owner.imports.append(b" ".join(self._taken(node).split()))
            return heap, False
        if node.child_count and not any(part in node.type for part in _WHOLE):
            return heap, True
        self._gap(node, heap)
        word = self._taken(node)
        if word and not (owner.members and word in _SEPARATORS):
            heap.append(word)
        return heap, False

    def _owner_of(self, node: Node) -> Owner:
        start, end = node.start_byte, node.end_byte
        while self._owner.parent is not None and (self._owner.span[1] <= start or self._owner.span[1] < end):
            self._owner = self._owner.parent
        while self._coming and self._coming[-1].span[0] <= start and end <= self._coming[-1].span[1]:
            self._owner = self._coming.pop()
        return self._owner

    def _taken(self, node: Node) -> bytes:
        self._covered = max(self._covered, node.end_byte)
        return self._text[node.start_byte : node.end_byte].replace(b"\r\n", b"\n")

    def _gap(self, node: Node, heap: list[bytes]) -> None:
        """Words between two nodes: some grammars show no node for them."""
        if node.start_byte > self._covered:
            words = self._text[self._covered : node.start_byte].split()
            heap.extend(word for word in words if word not in _SEPARATORS)
