"""Declarations of Python: functions, classes, and the names that modules and classes bind by assignment."""

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
    cut,
    field,
    node_text,
)

_IMPORTS = frozenset({"import_statement", "import_from_statement", "future_import_statement"})
_BRANCHES = frozenset(
    {
        "if_statement", "elif_clause", "else_clause", "try_statement", "except_clause", "except_group_clause",
        "finally_clause", "with_statement", "for_statement", "while_statement", "match_statement", "case_clause",
    }
)  # fmt: skip
_CONDITIONAL = frozenset({"if_statement", "elif_clause", "case_clause"})
"""Branches that count as the same branch if their text is the same."""
_REGISTERING = re.compile(r"(^|\.)(overload|register|dispatch|multimethod|given|when|then|step)\b")
_ACCESSOR = re.compile(r"\.(getter|setter|deleter|cached_setter|expression|comparator|update_expression)$")
_TARGET_LISTS = frozenset({"pattern_list", "tuple_pattern", "list_pattern", "list_splat_pattern"})


def _read(node: Node, place: NodePlace) -> Iterator[Step]:
    match node.type:
        case "function_definition" | "class_definition":
            yield _definition(node, node, place, [])
        case "decorated_definition":
            definition = field(node, "definition")
            decorators = [node_text(child)[1:].strip() for child in node.children if child.type == "decorator"]
            if definition is not None:
                yield _definition(definition, node, place, decorators)
        case "expression_statement":
            yield from _assigned(node, place)
        case "type_alias_statement":
            yield DeclaredName(re.split(r"[\[\s]", node_text(field(node, "left")))[0], "type", node, repeats=True)
        case "block":
            yield Into(node, place)
        case kind if kind in _BRANCHES:
            yield Into(node, branch(place, _label(node), None if kind in _CONDITIONAL else node.start_byte))
        case _:
            pass


def _label(node: Node) -> str:
    """Return the header of a compound statement."""
    parts: list[str] = []
    for child in node.children:
        if child.type in ("block", ":"):
            break
        parts.append(node_text(child))
    return cut(" ".join(parts))


def _definition(node: Node, whole: Node, place: NodePlace, decorators: list[str]) -> DeclaredName:
    name = node_text(field(node, "name"))
    if node.type == "class_definition":
        return DeclaredName(name, "class", whole, field(node, "body"), repeats=not name.strip("_"))
    variant = next((found[1] for decorator in decorators if (found := _ACCESSOR.search(decorator))), "")
    registers = any(_REGISTERING.search(decorator.split("(")[0]) for decorator in decorators)
    throw_away = not name.strip("_") or name == "step_impl"
    kind = "method" if place.within == "class" else "function"
    return DeclaredName(name, kind, whole, variant=variant, repeats=registers or throw_away)


def _assigned(statement: Node, place: NodePlace) -> Iterator[Step]:
    assignment = statement.children[0] if statement.children else None
    while assignment is not None and assignment.type == "assignment":
        for name in _targets(field(assignment, "left")):
            if name != "__all__":
                yield DeclaredName(name, _kind(name, place), statement, repeats=True)
        assignment = field(assignment, "right")


def _kind(name: str, place: NodePlace) -> Kind:
    if place.within == "class":
        return "field"
    return "constant" if name.isupper() else "variable"


def _targets(left: Node | None) -> Iterator[str]:
    waiting = [left] if left is not None else []
    while waiting:
        target = waiting.pop()
        if target.type == "identifier":
            yield node_text(target)
        elif target.type in _TARGET_LISTS:
            waiting.extend(reversed(target.children))


def _imports(node: Node) -> bool:
    return node.type in _IMPORTS or (node.type == "expression_statement" and (node.text or b"").startswith(b"__all__"))


TABLE = LanguageTable(_read, _imports, branches=_BRANCHES | {"block"}, indented=True)
