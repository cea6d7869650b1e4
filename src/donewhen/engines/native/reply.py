"""Limits and ids for one model reply, so that it fits into the log and into the next request.

A wire limits each call separately; this module limits all calls of a reply together. A call that is too large is not
run, and the model gets an error for it.

Every call of a session gets a unique id: the id from the model if it is new, otherwise one made from the call's
position.
"""

import json
from collections.abc import Collection

from donewhen.engines.native.tools.clip import clipped
from donewhen.model.interface import Call, Reply

MOST_TEXT = 1 << 19
"""In bytes; as JSON the text can be six times as long. A log record has at most 8 MiB."""
MOST_INPUT = 2 << 20
"""In bytes as JSON, for all calls of a reply together."""
MOST_RAW = 2 << 20


def within_limits(reply: Reply) -> Reply:
    """Return the reply with its text clipped and with calls over the limit marked as unusable."""
    text = clipped(reply.text, MOST_TEXT)
    raw = reply.raw if text == reply.text and _size(reply.raw) <= MOST_RAW else None
    calls: list[Call] = []
    left = MOST_INPUT
    for call in reply.calls:
        size = _size(dict(call.input))
        if size > left:
            calls.append(call.changed(input={}, problem=f"the calls of one reply hold more than {MOST_INPUT} bytes"))
        else:
            calls.append(call)
            left -= size
    return reply.changed(text=text, calls=tuple(calls), raw=raw)


def _size(value: object) -> int:
    return len(json.dumps(value, default=str))


def with_ids(reply: Reply, used_ids: Collection[str], position: str) -> Reply:
    """Return the reply with an id for every call. A new id contains `position`, the place of the reply in the session.

    The wire also puts these ids into the provider's form of the message.
    """
    used = set(used_ids)
    calls = list(reply.calls)
    for index, call in enumerate(calls):
        id = call.id
        if not id or id in used:
            id = _unused_id(f"call-{position}-{index}", used)
        used.add(id)
        calls[index] = call.changed(id=id)
    return reply.changed(calls=tuple(calls))


def _unused_id(name: str, used: Collection[str]) -> str:
    while name in used:
        name += "-again"
    return name
