"""The declarations in a text: names with their containers, kinds and spans, in source order.

A text with errors gives the declarations that can be read. Only files, modules, types and their branches are searched;
declarations inside functions are not reported. No type is resolved and no macro is expanded.
"""

from bisect import bisect_right
from dataclasses import replace

from tree_sitter import Node, Tree

from donewhen.records import frozen
from donewhen.syntax.grammar import LanguageName, parse
from donewhen.syntax.tables import TABLES
from donewhen.syntax.tables.place import DeclaredName, Into, Kind, LanguageTable, NodePlace, Onward

DEEPEST = 60
"""How many nested containers and branches are searched. Real code does not nest deeper."""


@frozen
class Declaration:
    """One declaration. `start` and `end` are byte offsets; decorators, `export`, `template<…>` etc. are included."""

    name: str
    """Qualified with dots: `Shop.Item.price`."""
    kind: Kind
    start: int
    end: int
    start_line: int
    signature: str = ""
    """Parameter types, if they distinguish overloads: Java and C++."""
    condition: str = ""
    """The branches around it (`if`, `#if`, `try`, `#[cfg]`), outermost first; empty if it is unconditional."""
    scope: str = ""
    """Opaque: declarations of one name clash only if this is the same."""
    variant: str = ""
    """What else distinguishes it from others of its name: `setter`, `static get`, the header of an `impl` block."""
    repeats: bool = False
    """True if another declaration of the same name is allowed: prototypes, overloads, reopened classes, assignments."""
    members: bool = False
    """True if it can contain declarations."""


def declarations_of(language: LanguageName, text: bytes) -> list[Declaration]:
    """Return all declarations of a text. Raise `SourceUnreadable` if the text is too long for a parser."""
    return declarations_in(parse(language, text), TABLES[language], text)


def declarations_in(tree: Tree, table: LanguageTable, text: bytes) -> list[Declaration]:
    """Return all declarations of a tree that is already parsed."""
    walk = _DeclarationWalk(table, _line_starts(text))
    walk.walk(tree.root_node)
    return sorted(walk.found, key=lambda declaration: (declaration.start, -declaration.end))


def _line_starts(text: bytes) -> list[int]:
    starts = [0]
    position = text.find(b"\n")
    while position >= 0:
        starts.append(position + 1)
        position = text.find(b"\n", position + 1)
    return starts


class _DeclarationWalk:
    """One pass over the nodes that can contain declarations, with a stack instead of recursion."""

    def __init__(self, table: LanguageTable, line_starts: list[int]) -> None:
        self.table = table
        self.line_starts = line_starts
        self.found: list[Declaration] = []
        self._queue: list[tuple[Node, NodePlace]] = []

    def walk(self, root: Node) -> None:
        self._queue.append((root, NodePlace()))
        while self._queue:
            self._visit_children(*self._queue.pop())

    def _visit_children(self, node: Node, place: NodePlace) -> None:
        marks: list[Node] = []
        for child in node.children:
            if child.type in self.table.marks:
                marks.append(child)
            elif child.is_named and child.type not in self.table.comments:
                place = (
                    self._visit_child(child, replace(place, marks=(*place.marks, *marks)) if marks else place) or place
                )
                marks = []

    def _visit_child(self, child: Node, place: NodePlace) -> NodePlace | None:
        """Process one node. Return a place if the node sets the place of its later siblings."""
        if child.type == "ERROR":
            self._enqueue(Into(child, replace(place, unsure=True)))
            return None
        onward = None
        for step in self.table.read(child, place):
            match step:
                case DeclaredName():
                    self._add_declaration(step, place)
                case Into():
                    self._enqueue(step)
                case Onward(onward):
                    pass
        return onward

    def _enqueue(self, step: Into) -> None:
        if step.place.depth < DEEPEST:
            self._queue.append((step.node, replace(step.place, depth=step.place.depth + 1)))

    def _add_declaration(self, named: DeclaredName, place: NodePlace) -> None:
        if not named.name:
            return
        start, end = _span(named, place)
        name = f"{place.container}.{named.name}" if place.container else named.name
        conditions = [part for part in (place.condition, named.condition) if part]
        self.found.append(
            Declaration(
                name=name,
                kind=named.kind,
                start=start,
                end=end,
                start_line=bisect_right(self.line_starts, start),
                signature=named.signature,
                condition=" / ".join(conditions),
                scope=place.scope,
                variant=named.variant,
                repeats=named.repeats or place.unsure or named.node.has_error,
                members=named.body is not None,
            )
        )
        if named.body is not None:
            own = f"{named.name} {named.variant}" if named.reopens else str(start)
            inside = NodePlace(name, named.kind, f"{place.scope}\n{own}", " / ".join(conditions), unsure=place.unsure)
            self._enqueue(Into(named.body, replace(inside, depth=place.depth)))


def _span(named: DeclaredName, place: NodePlace) -> tuple[int, int]:
    start, end = named.node.start_byte, named.node.end_byte
    if named.alone:
        starts = [start, *(mark.start_byte for mark in place.marks[:1])]
        ends = [end]
        if place.wrapper is not None:
            starts.append(place.wrapper[0])
            ends.append(place.wrapper[1])
        return min(starts), max(ends)
    return start, end
