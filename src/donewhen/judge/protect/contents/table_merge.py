"""Merges two versions of a nested table key by key: product keys from the candidate, all others from the base.

The input is plain data, the output is a list of changes to the base. The policy of the format decides what a key is
for. The module of the format writes the result.
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
    """Decided by the keys inside of the table."""


Policy = Callable[[Path, object, object], Side]
"""Decides the side of a key that differs, from its path, the value in the base and the value in the candidate.

Either value may be MISSING.
"""


@frozen
class MergedTable:
    accepted: tuple[tuple[Path, object], ...]
    """Changes to the base: a path with its new value, or MISSING if the key is removed."""
    reverted: tuple[str, ...]
    """Keys that are restored from the base, dotted."""


def merged(base: Table, candidate: Table, policy: Policy) -> MergedTable:
    accepted: list[tuple[Path, object]] = []
    reverted: list[str] = []
    for path, old, new, side in _differences(base, candidate, policy, ()):
        if side is Side.PRODUCT:
            accepted.append((path, new))
        else:
            reverted += map(dotted, _leaves(path, old, new))
    return MergedTable(tuple(accepted), tuple(reverted))


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
    """Yield the keys in which two values differ, as deep as both are tables."""
    if not (isinstance(old, Mapping) and isinstance(new, Mapping)):
        yield path
        return
    before, after = table(cast("object", old)), table(cast("object", new))
    for key in dict.fromkeys((*before, *after)):
        if not same(before.get(key, MISSING), after.get(key, MISSING)):
            yield from _leaves((*path, key), before.get(key, MISSING), after.get(key, MISSING))


def applied(base: Table, accepted: tuple[tuple[Path, object], ...]) -> dict[str, object]:
    """Return the base with the changes applied. A new table that would stay empty is not created."""
    result = copied(base)
    for path, value in accepted:
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
    """Return True if values are equal and have equal types at every level: `1` is not `true`."""
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
    """Return a value as a table; empty if it is not a table."""
    return cast("Table", value) if isinstance(value, Mapping) else {}


def strings(value: object) -> list[str] | None:
    """Return a value as a list of texts; empty if it is MISSING, None if it is anything else."""
    if value is MISSING:
        return []
    if not isinstance(value, list):
        return None
    items = cast("list[object]", value)
    return [item for item in items if isinstance(item, str)] if all(isinstance(item, str) for item in items) else None


def dotted(path: Path) -> str:
    return ".".join(path)
