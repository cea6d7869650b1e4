"""What every wire is: bytes for the parts of a conversation, and a listener that makes a draft out of events.

A body is the opening, the messages, and an end. The opening and each message are made once and are the same bytes in
every later turn, so that a turn costs what is new in it and a provider finds the beginning in its cache.
"""

import json
import re
from collections.abc import Sequence
from hashlib import sha256
from typing import Any, Protocol, cast

from donewhen.model.base import Assistant, Call, Message, Said, ToolSpec, Usage
from donewhen.model.draft import Draft, parsed
from donewhen.model.sse import BrokenStream, ServerEvent
from donewhen.model.transport import Listener
from donewhen.readers.json import fields, items
from donewhen.records import frozen

LONGEST_ID = 40
NOT_IN_IDS = re.compile(r"[^a-zA-Z0-9_-]")
NOTHING_SAID = "(nothing said)"
"""In the place of an empty text, which some providers refuse."""
END = b"]}"
DEEPEST_EVENT = 200


@frozen
class Opening:
    """All of a request that stays the same while a conversation grows."""

    role: str
    system: str
    tools: tuple[ToolSpec, ...]
    max_tokens: int
    left_out: frozenset[str] = frozenset()
    """Optional fields that this server refused before."""
    temperature: float = 0

    @property
    def cache_key(self) -> str:
        """The same for all turns of a conversation."""
        parts = [self.role, *(tool.name for tool in self.tools), self.system]
        return sha256("\n".join(parts).encode("utf-8", "replace")).hexdigest()[:32]

    def optional(self, **values: Any) -> dict[str, Any]:
        """The fields among these that the server takes."""
        return {name: value for name, value in values.items() if name not in self.left_out}


class Hears(Listener, Protocol):
    @property
    def usage(self) -> Usage | None:
        """What the provider has counted so far, be the answer whole or not."""
        ...

    def draft(self) -> Draft:
        """What was heard; `BrokenStream` when it is not complete."""
        ...


class Wire(Protocol):
    @property
    def tag(self) -> str:
        """Whose form a message's `raw` has."""
        ...

    @property
    def optional(self) -> tuple[str, ...]:
        """Fields that a server may refuse by name; they are then left out."""
        ...

    @property
    def model(self) -> str: ...

    @property
    def path(self) -> str:
        """Below the base URL."""
        ...

    def headers(self, key: str) -> dict[str, str]: ...

    def opening(self, opening: Opening) -> bytes:
        """Up to the place where the first message stands."""
        ...

    def message(self, message: Message) -> bytes:
        """Items of the list of messages, separated by commas."""
        ...

    def marked(self, messages: Sequence[bytes]) -> Sequence[bytes]:
        """The messages with whatever marks this turn alone needs."""
        ...

    def listener(self, said: Said | None) -> Hears: ...


def encoded(value: Any) -> bytes:
    """Compact JSON; half characters, which no JSON text can hold, become question marks."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")


def begun(settings: dict[str, Any], list_name: str, first: Sequence[Any] = ()) -> bytes:
    """A body up to its list of messages, which stays open behind the first of them."""
    return encoded({**settings, list_name: list(first)}).removesuffix(END) + (b"," if first else b"")


def listed(entries: Sequence[Any]) -> bytes:
    """Items of a list, without the list around them."""
    return encoded(list(entries))[1:-1]


def wire_id(id: str) -> str:
    """An id that every provider takes: short, of letters, digits, `_` and `-`."""
    plain = NOT_IN_IDS.sub("_", id)
    if plain == id and 0 < len(id) <= LONGEST_ID:
        return id
    return f"{plain[: LONGEST_ID - 9]}_{sha256(id.encode('utf-8', 'replace')).hexdigest()[:8]}"


def wire_name(name: str) -> str:
    """A tool's name; one that a model made up may be anything, and providers refuse to be told it again."""
    return NOT_IN_IDS.sub("_", name)[:64] or "unnamed"


def own_items(message: Assistant, tag: str, model: str) -> list[dict[str, Any]] | None:
    """The parts of a message as they came, when this wire and this model made it."""
    raw = fields(message.raw)
    return (
        [fields(item) for item in items(raw.get("items"))]
        if (raw.get("wire"), raw.get("model")) == (tag, model)
        else None
    )


def arguments_of(call: Call) -> str:
    return json.dumps(dict(call.input), ensure_ascii=False, separators=(",", ":"))


def event_object(event: ServerEvent) -> dict[str, object]:
    """The JSON object that an event carries."""
    try:
        found: object = parsed(event.data, DEEPEST_EVENT)
    except ValueError as error:
        raise BrokenStream(f"an event is not JSON: {error}") from error
    if not isinstance(found, dict):
        raise BrokenStream("an event is not an object")
    return cast("dict[str, object]", found)
