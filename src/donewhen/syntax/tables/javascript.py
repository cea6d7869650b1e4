"""Declarations of JavaScript and TypeScript: what a module binds, exports or assigns to `exports`, and class members.

The contents of object literals, functions and separate blocks are not symbols of the file.
"""

import re
from collections.abc import Iterator

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
    has_word,
    node_text,
    unwrapped,
    wrapped_in,
)

_FUNCTIONS = frozenset({"arrow_function", "function_expression", "generator_function"})
_DECLARED: dict[str, Kind] = {
    "function_declaration": "function",
    "generator_function_declaration": "function",
    "function_signature": "function",
    "class_declaration": "class",
    "abstract_class_declaration": "class",
    "interface_declaration": "interface",
    "type_alias_declaration": "type",
    "enum_declaration": "enum",
    "internal_module": "module",
    "module": "module",
}
_REPEATING = frozenset({"function_signature", "interface_declaration", "internal_module", "module"})
_MEMBERS: dict[str, Kind] = {
    "method_definition": "method",
    "method_signature": "method",
    "abstract_method_signature": "method",
    "field_definition": "field",
    "public_field_definition": "field",
    "property_signature": "field",
}
_BRANCHES = frozenset({"if_statement", "else_clause", "try_statement", "catch_clause", "finally_clause"})
_PATTERNS = frozenset({"object_pattern", "array_pattern", "rest_pattern"})
_BOUND = frozenset({"identifier", "shorthand_property_identifier_pattern"})
_REQUIRED = re.compile(r"(await )?(require|import)\s*\(")
_EXPORTS = frozenset({"exports", "module.exports"})


def _read(node: Node, place: NodePlace) -> Iterator[Step]:
    match node.type:
        case kind if kind in _DECLARED:
            body = field(node, "body") if _DECLARED[kind] != "function" else None
            repeats, name = kind in _REPEATING, _plain(field(node, "name"))
            yield DeclaredName(name, _DECLARED[kind], node, body, repeats=repeats, reopens=_DECLARED[kind] == "module")
        case kind if kind in _MEMBERS:
            yield from _member(node)
        case "export_statement":
            yield from _exported(node, place)
        case "lexical_declaration" | "variable_declaration":
            yield from _variables(node, place)
        case "expression_statement":
            yield from _expression(node, place)
        case "ambient_declaration":
            yield Into(node, wrapped_in(place, node))
        case "statement_block":
            yield Into(node, unwrapped(place))
        case "enum_assignment" | "property_identifier" | "string" if place.within == "enum":
            yield DeclaredName(_plain(field(node, "name") or node), "constant", node)
        case kind if kind in _BRANCHES:
            yield Into(node, branch(place, branch_label(node), None if kind == "if_statement" else node.start_byte))
        case _:
            pass


def _plain(name: Node | None) -> str:
    text = node_text(name)
    return text[1:-1] if text[:1] in ("'", '"') and len(text) > 1 else text


def _member(node: Node) -> Iterator[Step]:
    name = field(node, "name") or field(node, "property")
    kind = _MEMBERS[node.type]
    if kind == "field" and _kind_of(field(node, "value")) == "function":
        kind = "method"
    words = [word for word in ("static", "get", "set") if has_word(node, word) and node_text(name) != word]
    signature_only = node.type in ("method_signature", "abstract_method_signature")
    yield DeclaredName(_plain(name), kind, node, variant=" ".join(words), repeats=signature_only or name is None)


def _exported(node: Node, place: NodePlace) -> Iterator[Step]:
    value = field(node, "value")
    if value is None:
        yield Into(node, wrapped_in(place, node))
    elif value.type != "identifier":
        yield _valued("default", value, node)


def _valued(name: str, value: Node | None, node: Node, repeats: bool = False, alone: bool = True) -> DeclaredName:
    kind = _kind_of(value)
    body = field(value, "body") if kind == "class" and value is not None else None
    return DeclaredName(name, kind or "constant", node, body, repeats=repeats, alone=alone)


def _kind_of(value: Node | None) -> Kind | None:
    if value is None:
        return None
    return "function" if value.type in _FUNCTIONS else "class" if value.type == "class" else None


def _variables(node: Node, place: NodePlace) -> Iterator[Step]:
    words = {child.type for child in node.children}
    if place.condition and "var" not in words:
        return  # visible only inside the block
    declarators = [child for child in node.children if child.type == "variable_declarator"]
    alone = len(declarators) == 1
    for declarator in declarators:
        value = field(declarator, "value")
        if _is_required(value):
            continue
        for name in _bound(field(declarator, "name")):
            kind = _kind_of(value) or ("constant" if "const" in words else "variable")
            body = field(value, "body") if kind == "class" and value is not None else None
            yield DeclaredName(name, kind, node if alone else declarator, body, repeats="var" in words, alone=alone)


def _is_required(value: Node | None) -> bool:
    return value is not None and bool(_REQUIRED.match((value.text or b"")[:40].decode("utf-8", "replace")))


def _bound(pattern: Node | None) -> Iterator[str]:
    waiting = [pattern] if pattern is not None else []
    while waiting:
        node = waiting.pop()
        if node.type in _BOUND:
            yield node_text(node)
        elif node.type == "pair_pattern":
            waiting.extend(child for child in (field(node, "value"),) if child is not None)
        elif node.type in ("assignment_pattern", "object_assignment_pattern"):
            waiting.extend(child for child in (field(node, "left"),) if child is not None)
        elif node.type in _PATTERNS:
            waiting.extend(reversed(node.named_children))


def _expression(node: Node, place: NodePlace) -> Iterator[Step]:
    if child_of_type(node, "internal_module") is not None:
        yield Into(node, wrapped_in(place, node))
        return
    assignment = child_of_type(node, "assignment_expression")
    while assignment is not None and assignment.type == "assignment_expression":
        left, right = field(assignment, "left"), field(assignment, "right")
        if left is not None and left.type == "member_expression":
            yield from _assigned(left, right, node)
        assignment = right


def _assigned(left: Node, value: Node | None, node: Node) -> Iterator[Step]:
    """Read `exports.name = …`, `module.exports = function …` and `Type.prototype.name = function …`."""
    owner, name = node_text(field(left, "object")), node_text(field(left, "property"))
    kind = _kind_of(value)
    if owner in _EXPORTS:
        yield _valued(name, value, node, repeats=kind is None)
    elif (owner, name) == ("module", "exports"):
        if kind is not None and value is not None:
            yield _valued(node_text(field(value, "name")) or "default", value, node)
    elif kind == "function" and re.fullmatch(r"[\w$]+(\.prototype)?", owner) and owner != "this":
        prototype = owner.endswith(".prototype")
        yield DeclaredName(f"{owner.removesuffix('.prototype')}.{name}", "method", node, repeats=not prototype)


def _imports(node: Node) -> bool:
    match node.type:
        case "import_statement" | "import_alias":
            return True
        case "export_statement":
            value = field(node, "value")
            return field(node, "declaration") is None and (value is None or value.type == "identifier")
        case "lexical_declaration" | "variable_declaration":
            declarators = [child for child in node.children if child.type == "variable_declarator"]
            return all(_is_required(field(declarator, "value")) for declarator in declarators)
        case "expression_statement":
            return re.match(rb"(await )?(require|import)\s*\(|module\.exports\s*=", (node.text or b"")[:40]) is not None
        case _:
            return False


TABLE = LanguageTable(
    _read,
    _imports,
    comments=frozenset({"comment", "html_comment"}),
    marks=frozenset({"decorator"}),
    branches=_BRANCHES | {"statement_block"},
)
