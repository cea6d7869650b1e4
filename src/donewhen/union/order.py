"""The order in which a search tries patches, and groups of patches that share no file.

The order of trying is not the order of applying: that one is given and never changes. Two patches without a common file
may still break each other. So the groups only save time; they do not prove independence.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence

from donewhen.records import frozen


@frozen
class SearchItem:
    """A patch as the search sees it."""

    id: str
    files: frozenset[str]
    """The paths that it changes."""
    risk: tuple[int, ...] = ()
    """Other known risks, the most serious first. They sort before the risk computed from files."""
    green_alone: bool = False
    """True if it was judged alone before, with the same checks, and was green."""


def by_risk(items: Sequence[SearchItem]) -> list[SearchItem]:
    """Sort by risk: few files shared with others first, then few files. The last one is blamed first."""
    changes = Counter(path for item in items for path in item.files)

    def risk(item: SearchItem) -> tuple[tuple[int, ...], int, int]:
        return item.risk, sum(changes[path] - 1 for path in item.files), len(item.files)

    return sorted(items, key=risk)


def components(items: Sequence[SearchItem]) -> list[list[SearchItem]]:
    """Return groups that share no file with each other. Members, and groups by first member, keep the given order."""
    leader = {item.id: item.id for item in items}

    def root_of(one: str) -> str:
        while leader[one] != one:
            leader[one] = leader[leader[one]]
            one = leader[one]
        return one

    first_with: dict[str, str] = {}
    for item in items:
        for path in item.files:
            leader[root_of(item.id)] = root_of(first_with.setdefault(path, item.id))
    groups: defaultdict[str, list[SearchItem]] = defaultdict(list)
    for item in items:
        groups[root_of(item.id)].append(item)
    return list(groups.values())


def lanes(groups: Iterable[Sequence[SearchItem]], most: int) -> list[list[SearchItem]]:
    """Distribute the groups over at most `most` lanes of about equal length. No group is split."""
    filled: list[list[SearchItem]] = [[] for _ in range(most)]
    for group in sorted(groups, key=len, reverse=True):
        min(filled, key=len).extend(group)
    return [lane for lane in filled if lane]
