"""A secret taken out of a stream of bytes, wherever the pieces of the stream are cut. Nothing else is changed.

Only the secret as it is: written in another way (base64, escaped letter by letter) it is not recognised. What replaces
it has the same length, so that lengths announced before still hold.
"""

SHORTEST = 8
"""Anything shorter is a stand-in such as `ollama`, and no secret; ordinary text would be full of it."""


class Redactor:
    """For one stream. A piece is passed on at once but for an end that could be the beginning of the secret."""

    def __init__(self, secret: str) -> None:
        self._text = secret if len(secret) >= SHORTEST else ""
        self._secret = self._text.encode()
        self._held = b""

    def feed(self, piece: bytes) -> bytes:
        if not self._secret:
            return piece
        data = (self._held + piece).replace(self._secret, b"*" * len(self._secret))
        keep = self._beginning_at_the_end(data)
        self._held = data[len(data) - keep :]
        return data[: len(data) - keep]

    def end(self) -> bytes:
        held, self._held = self._held, b""
        return held

    def whole(self, text: str) -> str:
        """A text that is not part of the stream."""
        return text.replace(self._text, "*" * len(self._text)) if self._text else text

    def _beginning_at_the_end(self, data: bytes) -> int:
        most = min(len(self._secret) - 1, len(data))
        return next((size for size in range(most, 0, -1) if data.endswith(self._secret[:size])), 0)
