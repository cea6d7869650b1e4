"""What a text declares: names with their containers, kinds and spans, in source order.

A text with errors gives what can be read of it. Only files, modules, types and their branches are looked into: what a
function declares inside itself is its own affair. No type is resolved and no macro expanded.
"""

from bisect import bisect_right
from dataclasses import replace

from tree_sitter import Node, Tree

from donewhen.records import frozen
from donewhen.syntax.grammar import LanguageName, parsed
from donewhen.syntax.tables import TABLES
from donewhen.syntax.tables.place import Into, Kind, Named, Onward, Place, Table

DEEPEST = 60
"""So many containers and branches are looked into, one inside the other. Nobody means more than that."""


@frozen
class Declaration:
    """One declaration. `start` and `end` count bytes; decorators, attributes, `export`, `template<…>` are inside."""

    name: str
    """Qualified with dots: `Shop.Item.price`."""
    kind: Kind
    start: int
    end: int
    start_line: int
    signature: str = ""
    """Parameter types, where they tell overloads apart: Java and C++."""
    condition: str = ""
    """The branches it stands in (`if`, `#if`, `try`, `#[cfg]`), outermost first; empty when it always counts."""
    scope: str = ""
    """Opaque: declarations of one name clash only where this is the same."""
    variant: str = ""
    """What else keeps it apart from others of its name: `setter`, `static get`, the header of an `impl` block."""
    repeats: bool = False
    """Whether another of the same name may stand beside it: prototypes, overloads, reopened classes, assignments."""
    members: bool = False
    """Whether it can hold declarations of its own."""


def declared(language: LanguageName, text: bytes) -> list[Declaration]:
    """All declarations of a text. Raises `Unreadable` for a text that is too long for a parser."""
    return declared_in(parsed(language, text), TABLES[language], text)


def declared_in(tree: Tree, table: Table, text: bytes) -> list[Declaration]:
    """The same for a tree that has been read already."""
    walk = _Walk(table, _line_starts(text))
    walk.through(tree.root_node)
    return sorted(walk.found, key=lambda declaration: (declaration.start, -declaration.end))


def _line_starts(text: bytes) -> list[int]:
    starts = [0]
    position = text.find(b"\n")
    while position >= 0:
        starts.append(position + 1)
        position = text.find(b"\n", position + 1)
    return starts


class _Walk:
    """One pass over the nodes that can hold declarations, with a stack instead of recursion."""

    def __init__(self, table: Table, line_starts: list[int]) -> None:
        self.table = table
        self.line_starts = line_starts
        self.found: list[Declaration] = []
        self._waiting: list[tuple[Node, Place]] = []

    def through(self, root: Node) -> None:
        self._waiting.append((root, Place()))
        while self._waiting:
            self._children(*self._waiting.pop())

    def _children(self, node: Node, place: Place) -> None:
        marks: list[Node] = []
        for child in node.children:
            if child.type in self.table.marks:
                marks.append(child)
            elif child.is_named and child.type not in self.table.comments:
                place = self._child(child, replace(place, marks=(*place.marks, *marks)) if marks else place) or place
                marks = []

    def _child(self, child: Node, place: Place) -> Place | None:
        """Looks at one node. A place, when that is where its later siblings stand."""
        if child.type == "ERROR":
            self._later(Into(child, replace(place, unsure=True)))
            return None
        onward = None
        for step in self.table.read(child, place):
            match step:
                case Named():
                    self._name(step, place)
                case Into():
                    self._later(step)
                case Onward(onward):
                    pass
        return onward

    def _later(self, step: Into) -> None:
        if step.place.depth < DEEPEST:
            self._waiting.append((step.node, replace(step.place, depth=step.place.depth + 1)))

    def _name(self, named: Named, place: Place) -> None:
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
            inside = Place(name, named.kind, f"{place.scope}\n{own}", " / ".join(conditions), unsure=place.unsure)
            self._later(Into(named.body, replace(inside, depth=place.depth)))


def _span(named: Named, place: Place) -> tuple[int, int]:
    start, end = named.node.start_byte, named.node.end_byte
    if named.alone:
        starts = [start, *(mark.start_byte for mark in place.marks[:1])]
        ends = [end]
        if place.wrapper is not None:
            starts.append(place.wrapper[0])
            ends.append(place.wrapper[1])
        return min(starts), max(ends)
    return start, end
