"""Reads JSON of strangers: limits on size and depth before it is parsed, and no text that JSON readers disagree on.

Refused are: duplicate keys, NaN and infinity, numbers that overflow, lone surrogates, a byte order mark, invalid UTF-8.
"""

import json
import math
import re
from typing import Any, NoReturn

LONGEST = 4 * 1024 * 1024
"""Bytes of one message."""
DEEPEST = 64
_BRACKETS = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"?|[\[\]{}]', re.DOTALL)
"""A text, also one that does not end: what follows its quote is looked at once."""
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")


class JsonRefused(ValueError):
    """The text is not JSON, or not JSON that is accepted here. The message says why."""


def load(data: str | bytes) -> Any:
    """Return the value. Raise JsonRefused for anything else."""
    if len(data) > LONGEST:
        raise JsonRefused(f"the message is longer than {LONGEST} bytes")
    try:
        text = data.decode() if isinstance(data, bytes) else data
        _require_shallow(text)
        value = json.loads(
            text, object_pairs_hook=_without_duplicates, parse_constant=_no_constant, parse_float=_finite
        )
        if _SURROGATE.search(text):
            json.dumps(value, ensure_ascii=False).encode()
    except JsonRefused:
        raise
    except UnicodeError as error:
        raise JsonRefused("the message is not valid UTF-8") from error
    except (ValueError, RecursionError) as error:
        raise JsonRefused(f"the message is not JSON: {error}") from error
    return value


def _require_shallow(text: str) -> None:
    if text.count("[") + text.count("{") <= DEEPEST:
        return
    depth = 0
    for match in _BRACKETS.finditer(text):
        first = match[0][0]
        depth += 1 if first in "[{" else -1 if first in "]}" else 0
        if depth > DEEPEST:
            raise JsonRefused(f"the message is nested deeper than {DEEPEST} levels")


def _without_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise JsonRefused("an object has the same key twice")
    return found


def _no_constant(name: str) -> NoReturn:
    raise JsonRefused(f"{name} is not JSON")


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise JsonRefused(f"the number {text[:40]} is too large")
    return number
