"""Tolerant access to event fields: a value is converted to the wanted type, or to an empty value.

Logs can be older or newer than their reader, and a field may be missing or of another type. No function here raises.
"""

from collections.abc import Mapping
from typing import Any, cast

Body = Mapping[str, Any]

LONGEST = 300
"""Maximum characters of a text that a model or a repository wrote."""
LONGEST_NAME = 64
"""Maximum characters of a name that a model chose."""
MOST_NUMBER = 10**15


def short(text: object, longest: int = LONGEST) -> str:
    """Return a text as one line of limited length."""
    line = " ".join(str("" if text is None else text).split())
    return line if len(line) <= longest else line[: longest - 1] + "…"


def name_of(value: object) -> str:
    return short(value, LONGEST_NAME)


def items(value: object) -> list[Any]:
    return list(cast("list[Any]", value)) if isinstance(value, list | tuple) else []


def names(value: object) -> list[str]:
    return [name_of(one) for one in items(value)]


def mapping(value: object) -> Body:
    return cast("Body", value) if isinstance(value, Mapping) else {}


def objects(value: object) -> list[Body]:
    return [found for found in map(mapping, items(value)) if found]


def amount(value: object) -> float | None:
    """Return a number of reasonable size; None for anything else."""
    if not isinstance(value, int | float) or isinstance(value, bool):
        return None
    return value if -MOST_NUMBER < value < MOST_NUMBER else None


def whole(value: object) -> int:
    return int(amount(value) or 0)


def seconds(milliseconds: object) -> str:
    return f"{whole(milliseconds) / 1000:.1f} s"


def count_text(number: object, noun: str) -> str:
    many = whole(number)
    return f"{many:,} {noun}" if many == 1 else f"{many:,} {noun}s"
