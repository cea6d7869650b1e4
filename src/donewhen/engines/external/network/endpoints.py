"""Allowed requests of an agent, per wire: methods, paths, query parameters and header fields. Pure.

This is a list of what passes. Everything else is refused, because a key grants access to more than the model: stored
files, batches, the settings of an organisation, other keys. An MCP server gets no key; its list is its path, because
other things may be served at the same address. Request bodies are not inspected.
"""

import re
from collections.abc import Mapping
from urllib.parse import urlsplit

from donewhen.engines.external.network.http1 import BadHead
from donewhen.records import frozen

FORBIDDEN = 403
LONGEST_SHOWN = 120


@frozen
class AllowedEndpoint:
    """Patterns, each of which must match a whole text."""

    method: str
    path: str
    parameters: str = ""
    """Pattern for each NAME=VALUE of the query."""


@frozen
class WireEndpoints:
    endpoints: tuple[AllowedEndpoint, ...]
    fields: str
    """Pattern for the names of header fields, in lower case. Other fields are left out."""
    leads_to: str = "the model"
    """Destination, for the text of refusals."""

    def require(self, method: str, path: str, query: str) -> None:
        """Raise `BadHead` for a request that no endpoint allows."""
        known = [one for one in self.endpoints if re.fullmatch(one.method, method) and re.fullmatch(one.path, path)]
        if not known:
            raise BadHead(f"{method} {path[:LONGEST_SHOWN]} is not a request to {self.leads_to}", FORBIDDEN)
        for part in filter(None, query.split("&")):
            if not any(re.fullmatch(one.parameters, part) for one in known):
                raise BadHead(f"the query parameter {part[:LONGEST_SHOWN]!r} is not forwarded", FORBIDDEN)

    def passes(self, field: str) -> bool:
        return re.fullmatch(self.fields, field) is not None


NAME = r"[A-Za-z0-9][A-Za-z0-9._:@-]*"
GOOGLE_NAME = NAME.replace(":", "")  # the part after a colon is a method
PAGES = r"(?:limit|order|after|after_id|before_id|client_version)=[A-Za-z0-9._-]*"
VERSION = r"api-version=[A-Za-z0-9.-]*"
FIELDS = (
    r"accept|accept-language|content-encoding|content-type|user-agent|idempotency-key|originator|sec-fetch-mode"
    r"|x-app|x-initiator|x-interaction-type|session[_-]id|thread-id|x-session-(?:id|affinity)|x-client-request-id"
    r"|x-(?:stainless|codex|claude-code)-[a-z0-9-]+"
)
"""Header fields that the shipped agents were seen to send."""

WIRES: Mapping[str, WireEndpoints] = {
    "anthropic": WireEndpoints(
        (
            AllowedEndpoint("POST", r"/v1/messages(?:/count_tokens)?", "beta=true"),
            AllowedEndpoint("GET", rf"/v1/models(?:/{NAME})?", f"beta=true|{PAGES}"),
            AllowedEndpoint("HEAD", "/"),  # how Claude Code opens a connection in advance
        ),
        rf"{FIELDS}|anthropic-(?:version|beta|dangerous-direct-browser-access)",
    ),
    "openai": WireEndpoints(
        (
            AllowedEndpoint("POST", r"/v1/(?:chat/completions|responses)", VERSION),
            AllowedEndpoint("GET", rf"/v1/models(?:/{NAME})?", f"{VERSION}|{PAGES}"),
        ),
        rf"{FIELDS}|openai-beta",
    ),
    "google": WireEndpoints(
        (
            AllowedEndpoint(
                "POST",
                rf"/v1beta/models/{GOOGLE_NAME}:(?:generateContent|streamGenerateContent|countTokens)",
                "alt=sse",
            ),
            AllowedEndpoint("GET", rf"/v1beta/models(?:/{GOOGLE_NAME})?", r"(?:pageSize|pageToken)=[A-Za-z0-9._-]*"),
        ),
        rf"{FIELDS}|x-goog-api-client",
    ),
}
"""Allowed requests, by the provider's name in a profile."""

BELOW = r"(?:/[A-Za-z0-9._~!$&'()*+,=:@-]*)*"
"""Without percent signs, backslashes and `;`: servers read them in different ways, some as steps upwards."""
MCP_FIELDS = rf"{FIELDS}|mcp-[a-z0-9-]+|last-event-id|cache-control"


def mcp_wire(url: str) -> WireEndpoints:
    """Return the allowed requests to an MCP server at `url`: its path and everything below it, by the methods of the
    protocol."""
    path = urlsplit(url).path or "/"
    return WireEndpoints(
        (AllowedEndpoint("POST|GET|DELETE", re.escape(path.removesuffix("/")) + BELOW, r".*"),),
        MCP_FIELDS,
        "the MCP server",
    )
