"""Interface of every wire: it encodes the parts of a conversation, and its listener builds a draft from events.

A request body is the opening, the messages, and an end. The opening and each message are encoded once and are the same
bytes in every later turn, so that only new parts cost time and a provider finds the beginning in its cache.
"""

import json
import re
from collections.abc import Sequence
from hashlib import sha256
from typing import Any, Protocol, cast

from donewhen.model.interface import Assistant, Call, Message, OnText, ToolSpec, Usage
from donewhen.model.partial_reply import PartialReply, parse_json
from donewhen.model.sse import BrokenStream, ServerEvent
from donewhen.model.transport import Listener
from donewhen.readers.json import fields, items
from donewhen.records import frozen

LONGEST_ID = 40
NOT_IN_IDS = re.compile(r"[^a-zA-Z0-9_-]")
NO_TEXT = "(no text)"
"""Replaces an empty text, which some providers refuse."""
END = b"]}"
DEEPEST_EVENT = 200


@frozen
class Opening:
    """The part of a request that stays the same while a conversation grows."""

    role: str
    system: str
    tools: tuple[ToolSpec, ...]
    max_tokens: int
    refused_fields: frozenset[str] = frozenset()
    """Optional fields that this server has refused."""
    temperature: float = 0

    @property
    def cache_key(self) -> str:
        """A key that is the same for all turns of a conversation."""
        parts = [self.role, *(tool.name for tool in self.tools), self.system]
        return sha256("\n".join(parts).encode("utf-8", "replace")).hexdigest()[:32]

    def optional(self, **values: Any) -> dict[str, Any]:
        """Return those of the fields that the server has not refused."""
        return {name: value for name, value in values.items() if name not in self.refused_fields}


class ReplyListener(Listener, Protocol):
    @property
    def usage(self) -> Usage | None:
        """The usage that the provider has reported so far, even if the answer is incomplete."""
        ...

    def draft(self) -> PartialReply:
        """Return the received reply. Raise `BrokenStream` if it is not complete."""
        ...


class Wire(Protocol):
    @property
    def tag(self) -> str:
        """The name of this wire, to recognise messages whose `raw` it created."""
        ...

    @property
    def optional(self) -> tuple[str, ...]:
        """Fields that are left out after a server refused them by name."""
        ...

    @property
    def model(self) -> str: ...

    @property
    def path(self) -> str:
        """The path of the request, relative to the base URL."""
        ...

    def headers(self, key: str) -> dict[str, str]: ...

    def opening(self, opening: Opening) -> bytes:
        """Encode the body up to the position of the first message."""
        ...

    def message(self, message: Message) -> bytes:
        """Encode a message as items of the list of messages, separated by commas."""
        ...

    def marked(self, messages: Sequence[bytes]) -> Sequence[bytes]:
        """Return the encoded messages with the marks that only this turn needs."""
        ...

    def listener(self, on_text: OnText | None) -> ReplyListener: ...


def encode(value: Any) -> bytes:
    """Return compact JSON. Lone surrogates, which UTF-8 cannot encode, become question marks."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")


def open_body(settings: dict[str, Any], list_name: str, first: Sequence[Any] = ()) -> bytes:
    """Encode a body up to its list of messages, which stays open after the `first` items."""
    return encode({**settings, list_name: list(first)}).removesuffix(END) + (b"," if first else b"")


def encode_items(entries: Sequence[Any]) -> bytes:
    """Encode the items of a list without its brackets."""
    return encode(list(entries))[1:-1]


def wire_id(id: str) -> str:
    """Return an id that every provider accepts: short, with only letters, digits, `_` and `-`."""
    plain = NOT_IN_IDS.sub("_", id)
    if plain == id and 0 < len(id) <= LONGEST_ID:
        return id
    return f"{plain[: LONGEST_ID - 9]}_{sha256(id.encode('utf-8', 'replace')).hexdigest()[:8]}"


def wire_name(name: str) -> str:
    """Return an acceptable tool name. A name that a model invented can be anything, and providers refuse it."""
    return NOT_IN_IDS.sub("_", name)[:64] or "unnamed"


def original_items(message: Assistant, tag: str, model: str) -> list[dict[str, Any]] | None:
    """Return the original parts of a message if this wire and this model created it; else None."""
    raw = fields(message.raw)
    return (
        [fields(item) for item in items(raw.get("items"))]
        if (raw.get("wire"), raw.get("model")) == (tag, model)
        else None
    )


def arguments_of(call: Call) -> str:
    return json.dumps(dict(call.input), ensure_ascii=False, separators=(",", ":"))


def event_object(event: ServerEvent) -> dict[str, object]:
    """Return the JSON object in an event."""
    try:
        found: object = parse_json(event.data, DEEPEST_EVENT)
    except ValueError as error:
        raise BrokenStream(f"an event is not JSON: {error}") from error
    if not isinstance(found, dict):
        raise BrokenStream("an event is not an object")
    return cast("dict[str, object]", found)
