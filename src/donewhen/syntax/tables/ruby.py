"""Declarations of Ruby: modules and classes, which can be reopened, methods, constants, and named attributes."""

from collections.abc import Iterator
from dataclasses import replace

from tree_sitter import Node

from donewhen.syntax.tables.place import (
    DeclaredName,
    Into,
    Kind,
    LanguageTable,
    NodePlace,
    Step,
    branch,
    branch_label,
    child_of_type,
    field,
    node_text,
    wrapped_in,
)

_BRANCHES = frozenset(
    {
        "if", "unless", "else", "elsif", "case", "when", "begin", "rescue", "ensure", "if_modifier",
        "unless_modifier", "rescue_modifier",
    }
)  # fmt: skip
_CONDITIONAL = frozenset({"if", "unless", "elsif", "when"})
_ATTRIBUTES = frozenset({"attr_reader", "attr_writer", "attr_accessor", "attr"})
_VISIBILITY = frozenset(
    {"private", "public", "protected", "module_function", "private_class_method", "public_class_method", "memoize"}
)
_MAKERS = frozenset({"Struct", "Class", "Module", "Data"})
_REQUIRING = frozenset({"require", "require_relative", "load", "autoload", "require_dependency"})
_TRANSPARENT = frozenset({"body_statement", "then", "argument_list"})


def _read(node: Node, place: NodePlace) -> Iterator[Step]:
    match node.type:
        case "class" | "module":
            opened: Kind = "class" if node.type == "class" else "module"
            name = node_text(field(node, "name")).replace("::", ".").lstrip(".")
            yield DeclaredName(name, opened, node, field(node, "body"), repeats=True, reopens=True)
        case "singleton_class":
            body = field(node, "body")
            if body is not None:
                yield Into(body, replace(place, note="self", wrapper=None, marks=()))
        case "method":
            kind = "method" if place.within else "function"
            yield DeclaredName(node_text(field(node, "name")), kind, node, variant=place.note)
        case "singleton_method":
            owner, name = node_text(field(node, "object")), node_text(field(node, "name"))
            prefix = "" if owner == "self" or owner == place.container.rsplit(".", 1)[-1] else f"{owner}."
            yield DeclaredName(f"{prefix}{name}", "method", node, variant="self")
        case "assignment":
            yield from _constant(node)
        case "call":
            yield from _called(node, place)
        case kind if kind in _TRANSPARENT:
            yield Into(node, place)
        case kind if kind in _BRANCHES:
            yield Into(node, branch(place, branch_label(node), None if kind in _CONDITIONAL else node.start_byte))
        case _:
            pass


def _constant(node: Node) -> Iterator[Step]:
    left, right = field(node, "left"), field(node, "right")
    if left is None or left.type not in ("constant", "scope_resolution"):
        return
    name = node_text(left).replace("::", ".").lstrip(".")
    if right is not None and right.type == "call" and node_text(field(right, "receiver")) in _MAKERS:
        block = field(right, "block")
        body = field(block, "body") if block is not None else None
        yield DeclaredName(name, "class", node, body, reopens=True)
    else:
        yield DeclaredName(name, "constant", node)


def _called(node: Node, place: NodePlace) -> Iterator[Step]:
    if field(node, "receiver") is not None:
        return
    method, arguments = node_text(field(node, "method")), field(node, "arguments")
    symbols = [] if arguments is None else [_symbol(child) for child in arguments.named_children]
    if method in _VISIBILITY and arguments is not None:
        yield Into(arguments, wrapped_in(place, node))
    elif method in _ATTRIBUTES:
        for name in symbols:
            yield DeclaredName(name, "field", node, variant=f"{method} {place.note}", repeats=not name)
    elif method in ("define_method", "alias_method") and symbols and symbols[0]:
        yield DeclaredName(symbols[0], "method", node, variant=place.note)
    elif method == "class_methods":
        block = field(node, "block")
        body = field(block, "body") if block is not None else None
        if body is not None:
            yield Into(body, replace(place, note="self", wrapper=None, marks=()))


def _symbol(node: Node) -> str:
    if node.type == "simple_symbol":
        return node_text(node)[1:]
    return node_text(child_of_type(node, "string_content")) if node.type == "string" else ""


def _imports(node: Node) -> bool:
    return node.type == "call" and node_text(field(node, "method")) in _REQUIRING and field(node, "receiver") is None


TABLE = LanguageTable(_read, _imports, branches=_BRANCHES | {"then"})
