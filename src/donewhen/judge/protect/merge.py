"""Two versions of a table of tables, put together key by key: product keys as the candidate has them, the rest as base.

Plain data in, operations on the base out. What a key is for is said by the policy of the format; how the result is
written down is the format's own business.
"""

from collections.abc import Callable, Iterator, Mapping
from enum import Enum
from typing import cast

from donewhen.records import frozen

Table = Mapping[str, object]
Path = tuple[str, ...]


class Missing(Enum):
    MISSING = "missing"


MISSING = Missing.MISSING


class Side(Enum):
    PRODUCT = "product"
    JUDGE = "judge"
    INSIDE = "inside"
    """Depends on the keys of the table."""


Policy = Callable[[Path, object, object], Side]
"""Which side a key that differs is on: its path, the base's value, the candidate's; either may be missing."""


@frozen
class Merged:
    taken: tuple[tuple[Path, object], ...]
    """What the base is to be given: a value, or MISSING where a key goes."""
    reverted: tuple[str, ...]
    """Keys that stay as the base has them, dotted."""


def merged(base: Table, candidate: Table, policy: Policy) -> Merged:
    taken: list[tuple[Path, object]] = []
    reverted: list[str] = []
    for path, old, new, side in _differences(base, candidate, policy, ()):
        if side is Side.PRODUCT:
            taken.append((path, new))
        else:
            reverted += map(dotted, _leaves(path, old, new))
    return Merged(tuple(taken), tuple(reverted))


def _differences(
    base: Table, candidate: Table, policy: Policy, above: Path
) -> Iterator[tuple[Path, object, object, Side]]:
    for key in dict.fromkeys((*base, *candidate)):
        path = (*above, key)
        old, new = base.get(key, MISSING), candidate.get(key, MISSING)
        if same(old, new):
            continue
        side = policy(path, old, new)
        if side is not Side.INSIDE:
            yield path, old, new, side
        elif is_table_or_missing(old) and is_table_or_missing(new):
            yield from _differences(table(old), table(new), policy, path)
        else:
            yield path, old, new, Side.JUDGE


def _leaves(path: Path, old: object, new: object) -> Iterator[Path]:
    """The keys in which two values differ: as deep as both are tables."""
    if not (isinstance(old, Mapping) and isinstance(new, Mapping)):
        yield path
        return
    before, after = table(cast("object", old)), table(cast("object", new))
    for key in dict.fromkeys((*before, *after)):
        if not same(before.get(key, MISSING), after.get(key, MISSING)):
            yield from _leaves((*path, key), before.get(key, MISSING), after.get(key, MISSING))


def applied(base: Table, taken: tuple[tuple[Path, object], ...]) -> dict[str, object]:
    """What the base becomes; a table that was not there before and gets nothing is not made."""
    result = copied(base)
    for path, value in taken:
        put(result, path, value)
    return result


def put(result: dict[str, object], path: Path, value: object) -> None:
    *above, key = path
    inner = result
    for name in above:
        following = inner.get(name)
        if not isinstance(following, dict):
            if value is MISSING:
                return
            following = dict[str, object]()
            inner[name] = following
        inner = cast("dict[str, object]", following)
    if value is MISSING:
        inner.pop(key, None)
    else:
        inner[key] = value


def copied(value: Table) -> dict[str, object]:
    return {key: copied(cast("Table", inner)) if isinstance(inner, Mapping) else inner for key, inner in value.items()}


def same(one: object, other: object) -> bool:
    """Equal, and of equal types all the way down: `1` is not `true`."""
    if _kind(one) is not _kind(other):
        return False
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        mine, theirs = table(cast("object", one)), table(cast("object", other))
        return mine.keys() == theirs.keys() and all(same(mine[key], theirs[key]) for key in mine)
    if isinstance(one, list) and isinstance(other, list):
        ours, others = cast("list[object]", one), cast("list[object]", other)
        return len(ours) == len(others) and all(map(same, ours, others))
    return one == other


def _kind(value: object) -> type[object]:
    return type(value)


def is_table_or_missing(value: object) -> bool:
    return value is MISSING or isinstance(value, Mapping)


def table(value: object) -> Table:
    """A value as a table; empty where it is none."""
    return cast("Table", value) if isinstance(value, Mapping) else {}


def strings(value: object) -> list[str] | None:
    """A value as a list of texts; None where it is anything else, and a missing one is empty."""
    if value is MISSING:
        return []
    if not isinstance(value, list):
        return None
    items = cast("list[object]", value)
    return [item for item in items if isinstance(item, str)] if all(isinstance(item, str) for item in items) else None


def dotted(path: Path) -> str:
    return ".".join(path)
