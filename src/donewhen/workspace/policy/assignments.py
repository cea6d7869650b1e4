"""Which values a script gives its variables, in whatever order it does so.

The order of the statements is not followed: a variable is taken to have any value that it is given anywhere. What
comes from outside the script (the environment, `read`) is a hole.
"""

from tree_sitter import Node

from donewhen.workspace.policy.grammar import Parsed
from donewhen.workspace.policy.step import HOLE

Values = dict[str, list[Node | str]]
"""A node of the tree that still has to be expanded, or a text."""

_SETTERS = frozenset({"read", "mapfile", "readarray", "getopts", "printf", "let"})
_KINDS = frozenset({"variable_assignment", "for_statement", "command"})


def assignments(parsed: Parsed) -> Values:
    values: Values = {}
    waiting = [parsed.root]
    while waiting:
        node = waiting.pop()
        if node.type in _KINDS:
            _note(parsed, node, values)
        waiting.extend(reversed(node.children))
    return values


def _note(parsed: Parsed, node: Node, values: Values) -> None:
    if node.type == "command":
        _note_setter(parsed, node, values)
        return
    field = "name" if node.type == "variable_assignment" else "variable"
    name_node = node.child_by_field_name(field)
    name = parsed.text(name_node).partition("[")[0] if name_node else ""
    if name == "IFS" and node.parent and node.parent.type == "command":
        return  # it holds for that one command, which is `read`
    given = node.children_by_field_name("value")
    if any(child.type in ("+=", "[") for child in node.children):
        values.setdefault(name, []).append(HOLE)
    else:
        values.setdefault(name, []).extend(given or [""])


def _note_setter(parsed: Parsed, node: Node, values: Values) -> None:
    """`read x` and its like: every argument that looks like a name gets a value that is not known."""
    name = node.child_by_field_name("name")
    if name and parsed.text(name) in _SETTERS:
        for argument in node.children_by_field_name("argument"):
            text = parsed.text(argument).partition("=")[0]
            if text.isidentifier():
                values.setdefault(text, []).append(HOLE)
