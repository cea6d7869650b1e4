"""Reply as received by a wire, before validation. The arguments of calls are parsed and limited here.

Arguments that were cut off, are not JSON, or are too large or too deep never become the input of a call. This module
does not know the wire format and does not decide about retries.
"""

import json
import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, cast

from donewhen.model.interface import Call, Usage

LARGEST_INPUT = 1024 * 1024
DEEPEST_INPUT = 64
LONGEST_NAME = 200
LONE_SURROGATE = "half a character (a lone surrogate)"

Stop = Literal["done", "calls", "length"]


@dataclass(slots=True)
class PartialCall:
    """A call as received; its arguments should be a JSON object."""

    id: str = ""
    name: str = ""
    arguments: str = ""


@dataclass(slots=True)
class PartialReply:
    text: str = ""
    calls: Sequence[PartialCall] = ()
    usage: Usage = field(default_factory=Usage)
    stop: Stop = "done"
    raw: Any = None


def parse_json(text: str, deepest: int) -> Any:
    """Parse strict JSON. Raise `ValueError` for text that other programs would read differently or not at all."""
    try:
        found = json.loads(text, parse_constant=_no_constant, parse_float=_finite)
    except RecursionError:
        raise ValueError("nested too deeply") from None
    # A text with no more brackets than the limit cannot exceed it; this fast test suffices for nearly every text.
    if text.count("[") + text.count("{") > deepest and any(depth > deepest for depth, _ in _values(found, deepest)):
        raise ValueError(f"nested more than {deepest} deep")
    return found


def _no_constant(literal: str) -> None:
    raise ValueError(f"{literal} is not JSON")


def _finite(literal: str) -> float:
    number = float(literal)
    if not math.isfinite(number):
        raise ValueError(f"{literal[:20]} is too large")
    return number


def without_surrogates(pieces: str) -> str:
    """Return text without lone surrogates: two halves of a character are joined, a single half is replaced."""
    if not _has_surrogates(pieces):
        return pieces
    return pieces.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def _has_surrogates(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return True
    return False


def calls_of(draft: PartialReply, known_ids: Collection[str]) -> tuple[Call, ...]:
    """Return the validated calls. An id that is already in use becomes empty; identical calls with one id are one."""
    calls: dict[int, Call] = {}
    by_id: dict[str, PartialCall] = {}
    for place, call in enumerate(draft.calls):
        earlier = by_id.get(call.id) if call.id else None
        if earlier is not None and (earlier.name, earlier.arguments) == (call.name, call.arguments):
            continue
        id = "" if earlier is not None or call.id in known_ids else call.id
        by_id.setdefault(call.id, call)
        last = place == len(draft.calls) - 1
        calls[place] = _call(id, call, cut=draft.stop == "length" and last)
    return tuple(calls.values())


def _call(id: str, call: PartialCall, cut: bool) -> Call:
    name = without_surrogates(call.name)[:LONGEST_NAME]
    try:
        return Call(id, name, _input(call.arguments, cut))
    except ValueError as wrong:
        why = f"the input was cut off at the token limit: {wrong}" if cut else f"the input cannot be read: {wrong}"
        return Call(id, name, {}, problem=why)


def _input(arguments: str, cut: bool) -> Mapping[str, Any]:
    found = _object(arguments, cut)
    if "\\u" in arguments and any(isinstance(value, str) and _has_surrogates(value) for _, value in _values(found)):
        raise ValueError(LONE_SURROGATE)
    return found


def _object(text: str, cut: bool) -> Mapping[str, Any]:
    if len(text) > LARGEST_INPUT:
        raise ValueError(f"more than {LARGEST_INPUT} characters")
    if not text.strip() and not cut:
        return {}
    joined = without_surrogates(text)
    if joined.count("\ufffd") > text.count("\ufffd"):
        raise ValueError(LONE_SURROGATE)
    found = parse_json(joined, DEEPEST_INPUT)
    if not isinstance(found, dict):
        raise ValueError("not an object")
    return cast("dict[str, Any]", found)


def _values(root: object, deepest: int = DEEPEST_INPUT) -> Iterator[tuple[int, object]]:
    """Yield every value and key with its depth. Not recursive, because the depth is what must be checked."""
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
