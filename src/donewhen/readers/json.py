"""JSON reports as plain values that need no trust: whatever is not what it should be is empty."""

import json
from typing import cast

MOST_BYTES = 64 * 1024 * 1024


def parsed(content: bytes) -> dict[str, object] | None:
    """The object in the content; None when it is broken, cut off or something else."""
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
