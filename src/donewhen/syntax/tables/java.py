"""Declarations of Java: types, their fields, constants, constructors and methods, distinguished by parameter types."""

from collections.abc import Iterator

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
    unwrapped,
)

_TYPES: dict[str, Kind] = {
    "class_declaration": "class",
    "record_declaration": "class",
    "interface_declaration": "interface",
    "annotation_type_declaration": "interface",
    "enum_declaration": "enum",
}
_METHODS = frozenset({"method_declaration", "constructor_declaration", "annotation_type_element_declaration"})


def _read(node: Node, place: NodePlace) -> Iterator[Step]:
    name = node_text(field(node, "name"))
    match node.type:
        case kind if kind in _TYPES:
            yield DeclaredName(name, _TYPES[kind], node, field(node, "body"))
        case kind if kind in _METHODS:
            top = "method" if place.within else "function"
            yield DeclaredName(name, top, node, signature=_signature(field(node, "parameters")))
        case "compact_constructor_declaration":
            yield DeclaredName(name, "method", node, variant="compact")
        case "field_declaration" | "constant_declaration":
            declarators = node.children_by_field_name("declarator")
            for declarator in declarators:
                alone = len(declarators) == 1
                kind = "constant" if node.type == "constant_declaration" else "field"
                yield DeclaredName(
                    node_text(field(declarator, "name")), kind, node if alone else declarator, alone=alone
                )
        case "enum_constant":
            yield DeclaredName(name, "constant", node)
        case "enum_body_declarations":
            yield Into(node, unwrapped(place))
        case _:
            pass


def _signature(parameters: Node | None) -> str:
    if parameters is None:
        return "()"
    types = [_type(child) for child in parameters.children if child.type in ("formal_parameter", "spread_parameter")]
    return f"({', '.join(types)})"


def _type(parameter: Node) -> str:
    """Return the type as the compiler compares it: without type arguments, and with all dimensions."""
    plain = field(parameter, "type")
    if parameter.type == "spread_parameter":
        skipped = ("modifiers", "variable_declarator")
        plain = next((child for child in parameter.named_children if child.type not in skipped), None)
    dimensions = node_text(field(parameter, "dimensions")) + ("[]" if parameter.type == "spread_parameter" else "")
    return _erased(node_text(plain)) + dimensions.replace(" ", "")


def _erased(text: str) -> str:
    kept: list[str] = []
    depth = 0
    for letter in text:
        depth += letter == "<"
        if depth == 0 and letter != " ":
            kept.append(letter)
        depth -= letter == ">"
    return "".join(kept)


def _imports(node: Node) -> bool:
    return node.type == "import_declaration"


TABLE = LanguageTable(
    _read, _imports, comments=frozenset({"line_comment", "block_comment"}), one_namespace=(TYPE_KINDS,)
)
