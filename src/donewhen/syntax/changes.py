"""The difference between two versions of a file, by symbol.

A change inside a method belongs to the method. It also belongs to the class only if the class header or a statement of
the class itself changed. Comments inside a function belong to the function; comments between declarations are trivia,
like blank lines. White space inside a declaration is not a change, except in Python: there the text of functions and
assignments is compared exactly, so that a new indentation is a modification. A renamed symbol is one removed and one
added symbol. The result says nothing about meaning: a symbol that is not listed can still behave differently.
"""

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Hashable, Sequence
from functools import cached_property
from typing import TypeVar

from donewhen.records import frozen
from donewhen.syntax.declarations import Declaration, declarations_in
from donewhen.syntax.grammar import LanguageName, parse
from donewhen.syntax.tables import TABLES
from donewhen.syntax.word_owners import Span, TextOwner, distribute, text_owners

_Item = TypeVar("_Item", bound=Hashable)


@frozen
class OutsideChanges:
    """Which kinds of text outside all declarations changed."""

    imports: bool = False
    """Imports, includes and export lists."""
    statements: bool = False
    trivia: bool = False
    """Comments and blank lines, between declarations or between the members of one."""


@frozen
class SymbolChanges:
    """Qualified names, in source order."""

    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    modified: tuple[str, ...] = ()
    moved: tuple[str, ...] = ()
    """Names that are at another position among their siblings and are otherwise unchanged."""
    outside: OutsideChanges = OutsideChanges()

    @property
    def symbols(self) -> tuple[str, ...]:
        """All names whose declarations were added, removed or modified."""
        return (*self.added, *self.removed, *self.modified)

    def __bool__(self) -> bool:
        return self != SymbolChanges()


def symbol_changes(language: LanguageName, before: bytes | None, after: bytes | None) -> SymbolChanges:
    """Return the difference of two versions; None means that the file does not exist. Raise `SourceUnreadable` if a
    version is too long."""
    if before == after:
        return SymbolChanges()
    old, new = _Version(language, before or b""), _Version(language, after or b"")
    common = [name for name in new.by_name if name in old.by_name]
    # Only these names need a closer look.
    differing = {
        name
        for name in common
        if old.raw(name) != new.raw(name) or _kinds_and_conditions(old, name) != _kinds_and_conditions(new, name)
    }
    old.read_words(differing)
    new.read_words(differing)
    added = tuple(name for name in new.by_name if name not in old.by_name)
    removed = tuple(name for name in old.by_name if name not in new.by_name)
    modified, reordered = _modified_names(old, new, differing)
    displaced, shuffled = _moved_names(old, new)
    elsewhere = (reordered | displaced).difference(modified)
    moved = tuple(name for name in new.by_name if name in elsewhere)
    imports = old.outside.imports != new.outside.imports
    statements = shuffled or old.outside.tokens != new.outside.tokens
    explained = bool(added or removed or modified or moved or imports or statements)
    trivia = old.comments(added, removed) != new.comments(added, removed) or not explained
    return SymbolChanges(added, removed, tuple(modified), moved, OutsideChanges(imports, statements, trivia))


class _Version:
    """One version of a file: its declarations, and the text that belongs to each."""

    def __init__(self, language: LanguageName, text: bytes) -> None:
        self._table = TABLES[language]
        self._text = text
        self._tree = parse(language, text)
        self.declarations = declarations_in(self._tree, self._table, text)
        self._owners = text_owners(self.declarations, len(text))
        self._raw: dict[Span, bytes] = {}
        self.by_name: dict[str, list[Declaration]] = {}
        for declaration in self.declarations:
            self.by_name.setdefault(declaration.name, []).append(declaration)

    @property
    def outside(self) -> TextOwner:
        return next(iter(self._owners.values()))

    def owner(self, declaration: Declaration) -> TextOwner:
        return self._owners[declaration.start, declaration.end]

    def raw(self, name: str) -> list[bytes]:
        """Return the bytes of all declarations of a name. Declarations with the same span share the bytes."""
        found: list[bytes] = []
        for declaration in self.by_name[name]:
            span = (declaration.start, declaration.end)
            if span not in self._raw:
                self._raw[span] = self._owners[span].raw(self._text)
            found.append(self._raw[span])
        return found

    def read_words(self, names: set[str]) -> None:
        spans = {self.outside.span, *((one.start, one.end) for name in names for one in self.by_name.get(name, ()))}
        distribute(self._tree, self._table, self._text, self._owners, spans)

    def identities(self, name: str) -> list[Hashable]:
        """Return the values that must be equal for two declarations to be the same."""
        return [
            (one.kind, one.condition, raw if self._table.indented and not one.members else self._words(one))
            for one, raw in zip(self.by_name[name], self.raw(name), strict=True)
        ]

    @cached_property
    def _words_by_span(self) -> dict[Span, tuple[bytes, ...]]:
        return {}

    def _words(self, declaration: Declaration) -> tuple[bytes, ...]:
        span = (declaration.start, declaration.end)
        if span not in self._words_by_span:
            self._words_by_span[span] = tuple(self._owners[span].tokens)
        return self._words_by_span[span]

    def comments(self, *left_out: Sequence[str]) -> list[bytes]:
        """Return all comments between declarations and members, except those inside declarations that were added or
        removed."""
        names = {name for names in left_out for name in names}
        gone = {(one.start, one.end) for name in names for one in self.by_name.get(name, ())}
        return [comment for span, owner in self._owners.items() if span not in gone for comment in owner.comments]

    @cached_property
    def order(self) -> dict[str, list[str]]:
        """The names directly inside each container, in order; the file itself has the empty name."""
        names = {(one.start, one.end): one.name for one in reversed(self.declarations)}
        found: dict[str, list[str]] = defaultdict(list)
        for declaration in self.declarations:
            parent = self.owner(declaration).parent
            found[names.get(parent.span, "") if parent else ""].append(declaration.name)
        return found

    @cached_property
    def sequence(self) -> list[tuple[str, bytes]]:
        """The top level of the file: names of declarations, and the statements between them."""
        tops = [(owner.span, owner) for owner in self.outside.children]
        names = {(one.start, one.end): one.name for one in reversed(self.declarations)}
        found = [(span[0], (names[span], b"")) for span, _ in tops]
        starts = [span[0] for span, _ in tops]
        for node in self._tree.root_node.children:
            free = not node.is_named or node.type in self._table.comments or self._table.imports(node)
            at = bisect_left(starts, node.start_byte)
            holds = at < len(tops) and tops[at][0][0] < node.end_byte
            within = at > 0 and tops[at - 1][0][1] > node.start_byte
            if not free and not holds and not within:
                found.append((node.start_byte, ("", b" ".join((node.text or b"").split()))))
        return [item for _, item in sorted(found)]


def _kinds_and_conditions(version: _Version, name: str) -> list[tuple[str, str]]:
    return [(one.kind, one.condition) for one in version.by_name[name]]


def _modified_names(old: _Version, new: _Version, differing: set[str]) -> tuple[list[str], set[str]]:
    """Return which of these names changed, and which declarations of one name only changed their order."""
    modified: list[str] = []
    reordered: set[str] = set()
    for name in (name for name in new.by_name if name in differing):
        was, now = old.identities(name), new.identities(name)
        if was != now and Counter(was) == Counter(now):
            reordered.add(name)
        elif was != now:
            modified.append(name)
    return modified, reordered


def _moved_names(old: _Version, new: _Version) -> tuple[set[str], bool]:
    """Return the names that moved among their siblings, and whether a top-level statement moved."""
    moved: set[str] = set()
    for container, names in new.order.items():
        if container:
            moved.update(_out_of_order(old.order.get(container, []), names))
    tops = _out_of_order(old.sequence, new.sequence)
    moved.update(name for name, _ in tops if name)
    return moved, any(not name for name, _ in tops)


def _out_of_order(was: Sequence[_Item], now: Sequence[_Item]) -> list[_Item]:
    """Return the fewest common items that must be removed so that the rest is in the same order."""
    places: dict[tuple[_Item, int], int] = {item: place for place, item in enumerate(_with_occurrence(was))}
    common = [item for item in _with_occurrence(now) if item in places]
    in_order = _longest_increasing([places[item] for item in common])
    return [item for at, (item, _) in enumerate(common) if at not in in_order]


def _with_occurrence(items: Sequence[_Item]) -> list[tuple[_Item, int]]:
    """Pair each item with the number of equal items before it, which makes all pairs different."""
    seen: Counter[_Item] = Counter()
    found: list[tuple[_Item, int]] = []
    for item in items:
        found.append((item, seen[item]))
        seen[item] += 1
    return found


def _longest_increasing(numbers: Sequence[int]) -> set[int]:
    """Return the positions of a longest increasing subsequence, by keeping the smallest end for each length."""
    ends: list[int] = []
    at_end: list[int] = []
    before: list[int] = []
    for position, number in enumerate(numbers):
        length = bisect_left(ends, number)
        ends[length : length + 1] = [number]
        at_end[length : length + 1] = [position]
        before.append(at_end[length - 1] if length else -1)
    kept: set[int] = set()
    position = at_end[-1] if at_end else -1
    while position >= 0:
        kept.add(position)
        position = before[position]
    return kept
