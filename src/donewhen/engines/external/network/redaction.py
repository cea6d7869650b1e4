"""Redaction: removes a secret from a stream of bytes, wherever the stream is split. Nothing else is changed.

Only the literal secret is recognised, no other form of it (base64, escaped letter by letter). The replacement has the
same length, so that lengths announced before stay correct.
"""

SHORTEST = 8
"""Anything shorter is a placeholder such as `ollama`, not a secret; ordinary text would be full of it."""


class Redactor:
    """Redactor for one stream. A piece is passed on at once, except for an end that could be the beginning of the
    secret."""

    def __init__(self, secret: str) -> None:
        self._text = secret if len(secret) >= SHORTEST else ""
        self._secret = self._text.encode()
        self._held = b""

    def feed(self, piece: bytes) -> bytes:
        if not self._secret:
            return piece
        data = (self._held + piece).replace(self._secret, b"*" * len(self._secret))
        most = min(len(self._secret) - 1, len(data))
        keep = next((size for size in range(most, 0, -1) if data.endswith(self._secret[:size])), 0)
        self._held = data[len(data) - keep :]
        return data[: len(data) - keep]

    def end(self) -> bytes:
        held, self._held = self._held, b""
        return held

    def whole(self, text: str) -> str:
        """Redact a text that is not part of the stream."""
        return text.replace(self._text, "*" * len(self._text)) if self._text else text
