"""Reads the body of a request, up to a limit, and hands it to an application that wants to read it itself."""

from starlette.types import Message, Receive


class BodyTooLong(Exception):
    """The body has more bytes than allowed."""


class ClientLeft(Exception):
    """The client left before its body was complete."""


async def body_of(receive: Receive, longest: int | None) -> bytes:
    """Return the body. `longest` None: without a limit."""
    body = bytearray()
    while True:
        message = await receive()
        if message["type"] != "http.request":
            raise ClientLeft
        body += message.get("body", b"")
        if longest is not None and len(body) > longest:
            raise BodyTooLong
        if not message.get("more_body"):
            return bytes(body)


def replayed(body: bytes, receive: Receive) -> Receive:
    """Return a `receive` that yields a body that was read already, then what really follows."""
    is_first = True

    async def replay() -> Message:
        nonlocal is_first
        if is_first:
            is_first = False
            return {"type": "http.request", "body": body, "more_body": False}
        return await receive()

    return replay


def limited(receive: Receive, longest: int) -> Receive:
    """Return a `receive` that raises BodyTooLong as soon as the body is longer."""
    received = 0

    async def count() -> Message:
        nonlocal received
        message = await receive()
        received += len(message.get("body", b""))
        if received > longest:
            raise BodyTooLong
        return message

    return count
