"""Model with a native wire: it encodes each message of a conversation once and sends the same bytes in each turn.

It combines a wire, which interprets the answers, with `turn`, which handles the retries.
"""

import re
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field

from donewhen.model.interface import Assistant, Message, OnText, Reply, Turn, Usage
from donewhen.model.partial_reply import PartialReply
from donewhen.model.providers import passwords
from donewhen.model.request_error import RequestError
from donewhen.model.retries import Retries
from donewhen.model.sse import BrokenStream
from donewhen.model.transport import HttpRequest, Transport, host_and_path
from donewhen.model.turn import Answerer, TurnRunner
from donewhen.model.wires.wire import END, Opening, Wire
from donewhen.records import frozen

MOST_CONVERSATIONS = 32


@frozen
class Endpoint:
    """Address and key of a model; neither is ever shown."""

    url: str = field(repr=False)
    key: str = field(repr=False)
    about_key: str = ""
    """For messages: the variable that the key comes from, or that should contain it."""


@dataclass(slots=True)
class WireConversation:
    """The encoded messages of one conversation so far."""

    opening: Opening
    head: bytes
    messages: list[Message] = field(default_factory=list[Message])
    bodies: list[bytes] = field(default_factory=list[bytes])
    ids: set[str] = field(default_factory=set[str])

    def grow(self, messages: Sequence[Message], wire: Wire) -> None:
        """Encode new messages. Drop the encoded ones from the first that was removed or changed."""
        same = 0
        for known, new in zip(self.messages, messages, strict=False):
            if known is not new and known != new:
                break
            same += 1
        del self.messages[same:], self.bodies[same:]
        for message in messages[same:]:
            self.messages.append(message)
            self.bodies.append(wire.message(message))
            if isinstance(message, Assistant):
                self.ids.update(call.id for call in message.calls if call.id)


@dataclass(slots=True)
class NativeModel:
    answerer: Answerer
    endpoint: Endpoint
    wires: list[Wire]
    """The wire in use, then others that the same server may support."""
    transport: Transport
    retries: Retries
    _refused_fields: set[str] = field(default_factory=set[str], init=False)
    _conversations: OrderedDict[str, WireConversation] = field(
        default_factory=OrderedDict[str, WireConversation], init=False, repr=False
    )

    @property
    def name(self) -> str:
        return self.answerer.name

    async def reply(self, turn: Turn, on_text: OnText | None = None) -> Reply:
        secrets = (self.endpoint.key, *passwords(self.endpoint.url))
        runner = TurnRunner(self.answerer, self.retries, self.transport.clock, self.transport.deadlines.total, secrets)
        wire, conversation = self.wires[0], self._conversation(turn)

        async def ask() -> PartialReply:
            nonlocal wire, conversation
            wire, conversation = self.wires[0], self._conversation(turn)
            return await self._ask(wire, conversation, on_text)

        await runner.run(ask, conversation.ids, lambda error: self._adapt(error, wire, conversation))
        return runner.reply(wire.tag)

    async def close(self) -> None:
        """Close the connections that were kept for the next turn."""
        await self.transport.close()

    async def _ask(self, wire: Wire, conversation: WireConversation, on_text: OnText | None) -> PartialReply:
        listener = wire.listener(on_text)
        body = b"".join((conversation.head, b",".join(wire.marked(conversation.bodies)), END))
        headers = {"content-type": "application/json", "accept": "text/event-stream", **wire.headers(self.endpoint.key)}
        try:
            await self.transport.ask(HttpRequest(self.endpoint.url + wire.path, headers, body), listener)
            return listener.draft()
        except BrokenStream as error:
            failure = RequestError(f"the response is broken: {error}", "malformed", retry=True)
            failure.usage = listener.usage or Usage()
            raise failure from error
        except RequestError as failure:
            failure.usage = listener.usage or Usage()
            raise

    def _conversation(self, turn: Turn) -> WireConversation:
        refused_fields = frozenset(self._refused_fields)
        opening = Opening(turn.role, turn.system, turn.tools, turn.max_tokens, refused_fields, turn.temperature)
        found = self._conversations.get(turn.role)
        if found is None or found.opening != opening:
            found = WireConversation(opening, self.wires[0].opening(opening))
            self._conversations[turn.role] = found
            if len(self._conversations) > MOST_CONVERSATIONS:
                self._conversations.popitem(last=False)
        self._conversations.move_to_end(turn.role)
        found.grow(turn.messages, self.wires[0])
        return found

    def _adapt(self, error: RequestError, wire: Wire, conversation: WireConversation) -> bool:
        """Return True if another form of the request is possible. If not, add details that the server does not know."""
        if self._change_request(error, wire, conversation):
            return True
        if error.waits == "sign_in" and self.endpoint.about_key:
            error.message += f"; {self.endpoint.about_key}"
        elif error.kind == "not_found":
            error.message += f"; the request went to {host_and_path(self.endpoint.url + wire.path)}"
        return False

    def _change_request(self, error: RequestError, wire: Wire, conversation: WireConversation) -> bool:
        """Use the other wire if the server lacks this one; leave out an optional field that it refused by name.

        Another turn may have done so already while this one was running.
        """
        if error.kind == "not_found" and wire.model not in error.message:
            if wire is self.wires[0] and len(self.wires) > 1:
                del self.wires[0]
                self._conversations.clear()
            return wire is not self.wires[0]
        if error.kind != "bad_request":
            return False
        optional = [name for name in wire.optional if name not in conversation.opening.refused_fields]
        sent = [name for name in optional if f'"{name}":'.encode() in conversation.head]
        refused = [name for name in sent if re.search(rf"\b{name}\b", error.message)]
        self._refused_fields.update(refused[:1])
        return bool(refused)
