"""Declarators of C and C++: find the name inside pointers, arrays and parentheses, and whether it is a function.

This module reads only the shape; `c` decides what is declared.
"""

from tree_sitter import Node

from donewhen.records import frozen
from donewhen.syntax.tables.place import child_of_type, field, node_text

_WRAPPERS = frozenset(
    {
        "init_declarator", "pointer_declarator", "array_declarator", "reference_declarator", "function_declarator",
        "parenthesized_declarator", "attributed_declarator", "pointer_type_declarator", "variadic_declarator",
        "bitfield_clause", "abstract_pointer_declarator",
    }
)  # fmt: skip
_NAMES = frozenset(
    {
        "identifier", "field_identifier", "type_identifier", "qualified_identifier", "operator_name",
        "destructor_name", "template_function", "template_method", "operator_cast", "primitive_type",
    }
)  # fmt: skip


@frozen
class Declarator:
    node: Node | None
    """The node of the written name, including scopes and template arguments."""
    name: str
    function: Node | None
    """The function declarator directly around the name, if it is a function and not a pointer to one."""


def unwrap(node: Node) -> Declarator:
    """Return the name in a declarator. This takes one loop step per wrapper, however deep it is wrapped."""
    function: Node | None = None
    inner: Node | None = node
    while inner is not None and inner.type not in _NAMES:
        if inner.type == "function_declarator":
            function = inner
        elif inner.type != "parenthesized_declarator":
            function = None
        inner = _next(inner)
    return _named(inner, function)


def _next(node: Node) -> Node | None:
    if (inner := field(node, "declarator")) is not None:
        return inner
    return next((child for child in node.named_children if child.type in _WRAPPERS or child.type in _NAMES), None)


def _named(node: Node | None, function: Node | None) -> Declarator:
    last = node
    while last is not None and last.type == "qualified_identifier":
        last = field(last, "name")
    if last is not None and last.type == "operator_cast":
        # `operator bool()` has its parameters inside its name node.
        inner = last.children_by_field_name("declarator")
        return Declarator(node, f"operator {node_text(field(last, 'type'))}", function or (inner[0] if inner else last))
    if last is not None and last.type in ("template_function", "template_method"):
        return Declarator(node, node_text(field(last, "name")), function)
    return Declarator(node, node_text(last).replace("operator ", "operator") if last is not None else "", function)


def scopes_of(found: Declarator) -> tuple[list[str], str]:
    """Return the names before the last `::`, and all template arguments among them, which distinguish
    specialisations."""
    scopes: list[str] = []
    arguments: list[str] = []
    node = found.node
    while node is not None and node.type == "qualified_identifier":
        plain, _, rest = node_text(field(node, "scope")).partition("<")
        scopes.extend([plain.strip()] if plain.strip() else [])
        arguments.extend([rest] if rest else [])
        node = field(node, "name")
    if node is not None and node.type in ("template_function", "template_method"):
        arguments.append(node_text(field(node, "arguments")))
    return scopes, " ".join(arguments)


def parameter_types(function: Node) -> str:
    """Return the parameters without names and default values, followed by the qualifiers that distinguish overloads."""
    parameters = field(function, "parameters")
    listed = parameters.children if parameters is not None else []
    types = [_type(child) for child in listed if child.is_named and child.type != "comment"]
    types += ["..."] * any(child.type == "..." for child in listed)
    behind = [node_text(child) for child in function.children if child.type in ("type_qualifier", "ref_qualifier")]
    behind += [node_text(clause) for clause in [child_of_type(function, "requires_clause")] if clause is not None]
    behind += [
        node_text(returned) for returned in [child_of_type(function, "trailing_return_type")] if returned is not None
    ]
    return " ".join([f"({', '.join(types)})" if types != ["void"] else "()", *behind])


def _type(parameter: Node) -> str:
    text = parameter.text or b""
    declarator, start = field(parameter, "declarator"), parameter.start_byte
    default = field(parameter, "default_value")
    if default is not None:
        text = text[: default.start_byte - start].rstrip().removesuffix(b"=")
    if declarator is not None:
        name = unwrap(declarator).node
        if name is not None:
            text = text[: name.start_byte - start] + b" " + text[name.end_byte - start :]
    return _without_spaces(" ".join(text.decode("utf-8", "replace").split()))


def _without_spaces(words: str) -> str:
    for sign in "*&<>,[]()":
        words = words.replace(f" {sign}", sign).replace(f"{sign} ", sign)
    return words
