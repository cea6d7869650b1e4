"""Declarations of Rust: items, their fields and variants, and what `impl` blocks add to a type.

An `impl` block has no name. It is reported as an implementation under the name of its type, so that a new one is a
change of that type. Its items are members of the type.
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
    Step,
    field,
    node_text,
    wrapped_in,
)

_ITEMS: dict[str, Kind] = {
    "struct_item": "class",
    "union_item": "class",
    "enum_item": "enum",
    "trait_item": "interface",
    "type_item": "type",
    "associated_type": "type",
    "const_item": "constant",
    "static_item": "variable",
    "enum_variant": "constant",
    "field_declaration": "field",
    "mod_item": "module",
    "macro_definition": "macro",
}
_WITH_MEMBERS = frozenset({"struct_item", "union_item", "enum_item", "trait_item", "mod_item"})
_OWNERS = frozenset({"class", "interface", "enum", "implementation"})


def _read(node: Node, place: NodePlace) -> Iterator[Step]:
    name = node_text(field(node, "name"))
    marks = [node_text(mark) for mark in place.marks]
    condition = " ".join(text for text in marks if text.startswith(("#[cfg", "#[ cfg")))
    match node.type:
        case "function_item" | "function_signature_item":
            kind = "method" if place.within in _OWNERS else "function"
            yield DeclaredName(name, kind, node, condition=condition)
        case kind if kind in _ITEMS and name != "_":
            body = field(node, "body") if kind in _WITH_MEMBERS else None
            yield DeclaredName(name, _ITEMS[kind], node, body, repeats=kind == "macro_definition", condition=condition)
        case "impl_item":
            body = field(node, "body")
            end = body.start_byte - node.start_byte if body is not None else None
            header = " ".join((node.text or b"")[:end].decode("utf-8", "replace").split())
            inherent = field(node, "trait") is None
            yield DeclaredName(
                _type_name(field(node, "type")),
                "implementation",
                node,
                body,
                variant=header,
                repeats=inherent,
                reopens=True,
                condition=condition,
            )
        case "foreign_mod_item":
            body = field(node, "body")
            if body is not None:
                yield Into(body, replace(place, wrapper=None, marks=()))
        case "expression_statement":
            yield Into(node, wrapped_in(place, node))
        case _:
            pass


def _type_name(node: Node | None) -> str:
    """Return the plain name of the type of an `impl` block; a type without a name is returned as it is written."""
    while node is not None:
        inner = field(node, "type") if node.type in ("generic_type", "reference_type") else None
        if node.type == "scoped_type_identifier":
            inner = field(node, "name")
        if inner is None:
            break
        node = inner
    return node_text(node)


def _imports(node: Node) -> bool:
    return node.type in ("use_declaration", "extern_crate_declaration")


_TYPES: frozenset[Kind] = TYPE_KINDS.union(("module",))
_VALUES: frozenset[Kind] = frozenset({"function", "constant", "variable"})
TABLE = LanguageTable(
    _read,
    _imports,
    comments=frozenset({"line_comment", "block_comment"}),
    marks=frozenset({"attribute_item"}),
    one_namespace=(_TYPES, _VALUES),
)
