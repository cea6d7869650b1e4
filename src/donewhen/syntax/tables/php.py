"""Declarations of PHP: functions, classes, interfaces, traits, enums and their members, constants.

A namespace with braces contains its names. A namespace without braces is like the package of a Java file: it is almost
always the same for the whole file, and is not part of the names.
"""

from collections.abc import Iterator
from dataclasses import replace

from tree_sitter import Node

from donewhen.syntax.tables.place import (
    TYPE_KINDS,
    DeclaredName,
    Into,
    Kind,
    LanguageTable,
    NodePlace,
    Onward,
    Step,
    branch,
    branch_label,
    child_of_type,
    field,
    node_text,
    unwrapped,
)

_TYPES: dict[str, Kind] = {
    "class_declaration": "class",
    "trait_declaration": "class",
    "interface_declaration": "interface",
    "enum_declaration": "enum",
}
_BRANCHES = frozenset(
    {"if_statement", "else_clause", "else_if_clause", "try_statement", "catch_clause", "finally_clause"}
)
_CONDITIONAL = frozenset({"if_statement", "else_if_clause"})
_REQUIRING = frozenset(
    {"require_expression", "require_once_expression", "include_expression", "include_once_expression"}
)


def _read(node: Node, place: NodePlace) -> Iterator[Step]:
    name = node_text(field(node, "name"))
    match node.type:
        case "function_definition":
            yield DeclaredName(name, "function", node)
        case "method_declaration":
            yield DeclaredName(name, "method", node)
        case kind if kind in _TYPES:
            yield DeclaredName(name, _TYPES[kind], node, field(node, "body"))
        case "namespace_definition":
            body = field(node, "body")
            if body is not None and name:
                yield DeclaredName(name.replace("\\", "."), "module", node, body, repeats=True, reopens=True)
            elif body is not None:
                yield Into(body, unwrapped(place))
            else:
                yield Onward(replace(unwrapped(place), scope=f"\n{name}"))
        case "const_declaration" | "property_declaration":
            yield from _elements(node)
        case "enum_case":
            yield DeclaredName(name, "constant", node)
        case "expression_statement":
            yield from _defined(node, place)
        case "compound_statement" | "colon_block":
            yield Into(node, unwrapped(place))
        case kind if kind in _BRANCHES:
            yield Into(node, branch(place, branch_label(node), None if kind in _CONDITIONAL else node.start_byte))
        case _:
            pass


def _elements(node: Node) -> Iterator[Step]:
    elements = [child for child in node.children if child.type in ("const_element", "property_element")]
    alone = len(elements) == 1
    for element in elements:
        constant = element.type == "const_element"
        name = node_text(child_of_type(element, "name") if constant else field(element, "name")).lstrip("$")
        yield DeclaredName(name, "constant" if constant else "field", node if alone else element, alone=alone)


def _defined(node: Node, place: NodePlace) -> Iterator[Step]:
    """Read `define('NAME', …)`."""
    call = child_of_type(node, "function_call_expression")
    if call is None or node_text(field(call, "function")) != "define" or place.within not in (None, "module"):
        return
    arguments = field(call, "arguments")
    first = child_of_type(arguments, "argument") if arguments is not None else None
    text = child_of_type(first, "string", "encapsed_string") if first is not None else None
    if text is not None:
        yield DeclaredName(node_text(text)[1:-1], "constant", node)


def _imports(node: Node) -> bool:
    if node.type == "expression_statement":
        return child_of_type(node, *_REQUIRING) is not None
    return node.type == "namespace_use_declaration"


TABLE = LanguageTable(
    _read, _imports, branches=_BRANCHES | {"compound_statement", "colon_block"}, one_namespace=(TYPE_KINDS,)
)
