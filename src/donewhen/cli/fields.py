"""Fields of events as a reader takes them: whatever stands there, it is read as what is wanted or as nothing.

Logs are older or newer than their reader, and a field may be missing or be of another type. Nothing here raises.
"""

from collections.abc import Mapping
from typing import Any, cast

Body = Mapping[str, Any]

LONGEST = 300
"""Characters of a text that a model or a repository wrote."""
LONGEST_NAME = 64
"""Characters of a name that a model gave."""
MOST_NUMBER = 10**15


def short(text: object, longest: int = LONGEST) -> str:
    """A text in one line, and not too long."""
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
    """A number that can be reckoned with."""
    if not isinstance(value, int | float) or isinstance(value, bool):
        return None
    return value if -MOST_NUMBER < value < MOST_NUMBER else None


def whole(value: object) -> int:
    return int(amount(value) or 0)


def seconds(milliseconds: object) -> str:
    return f"{whole(milliseconds) / 1000:.1f} s"


def counted(number: object, noun: str) -> str:
    many = whole(number)
    return f"{many:,} {noun}" if many == 1 else f"{many:,} {noun}s"


def subtask_of(body: Body) -> str:
    """Whose event it is; empty for those that are about the whole."""
    return name_of(body.get("subtask"))
