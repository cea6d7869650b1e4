"""What of one reply is taken: no more than can be written down, be it the log or the next request.

A wire bounds each call by itself; this bounds them together. What is too much is not carried out, and the model hears
of it.
"""

import json
from dataclasses import replace

from donewhen.engines.native.tools.clip import clipped
from donewhen.model.base import Call, Reply

MOST_TEXT = 1 << 19
"""In bytes; as JSON it can be six times as long. A record of the log has at most 8 MiB."""
MOST_INPUT = 2 << 20
"""Of all calls of a reply together, as JSON."""
MOST_RAW = 2 << 20


def bounded(reply: Reply) -> Reply:
    """The reply, with calls that are too much for one turn made unusable."""
    text = clipped(reply.text, MOST_TEXT)
    raw = reply.raw if text == reply.text and _size(reply.raw) <= MOST_RAW else None
    calls: list[Call] = []
    room = MOST_INPUT
    for call in reply.calls:
        size = _size(dict(call.input))
        if size > room:
            calls.append(replace(call, input={}, problem=f"the calls of one reply hold more than {MOST_INPUT} bytes"))
        else:
            calls.append(call)
            room -= size
    return replace(reply, text=text, calls=tuple(calls), raw=raw)


def _size(value: object) -> int:
    return len(json.dumps(value, default=str))
