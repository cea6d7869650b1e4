"""Typed replies: find the JSON object that a model was asked for in its reply, and clean the model's text.

No I/O; shared by the engines that ask a model for data. A code fence around the object and text before or after it are
allowed. This module does not check the contents of the object; the caller does.
"""

import json
import re
from collections.abc import Sequence
from typing import Any, cast

from donewhen.records import frozen

LONGEST_REPLY = 4_000_000
START = re.compile(r'\{\s*+"')
"""Requires a key: an object without any key is never an answer, and many braces in prose look like one."""
MOST_STARTS = 1000
"""How many possible starts of an object are tried in one reply."""
KEYED = re.compile(r'\{\s*+"(?>(?:[^"\\]|\\.)*)"\s*+:', re.DOTALL)
MOST_DIGITS = 15
"""Longer integers are read as floats, whose size is fixed."""
WIDTH = 100
"""How many characters of a model's text are shown in one line."""
INVISIBLE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]")
"""Control characters, and characters that change how a line is displayed, so that it seems to say something else."""
LINE_END = re.compile("\r\n?|[\u2028\u2029]")
LONE_SURROGATE = re.compile("[\ud800-\udfff]")


class InvalidReply(Exception):
    """A reply cannot be used. `issues` has one line per problem that tells a model what to fix; it is never empty."""

    def __init__(self, issues: Sequence[str]) -> None:
        super().__init__("; ".join(issues))
        self.issues = tuple(issues)


@frozen
class ReplyObjects:
    objects: tuple[tuple[int, dict[str, Any]], ...]
    """Objects with at least one wanted key, each with its start offset."""
    others: int
    broken: str
    """The error in the first text that names a wanted key and is not valid JSON; empty if there is none."""
    has_broken_part: bool
    """True if some text starts like an object but is not one, or if the end of the reply was not searched."""


def object_in(reply: str, wanted: Sequence[str] = (), form: str = "one JSON object") -> dict[str, Any]:
    """Return the object with most of the wanted keys, the first on a tie. Raise `InvalidReply` with what to fix."""
    return _best_object(_find_objects(reply, wanted, form), wanted, form)


def only_object_in(reply: str, wanted: Sequence[str], form: str) -> dict[str, Any]:
    """Like `object_in`, for callers that must not accept a quoted answer: exactly one answer, and no broken JSON next
    to it.

    An object inside broken JSON may be a quotation: the opposite of what the model means.
    """
    found = _find_objects(reply, wanted, form)
    chosen = _best_object(found, wanted, form)
    if any(one != chosen for _, one in found.objects):
        raise InvalidReply(
            [f"the reply contains {len(found.objects)} different answers; answer with {form} and nothing else"]
        )
    before = reply[: found.objects[0][0]]
    if found.has_broken_part or before.count("{") > before.count("}"):
        raise InvalidReply([f"the reply contains broken JSON next to complete JSON; answer with {form} alone"])
    return chosen


def first_issues(issues: Sequence[str], most: int) -> list[str]:
    """Return the first issues, and a line with the number of the others."""
    rest = len(issues) - most
    return [*issues[:most], f"and {rest} more"] if rest > 0 else list(issues)


def _best_object(found: ReplyObjects, wanted: Sequence[str], form: str) -> dict[str, Any]:
    if found.objects:
        return max((one for _, one in found.objects), key=lambda one: sum(key in one for key in wanted))
    if found.broken:
        raise InvalidReply([f"the JSON of the reply is broken: {found.broken}"])
    lacking = " or ".join(f"'{key}'" for key in wanted)
    what = f"the reply's JSON has no {lacking}" if found.others else "the reply contains no readable JSON object"
    raise InvalidReply([f"{what}; answer with {form}"])


def _find_objects(reply: str, wanted: Sequence[str], form: str) -> ReplyObjects:
    if not reply.strip():
        raise InvalidReply([f"the reply is empty; answer with {form}"])
    if len(reply) > LONGEST_REPLY:
        raise InvalidReply([f"the reply is longer than {LONGEST_REPLY} characters"])
    # Line ends inside strings are a harmless mistake.
    decoder = json.JSONDecoder(strict=False, parse_int=_parse_int)
    objects: list[tuple[int, dict[str, Any]]] = []
    others, broken, has_broken_part, end = 0, "", False, 0
    for _ in range(MOST_STARTS):
        if (match := START.search(reply, end)) is None:
            break
        start = match.start()
        try:
            one, end = decoder.raw_decode(reply, start)
        except json.JSONDecodeError as error:
            end = max(error.pos, start + 1)
            has_broken_part = has_broken_part or KEYED.match(reply, start) is not None
            if not broken and _names_any(reply[start:end], wanted):
                broken = f"{error.msg} in line {error.lineno}, column {error.colno} of the reply"
        except RecursionError:
            raise InvalidReply([f"the JSON of the reply is nested too deeply; answer with {form}"]) from None
        else:
            is_wanted = not wanted or any(key in one for key in wanted)
            objects += [(start, cast("dict[str, Any]", one))] if is_wanted else []
            others += not is_wanted
    else:
        has_broken_part = True  # the rest of the reply was not searched
    return ReplyObjects(tuple(objects), others, broken, has_broken_part)


def _names_any(text: str, wanted: Sequence[str]) -> bool:
    return not wanted or any(f'"{key}"' in text for key in wanted)


def _parse_int(digits: str) -> int | float:
    return int(digits) if len(digits) <= MOST_DIGITS else float(digits)


# -- text of a model --


def cleaned(text: str) -> str:
    """Return the text without characters that are unsafe for files, terminals or programs. Line ends and tabs stay."""
    return LONE_SURROGATE.sub("\ufffd", INVISIBLE.sub("", LINE_END.sub("\n", text)))


def one_line(text: str) -> str:
    return " ".join(cleaned(text).split())


def cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 1].rstrip()}…"


def describe_value(value: object) -> str:
    """Describe an unexpected value in an error message: text is quoted, and anything else is named by its type."""
    if isinstance(value, str):
        return repr(value) if len(value) <= WIDTH else f"{value[:WIDTH]!r}…"
    kinds: dict[type, str] = {dict: "an object", list: "a list", bool: "a truth value", type(None): "nothing"}
    return kinds.get(type(value), "a number")
