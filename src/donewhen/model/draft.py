"""A reply as a wire has heard it, and what of it can be trusted: the arguments of calls are read and bounded here.

Nothing that was cut off, is not JSON, is too large or too deep becomes the input of a call. Which bytes said it, and
whether to ask again, is not known here.
"""

import json
import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, cast

from donewhen.model.base import Call, Usage

LARGEST_INPUT = 1024 * 1024
DEEPEST_INPUT = 64
LONGEST_NAME = 200
HALF = "half a character (a lone surrogate)"

Stop = Literal["done", "calls", "length"]


@dataclass(slots=True)
class Wish:
    """A call as it came; its arguments should be the JSON of an object."""

    id: str = ""
    name: str = ""
    arguments: str = ""


@dataclass(slots=True)
class Draft:
    text: str = ""
    wishes: Sequence[Wish] = ()
    usage: Usage = field(default_factory=Usage)
    stop: Stop = "done"
    raw: Any = None


def parsed(text: str, deepest: int) -> Any:
    """JSON, strictly: `ValueError` for anything that other programs would not read the same way, or not at all."""
    try:
        found = json.loads(text, parse_constant=_no_constant, parse_float=_finite)
    except RecursionError:
        raise ValueError("nested too deeply") from None
    # So few brackets cannot be nested deeper, wherever they stand; nearly every text ends here.
    if text.count("[") + text.count("{") > deepest and any(depth > deepest for depth, _ in _values(found, deepest)):
        raise ValueError(f"nested more than {deepest} deep")
    return found


def _no_constant(literal: str) -> None:
    raise ValueError(f"{literal} is not JSON")


def _finite(literal: str) -> float:
    number = float(literal)
    if not math.isfinite(number):
        raise ValueError(f"{literal[:20]} is too large a number")
    return number


def whole_text(pieces: str) -> str:
    """Text without half characters: two halves that came apart are joined, one alone is replaced."""
    if not _has_halves(pieces):
        return pieces
    return pieces.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def _has_halves(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return True
    return False


def calls_of(draft: Draft, known_ids: Collection[str]) -> tuple[Call, ...]:
    """The wishes as calls. An id that is taken is left empty; the very same call under the same id is one call."""
    calls: dict[int, Call] = {}
    by_id: dict[str, Wish] = {}
    for place, wish in enumerate(draft.wishes):
        twin = by_id.get(wish.id) if wish.id else None
        if twin is not None and (twin.name, twin.arguments) == (wish.name, wish.arguments):
            continue
        id = "" if twin is not None or wish.id in known_ids else wish.id
        by_id.setdefault(wish.id, wish)
        last = place == len(draft.wishes) - 1
        calls[place] = _call(id, wish, cut=draft.stop == "length" and last)
    return tuple(calls.values())


def _call(id: str, wish: Wish, cut: bool) -> Call:
    name = whole_text(wish.name)[:LONGEST_NAME]
    try:
        return Call(id, name, _input(wish.arguments, cut))
    except ValueError as wrong:
        why = f"the input was cut off at the limit of tokens: {wrong}" if cut else f"the input cannot be read: {wrong}"
        return Call(id, name, {}, problem=why)


def _input(arguments: str, cut: bool) -> Mapping[str, Any]:
    found = _object(arguments, cut)
    if "\\u" in arguments and any(isinstance(value, str) and _has_halves(value) for _, value in _values(found)):
        raise ValueError(HALF)
    return found


def _object(text: str, cut: bool) -> Mapping[str, Any]:
    if len(text) > LARGEST_INPUT:
        raise ValueError(f"more than {LARGEST_INPUT} characters")
    if not text.strip() and not cut:
        return {}
    joined = whole_text(text)
    if joined.count("\ufffd") > text.count("\ufffd"):
        raise ValueError(HALF)
    found = parsed(joined, DEEPEST_INPUT)
    if not isinstance(found, dict):
        raise ValueError("not an object")
    return cast("dict[str, Any]", found)


def _values(root: object, deepest: int = DEEPEST_INPUT) -> Iterator[tuple[int, object]]:
    """Every value and key beneath, with its depth; without recursion, because the depth is what is in doubt."""
    stack: list[tuple[int, object]] = [(0, root)]
    while stack:
        depth, value = stack.pop()
        yield depth, value
        if depth > deepest:
            continue
        if isinstance(value, dict):
            for key, item in cast("dict[str, object]", value).items():
                stack += ((depth + 1, key), (depth + 1, item))
        elif isinstance(value, list):
            stack += ((depth + 1, item) for item in cast("list[object]", value))
