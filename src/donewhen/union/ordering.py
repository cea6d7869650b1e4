"""In which order patches are tried, and which of them have nothing to do with each other as far as files tell.

The order of trying is not the order of applying: that one is given and never changes. Files tell only so much: two
patches without a file in common may still break each other, so independence here saves time and proves nothing.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Item:
    """A patch as the search knows it."""

    id: str
    files: frozenset[str]
    """The paths that it touches."""
    risk: tuple[int, ...] = ()
    """What else is known against it, the gravest first; counts before anything that its files tell."""
    green_alone: bool = False
    """It was judged by itself before, with the same checks, and was green."""


def by_risk(items: Sequence[Item]) -> list[Item]:
    """The harmless first: who shares no file with others, then who touches few files. The last is blamed first."""
    touching = Counter(path for item in items for path in item.files)

    def risk(item: Item) -> tuple[tuple[int, ...], int, int]:
        return item.risk, sum(touching[path] - 1 for path in item.files), len(item.files)

    return sorted(items, key=risk)


def components(items: Sequence[Item]) -> list[list[Item]]:
    """Groups that share no file with each other, each in the order given, as are the groups by their first members."""
    leader = {item.id: item.id for item in items}

    def found(one: str) -> str:
        while leader[one] != one:
            leader[one] = leader[leader[one]]
            one = leader[one]
        return one

    first_with: dict[str, str] = {}
    for item in items:
        for path in item.files:
            leader[found(item.id)] = found(first_with.setdefault(path, item.id))
    groups: defaultdict[str, list[Item]] = defaultdict(list)
    for item in items:
        groups[found(item.id)].append(item)
    return list(groups.values())


def lanes(groups: Iterable[Sequence[Item]], most: int) -> list[list[Item]]:
    """The groups dealt into at most so many lanes of about equal length; no group is torn apart."""
    dealt: list[list[Item]] = [[] for _ in range(most)]
    for group in sorted(groups, key=len, reverse=True):
        min(dealt, key=len).extend(group)
    return [lane for lane in dealt if lane]
