"""The endpoint behind the gateway: its address and key, and what of an agent's request is passed on to it. Pure.

Only requests of the model's wire are passed on (`endpoints`). Whatever the agent holds as a credential stays behind, in
header fields and in the query; the real one is put in.
"""

import re
from dataclasses import field
from urllib.parse import unquote, urlsplit

from donewhen.engines.external.network.endpoints import Wire
from donewhen.engines.external.network.heads import BadHead, Head, end_to_end
from donewhen.errors import BadInput
from donewhen.records import frozen

CREDENTIALS = frozenset(("authorization", "x-api-key", "x-goog-api-key", "api-key", "cookie"))
CREDENTIAL_PARAMETERS = frozenset(("key", "api_key", "api-key", "apikey", "access_token"))
OURS = frozenset(("host", "content-length", "accept-encoding", "range", "if-range"))
"""Said by the gateway, or not at all: an answer in a coding, or in slices, could not be looked through for the key."""
PATH = re.compile(r"(/[^?#]*)(?:\?([^#]*))?")


@frozen
class Upstream:
    base: str
    """http or https, a host, maybe a path; requests go below it."""
    header: str
    """The field that carries the key: `authorization` (as a bearer), or one that is the key."""
    key: str = field(repr=False)
    """Empty: none is sent."""
    wire: Wire

    def __post_init__(self) -> None:
        parts = urlsplit(self.base)
        if parts.scheme not in ("http", "https") or not parts.hostname or "@" in parts.netloc:
            raise BadInput("the model's endpoint must be an http or https address without a user")
        if parts.query or parts.fragment:
            raise BadInput("the model's endpoint must be an address without a query")
        if not re.fullmatch(r"[\x21-\x7e]*", self.key):
            raise BadInput("the model's key has characters that no key has")
        if not re.fullmatch(r"[a-z0-9-]+", self.header):
            raise BadInput(f"{self.header!r} is not a header field for a key")

    def url(self, method: str, target: str) -> str:
        """Where a request for `target` goes. Raises `BadHead` for one that is not of the wire, or leaves the base."""
        found = PATH.fullmatch(target)
        if found is None:
            raise BadHead("a request that is not for a path")
        if any(step in (".", "..") for step in re.split(r"[/\\]", unquote(unquote(found[1])))):
            raise BadHead("a path with steps upwards")
        query = "&".join(part for part in (found[2] or "").split("&") if part and not _is_credential(part))
        self.wire.require(method, found[1], query)
        return self.base.rstrip("/") + found[1] + (f"?{query}" if query else "")

    def fields(self, head: Head) -> list[tuple[str, str]]:
        """The fields of the request as the endpoint gets them."""
        passed = [(name, value) for name, value in end_to_end(head.fields) if self._passes(name)]
        length = [("content-length", str(head.length))] if head.length else []
        return [*passed, *length, ("accept-encoding", "identity"), *self._credential()]

    def _passes(self, field: str) -> bool:
        return field not in CREDENTIALS | OURS | {self.header} and self.wire.passes(field)

    def _credential(self) -> list[tuple[str, str]]:
        if not self.key:
            return []
        return [(self.header, f"Bearer {self.key}" if self.header == "authorization" else self.key)]


def _is_credential(parameter: str) -> bool:
    return unquote(parameter.partition("=")[0]).lower() in CREDENTIAL_PARAMETERS
