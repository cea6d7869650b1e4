"""What the readers of the languages have in common: where in a text a node stands, and what a reader says about it.

A reader is shown one node at a time and answers with steps: this is a declaration, or look inside that. It does not
walk by itself, so no text can be nested too deeply for it.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Literal

from tree_sitter import Node

from donewhen.records import frozen

Kind = Literal[
    "function",
    "method",
    "class",
    "interface",
    "type",
    "enum",
    "constant",
    "variable",
    "field",
    "module",
    "macro",
    "implementation",
]

LABEL = 60
"""So many characters of a condition are kept; they tell branches apart, nobody computes with them."""


@frozen
class Place:
    """Where a node stands: in which declaration, in which branch, behind which wrapper."""

    container: str = ""
    within: Kind | None = None
    scope: str = ""
    """Two declarations of one name clash only in one scope. Text that no program can contain by chance."""
    condition: str = ""
    wrapper: tuple[int, int] | None = None
    """From where to where `export`, `template<…>` and the like reach."""
    marks: tuple[Node, ...] = ()
    """Attributes and decorators that stand right before the node."""
    note: str = ""
    """Whatever a reader wants to hand down to itself."""
    unsure: bool = False
    depth: int = 0


@frozen
class Named:
    """A declaration as a reader sees it."""

    name: str
    kind: Kind
    node: Node
    body: Node | None = None
    signature: str = ""
    variant: str = ""
    """What keeps it apart from others of its name: a getter, a setter, the arguments of a specialisation."""
    repeats: bool = False
    """Whether the language lets it stand beside others of its name."""
    reopens: bool = False
    """Whether the members of all bodies under this name share one scope."""
    alone: bool = True
    """Whether the wrapper and the marks around it are its own; not so for one of several in a statement."""
    condition: str = ""


@frozen
class Into:
    """Look at the children of a node, in this place."""

    node: Node
    place: Place


@frozen
class Onward:
    """Everything after this node, up to the end of what it stands in, is in this place."""

    place: Place


Step = Named | Into | Onward
Reader = Callable[[Node, Place], Iterator[Step]]


@frozen
class Table:
    """All that is known about one language."""

    read: Reader
    imports: Callable[[Node], bool]
    """Whether a node outside of declarations brings names in or hands them out."""
    comments: frozenset[str] = frozenset({"comment"})
    marks: frozenset[str] = frozenset()
    """Nodes that belong to the declaration after them."""
    branches: frozenset[str] = frozenset()
    """Nodes that hold conditional declarations, and statements and imports of their own."""
    indented: bool = False
    """Whether white space at the start of a line means something."""
    one_namespace: tuple[frozenset[Kind], ...] = ()
    """Kinds that may not share a name in one scope."""


TYPE_KINDS: frozenset[Kind] = frozenset({"class", "interface", "enum", "type"})


def said(node: Node | None) -> str:
    """The text of a node in one line."""
    if node is None or node.text is None:
        return ""
    return " ".join(node.text.decode("utf-8", "replace").split())


def field(node: Node, name: str) -> Node | None:
    return node.child_by_field_name(name)


def child_of_type(node: Node, *types: str) -> Node | None:
    return next((child for child in node.children if child.type in types), None)


def has_word(node: Node, word: str) -> bool:
    """Whether a keyword stands among the children of a node."""
    return any(child.type == word for child in node.children)


def cut(text: str) -> str:
    return text if len(text) <= LABEL else text[: LABEL - 1] + "…"


def headline(node: Node) -> str:
    """What a branch is taken for: its keyword and its condition, nothing of what stands in it."""
    asked = field(node, "condition") or field(node, "name") or field(node, "pattern")
    word = node.type.removesuffix("_statement").removesuffix("_clause").removesuffix("_modifier")
    return cut(f"{word} {said(asked)}".strip())


def branch(place: Place, label: str, of_its_own: int | None = None) -> Place:
    """The place inside a branch. `of_its_own`: where it starts, if its label says nothing about when it is taken."""
    condition = f"{place.condition} / {label}" if place.condition else label
    scope = place.scope if of_its_own is None else f"{place.scope}\n@{of_its_own}"
    return replace(place, condition=condition, scope=scope, wrapper=None, marks=())


def wrapped(place: Place, node: Node) -> Place:
    """The place inside a node that belongs to the declaration in it."""
    start = min(node.start_byte, place.wrapper[0]) if place.wrapper else node.start_byte
    return replace(place, wrapper=(start, max(node.end_byte, place.wrapper[1] if place.wrapper else 0)))


def bare(place: Place) -> Place:
    return replace(place, wrapper=None, marks=())
