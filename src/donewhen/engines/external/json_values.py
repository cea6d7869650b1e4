"""Typed access to JSON of unknown shape: an agent may send anything, and nothing here raises."""

from collections.abc import Mapping, Sequence
from typing import Any, cast


def mapping(value: Any) -> Mapping[str, Any]:
    return cast("Mapping[str, Any]", value) if isinstance(value, dict) else {}


def sequence(value: Any) -> Sequence[Any]:
    return cast("Sequence[Any]", value) if isinstance(value, list) else ()


def mappings(value: Any) -> list[Mapping[str, Any]]:
    """Return the objects in a list; skip everything else."""
    return [mapping(one) for one in sequence(value) if isinstance(one, dict)]


def text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def count(value: Any) -> int:
    """Return a positive number of tokens; 0 for anything else."""
    is_count = isinstance(value, int) and not isinstance(value, bool) and value > 0
    return cast("int", value) if is_count else 0
