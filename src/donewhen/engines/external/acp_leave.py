"""What an agent asks leave for, read as a wish, and the answer to it. Pure.

Leave is only ever given for the one call that it was asked for: an answer that holds for later calls would take them
out of sight of the policy.
"""

import shlex
from collections.abc import Iterator, Mapping
from typing import Any, Literal

from donewhen.engines.external.agent import Wish
from donewhen.engines.external.json_values import mapping, mappings, sequence, text

Kind = Literal["read", "write", "execute", "fetch", "other"]
KINDS: Mapping[str, Kind] = {
    "read": "read",
    "search": "read",
    "edit": "write",
    "delete": "write",
    "move": "write",
    "execute": "execute",
    "fetch": "fetch",
}
COMMANDS = ("command", "cmd", "script")
PATHS = ("path", "file_path", "filePath", "filepath", "fileName", "absolute_path", "notebook_path")
CANCELLED: Mapping[str, Any] = {"outcome": {"outcome": "cancelled"}}


def wish_of(call: Mapping[str, Any]) -> Wish:
    """Of everything that is known about a call.

    An agent that says only in its title which command it would run is taken at its word: no word at all would be less.
    """
    given, title = mapping(call.get("rawInput")), text(call.get("title"))
    command = next(filter(None, (_words(given.get(name)) for name in COMMANDS)), "")
    kind = KINDS.get(text(call.get("kind")), "execute" if command else "other")
    if kind == "execute":
        command = command or title.strip("` \n")
    tool = title or text(call.get("kind")) or "tool"
    return Wish(tool, kind, command, tuple(dict.fromkeys(_paths(call, given))), given)


def answer_to(options: Any, granted: bool) -> Mapping[str, Any]:
    """The option to choose. Where none fits, not even to refuse, the call is called off."""
    ids = {text(one.get("kind")): text(one.get("optionId")) for one in reversed(mappings(options))}
    fitting = ("allow_once",) if granted else ()
    for kind in (*fitting, "reject_once", "reject_always"):
        if ids.get(kind):
            return {"outcome": {"outcome": "selected", "optionId": ids[kind]}}
    return CANCELLED


def _words(value: Any) -> str:
    words = [one for one in sequence(value) if isinstance(one, str)]
    return shlex.join(words) if words else text(value)


def _paths(call: Mapping[str, Any], given: Mapping[str, Any]) -> Iterator[str]:
    for one in (*mappings(call.get("locations")), *mappings(call.get("content"))):
        if text(one.get("path")):
            yield text(one.get("path"))
    for name in PATHS:
        if text(given.get(name)):
            yield text(given.get(name))
