"""Typed replies: the JSON object that a model was asked for, found in what it said, and its words made harmless.

Pure, and shared by the engines that ask a model for data. A fence around the object and words before or after it are
tolerated. What the object must hold is the business of whoever asked.
"""

import json
import re
from collections.abc import Sequence
from typing import Any, cast

from donewhen.records import frozen

LONGEST_REPLY = 4_000_000
START = re.compile(r'\{\s*+"')
"""An object without any key is nobody's answer, and many braces in prose look like one."""
MOST_STARTS = 1000
"""So many beginnings of objects in a reply are tried."""
KEYED = re.compile(r'\{\s*+"(?:[^"\\]|\\.)*+"\s*+:', re.DOTALL)
MOST_DIGITS = 15
"""Longer whole numbers are read as fractions, which have a size that is known."""
WIDTH = 100
"""Characters of a model's words that are shown in one line."""
UNSEEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]")
"""Control characters, and those that make a line look as if it said something else."""
LINE_END = re.compile("\r\n?|[\u2028\u2029]")
HALF_A_PAIR = re.compile("[\ud800-\udfff]")


class Unreadable(Exception):
    """Why no object could be read out of a reply, one line each; never empty."""

    def __init__(self, issues: Sequence[str]) -> None:
        super().__init__("; ".join(issues))
        self.issues = tuple(issues)


@frozen
class Found:
    objects: tuple[tuple[int, dict[str, Any]], ...]
    """Those with a wanted key, each with where it begins."""
    others: int
    broken: str
    """What is wrong with the first text that names a wanted key and is no JSON; empty when there is none."""
    torn: bool
    """Whether anything begins like an object and is none, or was not looked at."""


def object_in(reply: str, wanted: Sequence[str] = (), form: str = "one JSON object") -> dict[str, Any]:
    """The object with most of the wanted keys, the first of several; `Unreadable` with what to mend."""
    return _chosen(_found(reply, wanted, form), wanted, form)


def only_object_in(reply: str, wanted: Sequence[str], form: str) -> dict[str, Any]:
    """As `object_in`, where it matters that nobody is quoted: there is one answer, and it stands alone.

    An object inside of broken JSON may be what the model quotes, the opposite of what it says.
    """
    found = _found(reply, wanted, form)
    chosen = _chosen(found, wanted, form)
    if any(one != chosen for _, one in found.objects):
        raise Unreadable([f"the reply holds {len(found.objects)} answers that differ; answer with {form} and no other"])
    before = reply[: found.objects[0][0]]
    if found.torn or before.count("{") > before.count("}"):
        raise Unreadable([f"the reply holds JSON that is broken beside one that is whole; answer with {form} alone"])
    return chosen


def _chosen(found: Found, wanted: Sequence[str], form: str) -> dict[str, Any]:
    if found.objects:
        return max((one for _, one in found.objects), key=lambda one: sum(key in one for key in wanted))
    if found.broken:
        raise Unreadable([f"the JSON of the reply is broken: {found.broken}"])
    lacking = " or ".join(f"'{key}'" for key in wanted)
    what = f"the reply's JSON has no {lacking}" if found.others else "the reply holds no JSON object that can be read"
    raise Unreadable([f"{what}; answer with {form}"])


def _found(reply: str, wanted: Sequence[str], form: str) -> Found:
    if not reply.strip():
        raise Unreadable([f"the reply is empty; answer with {form}"])
    if len(reply) > LONGEST_REPLY:
        raise Unreadable([f"the reply is longer than {LONGEST_REPLY} characters"])
    # Line ends inside of strings are a slip that does no harm.
    decoder = json.JSONDecoder(strict=False, parse_int=_whole)
    objects: list[tuple[int, dict[str, Any]]] = []
    others, broken, torn, end = 0, "", False, 0
    for _ in range(MOST_STARTS):
        if (match := START.search(reply, end)) is None:
            break
        start = match.start()
        try:
            one, end = decoder.raw_decode(reply, start)
        except json.JSONDecodeError as error:
            end = max(error.pos, start + 1)
            torn = torn or KEYED.match(reply, start) is not None
            if not broken and _names_any(reply[start:end], wanted):
                broken = f"{error.msg} in line {error.lineno}, column {error.colno} of the reply"
        except RecursionError:
            raise Unreadable([f"the JSON of the reply is nested too deeply; answer with {form}"]) from None
        else:
            is_wanted = not wanted or any(key in one for key in wanted)
            objects += [(start, cast("dict[str, Any]", one))] if is_wanted else []
            others += not is_wanted
    else:
        torn = True  # nobody has looked at the rest
    return Found(tuple(objects), others, broken, torn)


def _names_any(text: str, wanted: Sequence[str]) -> bool:
    return not wanted or any(f'"{key}"' in text for key in wanted)


def _whole(digits: str) -> int | float:
    return int(digits) if len(digits) <= MOST_DIGITS else float(digits)


# -- words of a model --


def cleaned(text: str) -> str:
    """Words without what no file, terminal or program should be handed; line ends and tabs stay."""
    return HALF_A_PAIR.sub("\ufffd", UNSEEN.sub("", LINE_END.sub("\n", text)))


def one_line(text: str) -> str:
    return " ".join(cleaned(text).split())


def cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 1].rstrip()}…"


def quoted(told: object) -> str:
    """What was said in the wrong place: words as they are, of anything else only what it is."""
    if isinstance(told, str):
        return repr(told) if len(told) <= WIDTH else f"{told[:WIDTH]!r}…"
    kinds: dict[type, str] = {dict: "an object", list: "a list", bool: "a truth value", type(None): "nothing"}
    return kinds.get(type(told), "a number")
