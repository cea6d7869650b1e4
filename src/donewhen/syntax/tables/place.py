"""Types shared by the language readers: the place of a node in a text, and the steps that a reader returns for it.

A reader gets one node at a time and returns steps: a declaration, or a node to look into. It does not walk the tree
itself, so no nesting is too deep for it.
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
"""How many characters of a condition are kept. They only distinguish branches and are not evaluated."""


@frozen
class NodePlace:
    """The place of a node: its enclosing declaration, branch and wrapper."""

    container: str = ""
    within: Kind | None = None
    scope: str = ""
    """Two declarations of one name clash only in one scope. The text cannot occur in a program by chance."""
    condition: str = ""
    wrapper: tuple[int, int] | None = None
    """Start and end of the surrounding `export`, `template<…>` or similar."""
    marks: tuple[Node, ...] = ()
    """Attributes and decorators directly before the node."""
    note: str = ""
    """Text that a reader passes down to itself."""
    unsure: bool = False
    depth: int = 0


@frozen
class DeclaredName:
    """A declaration as a reader reports it."""

    name: str
    kind: Kind
    node: Node
    body: Node | None = None
    signature: str = ""
    variant: str = ""
    """What distinguishes it from others of its name: a getter, a setter, the arguments of a specialisation."""
    repeats: bool = False
    """True if the language allows it next to others of its name."""
    reopens: bool = False
    """True if the members of all bodies under this name share one scope."""
    alone: bool = True
    """True if the wrapper and the marks around it belong to it alone; False for one of several names in a statement."""
    condition: str = ""


@frozen
class Into:
    """A step: look at the children of a node, in this place."""

    node: Node
    place: NodePlace


@frozen
class Onward:
    """A step: everything after this node, up to the end of its parent, is in this place."""

    place: NodePlace


Step = DeclaredName | Into | Onward
Reader = Callable[[Node, NodePlace], Iterator[Step]]


@frozen
class LanguageTable:
    """Everything that is known about one language."""

    read: Reader
    imports: Callable[[Node], bool]
    """Tells whether a node outside declarations imports or exports names."""
    comments: frozenset[str] = frozenset({"comment"})
    marks: frozenset[str] = frozenset()
    """Nodes that belong to the declaration after them."""
    branches: frozenset[str] = frozenset()
    """Nodes that contain conditional declarations, and their own statements and imports."""
    indented: bool = False
    """True if white space at the start of a line has a meaning."""
    one_namespace: tuple[frozenset[Kind], ...] = ()
    """Kinds that may not share a name in one scope."""


TYPE_KINDS: frozenset[Kind] = frozenset({"class", "interface", "enum", "type"})


def node_text(node: Node | None) -> str:
    """Return the text of a node in one line."""
    if node is None or node.text is None:
        return ""
    return " ".join(node.text.decode("utf-8", "replace").split())


def field(node: Node, name: str) -> Node | None:
    return node.child_by_field_name(name)


def child_of_type(node: Node, *types: str) -> Node | None:
    return next((child for child in node.children if child.type in types), None)


def has_word(node: Node, word: str) -> bool:
    """Tell whether a keyword is among the children of a node."""
    return any(child.type == word for child in node.children)


def cut(text: str) -> str:
    return text if len(text) <= LABEL else text[: LABEL - 1] + "…"


def branch_label(node: Node) -> str:
    """Return the label of a branch: its keyword and its condition, without its contents."""
    condition = field(node, "condition") or field(node, "name") or field(node, "pattern")
    word = node.type.removesuffix("_statement").removesuffix("_clause").removesuffix("_modifier")
    return cut(f"{word} {node_text(condition)}".strip())


def branch(place: NodePlace, label: str, of_its_own: int | None = None) -> NodePlace:
    """Return the place inside a branch. `of_its_own`: its start offset, if its label does not say when the branch
    runs."""
    condition = f"{place.condition} / {label}" if place.condition else label
    scope = place.scope if of_its_own is None else f"{place.scope}\n@{of_its_own}"
    return replace(place, condition=condition, scope=scope, wrapper=None, marks=())


def wrapped_in(place: NodePlace, node: Node) -> NodePlace:
    """Return the place inside a node that belongs to the declaration in it."""
    start = min(node.start_byte, place.wrapper[0]) if place.wrapper else node.start_byte
    return replace(place, wrapper=(start, max(node.end_byte, place.wrapper[1] if place.wrapper else 0)))


def unwrapped(place: NodePlace) -> NodePlace:
    return replace(place, wrapper=None, marks=())
