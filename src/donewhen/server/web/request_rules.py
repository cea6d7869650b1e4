"""Which requests are refused before they are routed and before a token is looked at. Pure: the head of a request in.

A browser sends requests for any page that a person opens. So the name that it used (`Host`), the page that asks
(`Origin`, `Sec-Fetch-Site`) and the type of the body are checked for every request, also for one with a token.
"""

import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import unquote_plus

from donewhen.records import frozen
from donewhen.server.rpc.bounded_json import LONGEST
from donewhen.server.web.defences import WebDefences

METHODS = ("GET", "HEAD", "POST", "DELETE")
SECRET_NAMES = frozenset({"token", "access_token", "decide_token", "authorization", "auth", "bearer", "code", "key"})
"""Names in a query that must not be there: an address is kept in logs and histories."""
_PATH = re.compile(rb"/(?:(?!\.{1,2}(?:/|$))[A-Za-z0-9._~-]+(?:/|$))*")
"""No escapes, no empty parts, no `.` and `..`: no two programs read such a path differently."""
_LENGTH = re.compile(r"[0-9]{1,18}")


@frozen
class RefusedRequest:
    status: int
    why: str


class WebHead:
    """The head of an HTTP request or of the request that opens a WebSocket."""

    def __init__(self, scope: Mapping[str, Any]) -> None:
        self.is_websocket = scope["type"] == "websocket"
        self.method: str = "GET" if self.is_websocket else scope["method"]
        self.raw_path: bytes = scope["raw_path"]
        self.query: str = scope["query_string"].decode("latin-1")
        self._headers: list[tuple[bytes, bytes]] = scope["headers"]

    @property
    def changes_something(self) -> bool:
        return self.is_websocket or self.method not in ("GET", "HEAD")

    def all(self, name: str) -> list[str]:
        """Return all values of a header."""
        return [value.decode("latin-1") for key, value in self._headers if key.decode("latin-1").lower() == name]

    def one(self, name: str) -> str:
        """Return the value of a header; empty if it is missing or there are several."""
        values = self.all(name)
        return values[0] if len(values) == 1 else ""


def refusal_of(head: WebHead, scheme: str, hosts: frozenset[str], defences: WebDefences) -> RefusedRequest | None:
    """Return why a request is refused; None if it may be routed. `hosts` are the accepted values of `Host`."""
    host = head.one("host")
    if defences.host and host not in hosts:
        return RefusedRequest(403, "this host name is not served here")
    if defences.origin and (found := _foreign(head, f"{scheme}://{host}")):
        return found
    if defences.form and (found := _odd_form(head)):
        return found
    if head.method == "POST" and defences.content_type and not _is_json(head.all("content-type")):
        return RefusedRequest(415, "the body must be application/json")
    if defences.size and any(_is_too_long(length) for length in head.all("content-length")):
        return RefusedRequest(413, f"the body is longer than {LONGEST} bytes")
    return None


def _foreign(head: WebHead, own: str) -> RefusedRequest | None:
    if any(value.lower() in ("cross-site", "same-site") for value in head.all("sec-fetch-site")):
        return RefusedRequest(403, "requests of other sites are refused")
    if any(origin != own for origin in head.all("origin")):
        return RefusedRequest(403, "requests of other origins are refused")
    return None


def _odd_form(head: WebHead) -> RefusedRequest | None:
    if head.method not in METHODS:
        return RefusedRequest(405, f"only {', '.join(METHODS)}")
    if not _PATH.fullmatch(head.raw_path):
        return RefusedRequest(400, "there is no such path")
    if any(unquote_plus(part.partition("=")[0]).lower() in SECRET_NAMES for part in re.split("[&;]", head.query)):
        return RefusedRequest(403, "a secret does not belong into an address; use the header Authorization")
    if head.all("transfer-encoding") and head.all("content-length"):
        return RefusedRequest(400, "the length of the body is stated twice")
    if any(value.strip().lower() != "identity" for value in head.all("content-encoding")):
        return RefusedRequest(415, "the body must not be compressed")
    return None


def _is_json(types: list[str]) -> bool:
    if len(types) != 1:
        return False
    kind, _, parameters = types[0].partition(";")
    charset = parameters.replace(" ", "").replace('"', "").lower()
    return kind.strip().lower() == "application/json" and charset in ("", "charset=utf-8")


def _is_too_long(length: str) -> bool:
    return not _LENGTH.fullmatch(length) or int(length) > LONGEST
