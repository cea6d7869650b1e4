"""What changed between two versions of a file, told by symbols.

A change inside a method is the method's, and its class' only if its header or a statement of its own changed. Comments
inside a function are its own; those between declarations are trivia, as blank lines are. White space inside a
declaration is no change, except in Python, where the text of functions and assignments is compared as it stands, so
that a new indentation is a modification. A renamed symbol is one removed and one added. Nothing is said about meaning:
a symbol that is not named here can behave differently all the same.
"""

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Hashable, Sequence
from functools import cached_property
from typing import TypeVar

from donewhen.records import frozen
from donewhen.syntax.declarations import Declaration, declared_in
from donewhen.syntax.grammar import LanguageName, parsed
from donewhen.syntax.pieces import Owner, Span, distribute, owners
from donewhen.syntax.tables import TABLES

_Item = TypeVar("_Item", bound=Hashable)


@frozen
class Outside:
    """Which kinds of text outside of all declarations changed."""

    imports: bool = False
    """Imports, includes and lists of exports."""
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
    """Stands elsewhere among its siblings, and is otherwise the same."""
    outside: Outside = Outside()

    @property
    def symbols(self) -> tuple[str, ...]:
        """All names whose declarations came, went or changed."""
        return (*self.added, *self.removed, *self.modified)

    def __bool__(self) -> bool:
        return self != SymbolChanges()


def changed(language: LanguageName, before: bytes | None, after: bytes | None) -> SymbolChanges:
    """The difference of two versions; None for a file that is not there. Raises `Unreadable` when one is too long."""
    if before == after:
        return SymbolChanges()
    old, new = _Version(language, before or b""), _Version(language, after or b"")
    differing = _differing(old, new)
    old.look_at(differing)
    new.look_at(differing)
    added = tuple(name for name in new.by_name if name not in old.by_name)
    removed = tuple(name for name in old.by_name if name not in new.by_name)
    modified, reordered = _modified(old, new, differing)
    displaced, shuffled = _displaced(old, new)
    elsewhere = (reordered | displaced).difference(modified)
    moved = tuple(name for name in new.by_name if name in elsewhere)
    imports = old.outside.imports != new.outside.imports
    statements = shuffled or old.outside.tokens != new.outside.tokens
    explained = bool(added or removed or modified or moved or imports or statements)
    trivia = old.comments(added, removed) != new.comments(added, removed) or not explained
    return SymbolChanges(added, removed, tuple(modified), moved, Outside(imports, statements, trivia))


class _Version:
    """One version of a file: its declarations, and what belongs to each."""

    def __init__(self, language: LanguageName, text: bytes) -> None:
        self._table = TABLES[language]
        self._text = text
        self._tree = parsed(language, text)
        self.declarations = declared_in(self._tree, self._table, text)
        self._owners = owners(self.declarations, len(text))
        self._raw: dict[Span, bytes] = {}
        self.by_name: dict[str, list[Declaration]] = {}
        for declaration in self.declarations:
            self.by_name.setdefault(declaration.name, []).append(declaration)

    @property
    def outside(self) -> Owner:
        return next(iter(self._owners.values()))

    def owner(self, declaration: Declaration) -> Owner:
        return self._owners[declaration.start, declaration.end]

    def raw(self, name: str) -> list[bytes]:
        """The bytes of all declarations of a name. Those that share a span share the bytes."""
        found: list[bytes] = []
        for declaration in self.by_name[name]:
            span = (declaration.start, declaration.end)
            if span not in self._raw:
                self._raw[span] = self._owners[span].raw(self._text)
            found.append(self._raw[span])
        return found

    def look_at(self, names: set[str]) -> None:
        spans = {self.outside.span, *((one.start, one.end) for name in names for one in self.by_name.get(name, ()))}
        distribute(self._tree, self._table, self._text, self._owners, spans)

    def faces(self, name: str) -> list[Hashable]:
        """What two declarations must have in common to be the same."""
        return [
            (one.kind, one.condition, raw if self._table.indented and not one.members else self._words(one))
            for one, raw in zip(self.by_name[name], self.raw(name), strict=True)
        ]

    @cached_property
    def _kept_words(self) -> dict[Span, tuple[bytes, ...]]:
        return {}

    def _words(self, declaration: Declaration) -> tuple[bytes, ...]:
        span = (declaration.start, declaration.end)
        if span not in self._kept_words:
            self._kept_words[span] = tuple(self._owners[span].tokens)
        return self._kept_words[span]

    def comments(self, *left_out: Sequence[str]) -> list[bytes]:
        """All comments between declarations and members, but for those inside of what came or went as a whole."""
        names = {name for names in left_out for name in names}
        gone = {(one.start, one.end) for name in names for one in self.by_name.get(name, ())}
        return [comment for span, owner in self._owners.items() if span not in gone for comment in owner.comments]

    @cached_property
    def order(self) -> dict[str, list[str]]:
        """The names directly inside each container, in order; under the empty name those of the file."""
        names = {(one.start, one.end): one.name for one in reversed(self.declarations)}
        found: dict[str, list[str]] = defaultdict(list)
        for declaration in self.declarations:
            parent = self.owner(declaration).parent
            found[names.get(parent.span, "") if parent else ""].append(declaration.name)
        return found

    @cached_property
    def sequence(self) -> list[tuple[str, bytes]]:
        """What stands in the file itself: names of declarations, and statements between them."""
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


def _differing(old: _Version, new: _Version) -> set[str]:
    """Names whose bytes or circumstances are not the same; all others need no closer look."""
    common = [name for name in new.by_name if name in old.by_name]
    return {name for name in common if old.raw(name) != new.raw(name) or _around(old, name) != _around(new, name)}


def _around(version: _Version, name: str) -> list[tuple[str, str]]:
    return [(one.kind, one.condition) for one in version.by_name[name]]


def _modified(old: _Version, new: _Version, differing: set[str]) -> tuple[list[str], set[str]]:
    """Which of these names changed, and which have only been put in another order among themselves."""
    modified: list[str] = []
    reordered: set[str] = set()
    for name in (name for name in new.by_name if name in differing):
        was, now = old.faces(name), new.faces(name)
        if was != now and Counter(was) == Counter(now):
            reordered.add(name)
        elif was != now:
            modified.append(name)
    return modified, reordered


def _displaced(old: _Version, new: _Version) -> tuple[set[str], bool]:
    """Names that stand elsewhere among their siblings, and whether a statement of the file does."""
    moved: set[str] = set()
    for container, names in new.order.items():
        if container:
            moved.update(_out_of_order(old.order.get(container, []), names))
    tops = _out_of_order(old.sequence, new.sequence)
    moved.update(name for name, _ in tops if name)
    return moved, any(not name for name, _ in tops)


def _out_of_order(was: Sequence[_Item], now: Sequence[_Item]) -> list[_Item]:
    """The fewest of the items in both that would have to be taken out for the rest to be in the same order."""
    places: dict[tuple[_Item, int], int] = {item: place for place, item in enumerate(_numbered(was))}
    common = [item for item in _numbered(now) if item in places]
    in_order = _longest_rise([places[item] for item in common])
    return [item for at, (item, _) in enumerate(common) if at not in in_order]


def _numbered(items: Sequence[_Item]) -> list[tuple[_Item, int]]:
    """Each with the number of its equals before it, which makes all of them different."""
    seen: Counter[_Item] = Counter()
    found: list[tuple[_Item, int]] = []
    for item in items:
        found.append((item, seen[item]))
        seen[item] += 1
    return found


def _longest_rise(numbers: Sequence[int]) -> set[int]:
    """The positions of a longest rising subsequence, by keeping the smallest end for each length."""
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
