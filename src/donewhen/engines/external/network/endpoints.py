"""Which requests an agent may send with the key: methods, paths, query parameters and header fields, per wire. Pure.

A list of what passes. Everything else is refused, because a key opens more than the model: stored files, batches, the
settings of an organisation, other keys. What a body asks for is not looked at.
"""

import re
from collections.abc import Mapping

from donewhen.engines.external.network.heads import BadHead
from donewhen.records import frozen

FORBIDDEN = 403
LONGEST_SHOWN = 120


@frozen
class Endpoint:
    """Patterns, each for the whole of a text."""

    method: str
    path: str
    parameters: str = ""
    """For each NAME=VALUE of the query."""


@frozen
class Wire:
    endpoints: tuple[Endpoint, ...]
    fields: str
    """For the names of header fields, in lower case. Others are left out."""

    def require(self, method: str, path: str, query: str) -> None:
        """Raise `BadHead` for a request that is not one to the model."""
        known = [one for one in self.endpoints if re.fullmatch(one.method, method) and re.fullmatch(one.path, path)]
        if not known:
            raise BadHead(f"{method} {path[:LONGEST_SHOWN]} is not a request to the model", FORBIDDEN)
        for part in filter(None, query.split("&")):
            if not any(re.fullmatch(one.parameters, part) for one in known):
                raise BadHead(f"the query parameter {part[:LONGEST_SHOWN]!r} is not passed on", FORBIDDEN)

    def passes(self, field: str) -> bool:
        return re.fullmatch(self.fields, field) is not None


NAME = r"[A-Za-z0-9][A-Za-z0-9._:@-]*"
GOOGLE_NAME = NAME.replace(":", "")  # what follows a colon is a method
PAGES = r"(?:limit|order|after|after_id|before_id|client_version)=[A-Za-z0-9._-]*"
VERSION = r"api-version=[A-Za-z0-9.-]*"
FIELDS = (
    r"accept|accept-language|content-encoding|content-type|user-agent|idempotency-key|originator|sec-fetch-mode"
    r"|x-app|x-initiator|x-interaction-type|session[_-]id|thread-id|x-session-(?:id|affinity)|x-client-request-id"
    r"|x-(?:stainless|codex|claude-code)-[a-z0-9-]+"
)
"""What the shipped agents were seen to send."""

WIRES: Mapping[str, Wire] = {
    "anthropic": Wire(
        (
            Endpoint("POST", r"/v1/messages(?:/count_tokens)?", "beta=true"),
            Endpoint("GET", rf"/v1/models(?:/{NAME})?", f"beta=true|{PAGES}"),
            Endpoint("HEAD", "/"),  # how Claude Code opens a connection ahead
        ),
        rf"{FIELDS}|anthropic-(?:version|beta|dangerous-direct-browser-access)",
    ),
    "openai": Wire(
        (
            Endpoint("POST", r"/v1/(?:chat/completions|responses)", VERSION),
            Endpoint("GET", rf"/v1/models(?:/{NAME})?", f"{VERSION}|{PAGES}"),
        ),
        rf"{FIELDS}|openai-beta",
    ),
    "google": Wire(
        (
            Endpoint(
                "POST",
                rf"/v1beta/models/{GOOGLE_NAME}:(?:generateContent|streamGenerateContent|countTokens)",
                "alt=sse",
            ),
            Endpoint("GET", rf"/v1beta/models(?:/{GOOGLE_NAME})?", r"(?:pageSize|pageToken)=[A-Za-z0-9._-]*"),
        ),
        rf"{FIELDS}|x-goog-api-client",
    ),
}
"""By the provider's name in a profile."""

ANYTHING = Wire((Endpoint(r".*", r".*", r".*"),), r".*")
"""For a server that gets no key."""
