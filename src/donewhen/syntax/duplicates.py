"""Duplicate declarations in one scope, as they arise when two patches each add the same thing.

Repetitions that a language allows are not reported: overloads, prototypes, both sides of a condition, reopened classes.
A clash counts only if the earlier version had fewer of its kind. If the parse is uncertain, and therefore for every
text with syntax errors, nothing is reported: the checks run later and show what a compiler or an interpreter does.
"""

import re
from collections import defaultdict

from donewhen.records import frozen
from donewhen.syntax.declarations import Declaration, declarations_in
from donewhen.syntax.grammar import LanguageName, parse
from donewhen.syntax.tables import TABLES
from donewhen.syntax.tables.place import Kind

_UNDEFINED = re.compile(rb"^[ \t]*#[ \t]*undef[ \t]+(\w+)", re.MULTILINE)
_REPLACED = re.compile(rb"\b(?:undef|undef_method|remove_method|alias(?:_method)?[ (]+:?[\w?!=]+,?)[ (]+:?([\w?!=]+)")
_DELETED = re.compile(rb"^[ \t]*del[ \t(]+([^\n#]+)", re.MULTILINE)


@frozen
class Duplicate:
    name: str
    kind: Kind
    lines: tuple[int, ...]
    """The first lines of all declarations that clash."""


def new_duplicates(language: LanguageName, before: bytes | None, after: bytes | None) -> list[Duplicate]:
    """Return clashes in `after` that `before` did not have. Raise `SourceUnreadable` if a text is too long."""
    now = _clashes(language, after or b"")
    if not now:
        return []
    was = {identity: _surplus(clashes) for identity, clashes in _clashes(language, before or b"").items()}
    return [
        Duplicate(clash[-1].name, clash[-1].kind, tuple(one.start_line for one in clash))
        for identity, clashes in now.items()
        if _surplus(clashes) > was.get(identity, 0)
        for clash in clashes
    ]


def _surplus(clashes: list[list[Declaration]]) -> int:
    return sum(len(clash) - 1 for clash in clashes)


_Identity = tuple[str, str, str, str, str]


def _clashes(language: LanguageName, text: bytes) -> dict[_Identity, list[list[Declaration]]]:
    """Return declarations that occur more than once in a scope, by their identity without the scope."""
    tree = parse(language, text)
    if tree.root_node.has_error:
        return {}
    removed = _removed_names(language, text)
    scopes: dict[tuple[str, _Identity], list[Declaration]] = defaultdict(list)
    for one in declarations_in(tree, TABLES[language], text):
        if not one.repeats and one.name.rsplit(".", 1)[-1] not in removed:
            identity = (one.name, _namespace_of(language, one.kind), one.condition, one.signature, one.variant)
            scopes[one.scope, identity].append(one)
    found: dict[_Identity, list[list[Declaration]]] = defaultdict(list)
    for (_, identity), declarations in scopes.items():
        if len(declarations) > 1:
            found[identity].append(declarations)
    return found


def _namespace_of(language: LanguageName, kind: Kind) -> str:
    """Return one key for all kinds that share a namespace."""
    for number, kinds in enumerate(TABLES[language].one_namespace):
        if kind in kinds:
            return str(number)
    return kind


def _removed_names(language: LanguageName, text: bytes) -> set[str]:
    """Return names that the text itself removes or aliases, in order to declare them again."""
    if language in ("c", "cpp"):
        return {name.decode("utf-8", "replace") for name in _UNDEFINED.findall(text)}
    if language == "ruby":
        return {name.decode("utf-8", "replace") for name in _REPLACED.findall(text)}
    if language == "python":
        listed = b",".join(_DELETED.findall(text)).decode("utf-8", "replace")
        return {name.strip(" ()") for name in listed.split(",")}
    return set()
