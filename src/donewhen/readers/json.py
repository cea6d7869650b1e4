"""Access to untrusted JSON reports: a value of the wrong type becomes an empty one."""

import json
from typing import cast

MOST_BYTES = 64 * 1024 * 1024


def parsed(content: bytes) -> dict[str, object] | None:
    """Return the object in the content; None if it is invalid, truncated or not an object."""
    if len(content) > MOST_BYTES:
        return None
    try:
        value: object = json.loads(content)
    except (ValueError, RecursionError):
        return None
    return cast("dict[str, object]", value) if isinstance(value, dict) else None


def fields(value: object) -> dict[str, object]:
    return cast("dict[str, object]", value) if isinstance(value, dict) else {}


def items(value: object) -> list[object]:
    return cast("list[object]", value) if isinstance(value, list) else []


def count(value: object) -> int:
    return value if isinstance(value, int) and 0 <= value < 10**9 else 0


def words(value: object) -> str:
    return value if isinstance(value, str) else ""
