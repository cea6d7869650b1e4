"""Upstream: the endpoint behind the gateway, its address and key, and what is passed on to it. Pure.

Only requests of the model's wire are passed on (`endpoints`). Credentials that the agent sends are removed from header
fields and from the query; the real one is inserted.
"""

import re
from dataclasses import field
from urllib.parse import unquote, urlsplit

from donewhen.engines.external.network.endpoints import WireEndpoints
from donewhen.engines.external.network.http1 import BadHead, RequestHead, end_to_end
from donewhen.errors import BadInput
from donewhen.records import frozen

CREDENTIALS = frozenset(("authorization", "x-api-key", "x-goog-api-key", "api-key", "cookie"))
CREDENTIAL_PARAMETERS = frozenset(("key", "api_key", "api-key", "apikey", "access_token"))
OURS = frozenset(("host", "content-length", "accept-encoding", "range", "if-range"))
"""Set by the gateway, or not at all: an answer that is encoded, or in ranges, could not be searched for the key."""
PATH = re.compile(r"(/[^?#]*)(?:\?([^#]*))?")


@frozen
class Upstream:
    base: str
    """http or https, a host, optionally a path; requests go below it."""
    header: str
    """The field that carries the key: `authorization` (as a bearer token), or one whose whole value is the key."""
    key: str = field(repr=False)
    """Empty: no key is sent."""
    wire: WireEndpoints

    def __post_init__(self) -> None:
        parts = urlsplit(self.base)
        if parts.scheme not in ("http", "https") or not parts.hostname or "@" in parts.netloc:
            raise BadInput("the model's endpoint must be an http or https address without a user name")
        if parts.query or parts.fragment:
            raise BadInput("the model's endpoint must be an address without a query")
        if not re.fullmatch(r"[\x21-\x7e]*", self.key):
            raise BadInput("the model's key contains invalid characters")
        if not re.fullmatch(r"[a-z0-9-]+", self.header):
            raise BadInput(f"{self.header!r} is not a header field for a key")

    def url(self, method: str, target: str) -> str:
        """Return the URL of a request for `target`. Raise `BadHead` if it is not part of the wire, or leaves the
        base."""
        found = PATH.fullmatch(target)
        if found is None:
            raise BadHead("the request target is not a path")
        if any(step in (".", "..") for step in re.split(r"[/\\]", unquote(unquote(found[1])))):
            raise BadHead("the path contains ..")
        query = "&".join(part for part in (found[2] or "").split("&") if part and not _is_credential(part))
        self.wire.require(method, found[1], query)
        return self.base.rstrip("/") + found[1] + (f"?{query}" if query else "")

    def fields(self, head: RequestHead) -> list[tuple[str, str]]:
        """Return the fields of the request as the endpoint receives them."""
        passed = [(name, value) for name, value in end_to_end(head.fields) if self._passes(name)]
        length = [("content-length", str(head.length))] if head.length else []
        # Servers differ most in how they frame methods other than POST, so no other request follows one of those.
        last = [("connection", "close")] if head.method != "POST" else []
        return [*passed, *length, *last, ("accept-encoding", "identity"), *self._credential()]

    def _passes(self, field: str) -> bool:
        return field not in CREDENTIALS | OURS | {self.header} and self.wire.passes(field)

    def _credential(self) -> list[tuple[str, str]]:
        if not self.key:
            return []
        return [(self.header, f"Bearer {self.key}" if self.header == "authorization" else self.key)]


def _is_credential(parameter: str) -> bool:
    return unquote(parameter.partition("=")[0]).lower() in CREDENTIAL_PARAMETERS
