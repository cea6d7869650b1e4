"""Declarations of Go: package-level names, fields, and methods, which belong to the type of their receiver."""

from collections.abc import Iterator

from tree_sitter import Node

from donewhen.syntax.tables.place import (
    DeclaredName,
    Kind,
    LanguageTable,
    NodePlace,
    Step,
    child_of_type,
    field,
    has_word,
    node_text,
)

_SPEC_LISTS = frozenset({"var_spec_list"})
_KINDS: dict[str, Kind] = {"const_spec": "constant", "var_spec": "variable"}
_ONE: frozenset[Kind] = frozenset({"function", "class", "interface", "type", "constant", "variable"})
_MEMBERS: frozenset[Kind] = frozenset({"method", "field"})


def _read(node: Node, _place: NodePlace) -> Iterator[Step]:
    match node.type:
        case "function_declaration":
            name = node_text(field(node, "name"))
            yield DeclaredName(name, "function", node, repeats=name in ("init", "_"))
        case "method_declaration":
            yield from _method(node)
        case "type_declaration" | "const_declaration" | "var_declaration":
            yield from _specs(node)
        case "field_declaration":
            for name in _field_names(node):
                yield DeclaredName(name, "field", node)
        case "method_elem":
            yield DeclaredName(node_text(field(node, "name")), "method", node)
        case _:
            pass


def _method(node: Node) -> Iterator[Step]:
    receiver = field(node, "receiver")
    parameter = child_of_type(receiver, "parameter_declaration") if receiver is not None else None
    owner = _type_name(field(parameter, "type")) if parameter is not None else ""
    name = node_text(field(node, "name"))
    yield DeclaredName(f"{owner}.{name}" if owner else name, "method", node, repeats=name == "_")


def _type_name(node: Node | None) -> str:
    """Return the plain name without pointers, parentheses, packages and type arguments."""
    text = node_text(node).lstrip("*( ").split("[")[0]
    return text.rstrip(") ").split(".")[-1]


def _specs(node: Node) -> Iterator[Step]:
    listed = child_of_type(node, *_SPEC_LISTS)
    grouped = listed is not None or has_word(node, "(")
    for spec in (listed or node).children:
        whole = spec if grouped else node
        if spec.type in ("type_spec", "type_alias"):
            yield _type(spec, whole)
        elif spec.type in _KINDS:
            for name in spec.children_by_field_name("name"):
                if name.type == "identifier" and node_text(name) != "_":
                    yield DeclaredName(node_text(name), _KINDS[spec.type], whole)


def _type(spec: Node, whole: Node) -> DeclaredName:
    meant = field(spec, "type")
    kind: Kind = "type"
    body = None
    if meant is not None and meant.type == "struct_type":
        kind, body = "class", child_of_type(meant, "field_declaration_list")
    elif meant is not None and meant.type == "interface_type":
        kind, body = "interface", meant
    name = node_text(field(spec, "name"))
    return DeclaredName(name, kind, whole, body, reopens=True, repeats=name == "_")


def _field_names(node: Node) -> Iterator[str]:
    names = [node_text(name) for name in node.children_by_field_name("name") if name.is_named]
    yield from (name for name in names or [_type_name(field(node, "type"))] if name != "_")


def _imports(node: Node) -> bool:
    return node.type == "import_declaration"


TABLE = LanguageTable(_read, _imports, one_namespace=(_ONE, _MEMBERS))
