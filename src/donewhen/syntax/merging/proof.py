"""Proof of a merged text before it is offered: its declarations and imports must be those of both sides.

Only the changed places are checked. `merge` checks that the text parses. Whether the names mean the right thing is left
to the checks.
"""

import bisect
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import field

from tree_sitter import Node, Tree

from donewhen.records import frozen
from donewhen.syntax.merging.names import declared_name, is_import, text_of
from donewhen.syntax.merging.rules import DEFINITIONS, EXPRESSIONS, FUNCTIONS, SCOPES, VALUES
from donewhen.syntax.merging.versions import Version

_WORD = re.compile(rb"[\w$]+")


@frozen
class Facts:
    """Names by scope, and which import binds which name."""

    declared: Counter[bytes] = field(default_factory=Counter[bytes])
    bound: set[tuple[bytes, bytes]] = field(default_factory=set[tuple[bytes, bytes]])


def miscounted_line(texts: Sequence[bytes]) -> bytes | None:
    """Return a line of base whose count in the result is wrong, although at most one side added or removed it.

    The line was copied or lost by accident: for example a comment or decorator under which both sides put something.
    """
    b, o, t, r = (Counter(line.strip().rstrip(b",;|") for line in text.split(b"\n")) for text in texts)
    for line in b:
        if line and ((o[line] == b[line] and r[line] != t[line]) or (t[line] == b[line] and r[line] != o[line])):
            return line
    return None


def reason_against(parts: Iterable[tuple[Tree, Version, Version, Version]]) -> str | None:
    """Return why the result cannot be what both sides meant; None if nothing speaks against it.

    Each part of the file is given as base, ours, theirs and result.
    """
    by_ours, by_theirs, by_result = Facts(), Facts(), Facts()
    for base, *versions in parts:
        for facts, version in zip((by_ours, by_theirs, by_result), versions, strict=True):
            before = _facts(base, [(span.old_start, span.old_end) for span in version.spans])
            after = _facts(version.tree, [(span.new_start, span.new_end) for span in version.spans])
            facts.declared.update(after.declared)
            facts.declared.subtract(before.declared)
            facts.bound.update(after.bound - before.bound)
    for name in sorted({*by_ours.declared, *by_theirs.declared, *by_result.declared}):
        mine, other, found = by_ours.declared[name], by_theirs.declared[name], by_result.declared[name]
        if found != (mine if mine == other else mine + other):
            return f"the merged text would not declare {_shown(name)} as both sides do"
    return _reason_against_imports(by_ours.bound, by_theirs.bound)


def _reason_against_imports(ours: set[tuple[bytes, bytes]], theirs: set[tuple[bytes, bytes]]) -> str | None:
    names, sources = dict(ours), {source: name for name, source in ours}
    for name, source in sorted(theirs - ours):
        if names.get(name, source) != source:
            return f"both sides import {_shown(name)} from different places"
        if sources.get(source, name) != name:
            return f"both sides import {_shown(source)} under different names"
    return None


def _facts(tree: Tree, spans: Sequence[tuple[int, int]]) -> Facts:
    facts = Facts()
    starts, ends = [start for start, _ in spans], [end for _, end in spans]

    def touched(start: int, end: int) -> bool:
        """Tell whether a change ends after the start and starts before the end."""
        at = bisect.bisect_right(ends, start)
        return at < len(spans) and starts[at] < end

    waiting: list[tuple[Node, bytes, bool]] = [(tree.root_node, b"", False)]
    while waiting:
        node, scope, local = waiting.pop()
        if is_import(node) and not any(child.type == "import_spec_list" for child in node.children):
            facts.bound.update(_bindings(node))
            continue
        name = declared_name(node) if node.type in DEFINITIONS or (node.type in VALUES and not local) else None
        if name is not None and touched(node.start_byte, _header_end(node)):
            facts.declared[scope + name] += 1
        if name is not None and node.type in SCOPES:
            scope += name + b"."
        local = local or node.type in FUNCTIONS
        if node.type not in EXPRESSIONS:
            waiting += [(child, scope, local) for child in node.children if touched(child.start_byte, child.end_byte)]
    return facts


def _header_end(node: Node) -> int:
    body = node.child_by_field_name("body")
    return body.start_byte if body else node.end_byte


def _bindings(node: Node) -> Iterator[tuple[bytes, bytes]]:
    """Yield the names that an import binds, and what they stand for."""
    source = node.child_by_field_name("module_name") or node.child_by_field_name("source")
    if node.type in ("preproc_include", "call"):
        return
    if source is None and node.type != "import_statement":
        yield from _by_last_word(node)
        return
    for child in _leaves_of_import(node):
        name, alias = child.child_by_field_name("name"), child.child_by_field_name("alias")
        what = text_of(name or child)
        if child.type in ("aliased_import", "import_specifier", "dotted_name", "identifier", "namespace_import"):
            kind = b"" if child.type != "identifier" else b"default "
            bound = what.removeprefix(b"* as ") if child.type == "namespace_import" else what
            yield (
                text_of(alias) if alias else bound,
                (text_of(source).strip(b"\"'") + b": " if source else b"") + kind + what,
            )


def _leaves_of_import(node: Node) -> Iterable[Node]:
    names = node.children_by_field_name("name")
    if names:
        return names
    clauses = [child for child in node.named_children if child.type == "import_clause"]
    inner = [child for clause in clauses for child in clause.named_children]
    return [leaf for child in inner for leaf in (child.named_children if child.type == "named_imports" else [child])]


def _by_last_word(node: Node) -> Iterator[tuple[bytes, bytes]]:
    """Yield bindings for languages that name a thing by its path: the last word, or the one after `as`."""
    own, text = node.child_by_field_name("name"), text_of(node)
    if node.type == "import_spec" and own is not None:
        yield text_of(own), b".".join(_WORD.findall(text.removeprefix(text_of(own))))
        return
    braces = re.match(rb"(.*?)\{([^{}]*)\}", text, re.DOTALL)
    prefix, names = (braces[1], braces[2].split(b",")) if braces else (b"", [text])
    for name in names:
        path, _, alias = name.partition(b" as ")
        words = _WORD.findall(alias or path)
        if words:
            yield words[-1], b".".join(_WORD.findall(prefix + path))


def _shown(name: bytes) -> str:
    return name.decode("utf-8", "replace")[:120]
