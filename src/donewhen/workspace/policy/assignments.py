"""Finds the values that a script gives its variables, regardless of order.

The order of the statements is ignored: a variable may have any value that is assigned to it anywhere. A value from
outside the script (the environment, `read`) is unknown (`UNKNOWN_TEXT`).
"""

from tree_sitter import Node

from donewhen.workspace.policy.grammar import Parsed
from donewhen.workspace.policy.step import UNKNOWN_TEXT

Values = dict[str, list[Node | str]]
"""Per variable: nodes of the tree that still have to be expanded, or texts."""

_SETTERS = frozenset({"read", "mapfile", "readarray", "getopts", "printf", "let"})
_KINDS = frozenset({"variable_assignment", "for_statement", "command"})


def assignments(parsed: Parsed) -> Values:
    values: Values = {}
    waiting = [parsed.root]
    while waiting:
        node = waiting.pop()
        if node.type in _KINDS:
            _record(parsed, node, values)
        waiting.extend(reversed(node.children))
    return values


def _record(parsed: Parsed, node: Node, values: Values) -> None:
    if node.type == "command":
        _record_setter(parsed, node, values)
        return
    field = "name" if node.type == "variable_assignment" else "variable"
    name_node = node.child_by_field_name(field)
    name = parsed.text(name_node).partition("[")[0] if name_node else ""
    if name == "IFS" and node.parent and node.parent.type == "command":
        return  # it applies only to that one command, which is `read`
    value_nodes = node.children_by_field_name("value")
    if any(child.type in ("+=", "[") for child in node.children):
        values.setdefault(name, []).append(UNKNOWN_TEXT)
    else:
        values.setdefault(name, []).extend(value_nodes or [""])


def _record_setter(parsed: Parsed, node: Node, values: Values) -> None:
    """Record `read x` and similar commands: every argument that looks like a name gets an unknown value."""
    name = node.child_by_field_name("name")
    if name and parsed.text(name) in _SETTERS:
        for argument in node.children_by_field_name("argument"):
            text = parsed.text(argument).partition("=")[0]
            if text.isidentifier():
                values.setdefault(text, []).append(UNKNOWN_TEXT)
