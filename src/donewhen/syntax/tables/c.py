"""Declarations of C and C++: functions inside their declarators, records, types, macros, and both sides of an `#if`.

C++ distinguishes overloads by parameter types; the text of a template's header counts as part of them. Macros are not
expanded: a function made by one (`TEST(Suite, Name) { … }`) is named as it is written.
"""

import re
from collections.abc import Iterator
from dataclasses import replace

from tree_sitter import Node

from donewhen.records import frozen
from donewhen.syntax.tables.declarator import Declarator, parameter_types, scopes_of, unwrap
from donewhen.syntax.tables.place import (
    DeclaredName,
    Into,
    Kind,
    LanguageTable,
    NodePlace,
    Step,
    branch,
    child_of_type,
    cut,
    field,
    has_word,
    node_text,
    unwrapped,
    wrapped_in,
)

_RECORDS: dict[str, Kind] = {
    "struct_specifier": "class",
    "union_specifier": "class",
    "class_specifier": "class",
    "enum_specifier": "enum",
}
_BRANCHES = frozenset(
    {"preproc_if", "preproc_ifdef", "preproc_elif", "preproc_elifdef", "preproc_else"}
)  # fmt: skip
_TRANSPARENT = frozenset({"declaration_list", "enumerator_list", "field_declaration_list"})
_OWNERS = frozenset({"class", "interface"})


@frozen
class _Dialect:
    overloads: bool

    def read(self, node: Node, place: NodePlace) -> Iterator[Step]:
        match node.type:
            case "function_definition" | "declaration" | "field_declaration" | "type_definition":
                yield from self._declaration(node, place)
            case kind if kind in _RECORDS:
                yield from _record(node, node, place, "")
            case "namespace_definition":
                yield from _namespace(node, place)
            case "template_declaration":
                words = node_text(field(node, "parameters")) + node_text(child_of_type(node, "requires_clause"))
                yield Into(node, replace(wrapped_in(place, node), note=place.note + words))
            case "linkage_specification":
                yield Into(node, unwrapped(place))
            case "enumerator":
                yield DeclaredName(node_text(field(node, "name")), "constant", node)
            case "alias_declaration" | "concept_definition":
                yield DeclaredName(node_text(field(node, "name")), "type", node, repeats=True)
            case "preproc_def" | "preproc_function_def":
                yield DeclaredName(node_text(field(node, "name")), "macro", node)
            case kind if kind in _BRANCHES:
                yield Into(node, unwrapped(place) if _is_guard(node) else branch(place, _directive(node)))
            case kind if kind in _TRANSPARENT:
                yield Into(node, place)
            case _:
                pass

    def _declaration(self, node: Node, place: NodePlace) -> Iterator[Step]:
        declarators = node.children_by_field_name("declarator")
        kept = field(node, "type")
        if kept is not None and kept.type in _RECORDS and field(kept, "body") is not None:
            named_by = unwrap(declarators[0]).name if declarators and field(kept, "name") is None else ""
            yield from _record(kept, kept if declarators else node, place, named_by, alone=not declarators)
        for declarator in declarators:
            alone = len(declarators) == 1
            yield from self._declared(node, unwrap(declarator), node if alone else declarator, alone, place)

    def _declared(self, node: Node, found: Declarator, span: Node, alone: bool, place: NodePlace) -> Iterator[Step]:
        scopes, variant = scopes_of(found)
        name = ".".join([*scopes, found.name])
        if not found.name:
            return
        if node.type == "type_definition":
            yield DeclaredName(name, "type", span, repeats=True, alone=alone)
        elif node.type == "function_definition" and found.function is None:
            yield DeclaredName(
                f"{node_text(field(node, 'type'))}{node_text(field(node, 'declarator'))}", "function", span
            )
        elif found.function is not None:
            yield self._function(node, found, name, span, alone, place, variant)
        else:
            inside = place.within in _OWNERS or bool(scopes)
            repeats = not self.overloads or bool(scopes) or has_storage(node, "extern") or bool(place.note)
            yield DeclaredName(
                name, "field" if inside else "variable", span, repeats=repeats and not place.within, alone=alone
            )

    def _function(
        self, node: Node, found: Declarator, name: str, span: Node, alone: bool, place: NodePlace, variant: str
    ) -> DeclaredName:
        defines = node.type == "function_definition"
        types = parameter_types(found.function) if found.function is not None else ""
        if defines and field(node, "type") is None and re.fullmatch("[A-Z][A-Z0-9_]+", found.name) and types != "()":
            return DeclaredName(f"{name}{types}", "function", span)
        kind: Kind = "method" if place.within in _OWNERS or "." in name else "function"
        signature = ""
        if self.overloads:
            returned = node_text(field(node, "type")) if place.note else ""
            signature = f"{place.note}{types}{returned and ' -> ' + returned}"
        return DeclaredName(name, kind, span, signature=signature, variant=variant, repeats=not defines, alone=alone)


def has_storage(node: Node, word: str) -> bool:
    return any(child.type == "storage_class_specifier" and node_text(child) == word for child in node.children)


def _record(node: Node, span: Node, place: NodePlace, named_by: str, alone: bool = True) -> Iterator[Step]:
    """Read a struct, union, class or enum. Without a name, its members belong to the declaration that it is the type
    of."""
    name_node, body = field(node, "name"), field(node, "body")
    if name_node is None and body is None:
        return
    if name_node is None and not named_by:
        if body is not None:
            yield Into(body, replace(unwrapped(place), scope=f"{place.scope}\n@{node.start_byte}"))
        return
    name, variant = named_by, ""
    if name_node is not None:
        plain, found, arguments = node_text(name_node).partition("<")
        name, variant = plain.strip().replace("::", "."), found + arguments
    if place.note and body is not None and variant == "" and has_word(node, "requires_clause"):
        variant = place.note
    yield DeclaredName(name, _RECORDS[node.type], span, body, variant=variant, repeats=body is None, alone=alone)


def _namespace(node: Node, place: NodePlace) -> Iterator[Step]:
    body, name = field(node, "body"), node_text(field(node, "name")).replace("::", ".").replace(" ", "")
    if body is None:
        return
    if name:
        yield DeclaredName(name, "module", node, body, repeats=True, reopens=True)
    else:
        yield Into(body, unwrapped(place))


def _is_guard(node: Node) -> bool:
    """Tell whether an `#ifndef` is only an include guard."""
    if node.type != "preproc_ifdef" or not has_word(node, "#ifndef"):
        return False
    first = next((child for child in node.children if child.type.startswith("preproc_")), None)
    return (
        first is not None
        and first.type == "preproc_def"
        and node_text(field(first, "name")) == node_text(field(node, "name"))
    )


def _directive(node: Node) -> str:
    """Return the line of an `#if`, `#ifdef` or `#else`."""
    condition = field(node, "condition") or field(node, "name")
    return cut(f"{node_text(node.children[0])} {node_text(condition)}".strip())


def _imports(node: Node) -> bool:
    return node.type in ("preproc_include", "using_declaration", "namespace_alias_definition", "import_declaration")


_INSIDE = _BRANCHES | {"linkage_specification", "declaration_list"}
TABLE = LanguageTable(_Dialect(overloads=False).read, _imports, branches=_INSIDE)
TABLE_PLUS_PLUS = LanguageTable(_Dialect(overloads=True).read, _imports, branches=_INSIDE)
