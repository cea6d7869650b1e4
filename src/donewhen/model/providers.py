"""Providers with a native wire: their wires, addresses, and the environment variables that contain their keys.

This module contains data and reads an environment that the caller passes. All other providers are left to pydantic-ai.
"""

import re
from collections.abc import Mapping
from typing import Literal
from urllib.parse import unquote, urlsplit, urlunsplit

from donewhen.errors import BadInput
from donewhen.records import frozen

WireName = Literal["openai_chat", "openai_responses", "anthropic", "google"]
OLLAMA_PORT = 11434
USER = re.compile(r"\A((?:[A-Za-z][A-Za-z0-9+.-]*:)?//)?[^/?#]*@")
HIDDEN_USER = "***@"


@frozen
class Provider:
    wire: WireName
    url: str
    url_variables: tuple[str, ...]
    key_variables: tuple[str, ...]
    prices: str = ""
    """The name of its price list; empty if no list can contain its prices."""
    needs_key: bool = True


_OPENAI = ("https://api.openai.com/v1", ("OPENAI_BASE_URL",), ("OPENAI_API_KEY",), "openai")
_GOOGLE = Provider(
    "google",
    "https://generativelanguage.googleapis.com",
    ("GOOGLE_GEMINI_BASE_URL",),
    ("GOOGLE_API_KEY", "GEMINI_API_KEY"),
    "google",
)
PROVIDERS: Mapping[str, Provider] = {
    "anthropic": Provider(
        "anthropic", "https://api.anthropic.com", ("ANTHROPIC_BASE_URL",), ("ANTHROPIC_API_KEY",), "anthropic"
    ),
    "openai": Provider("openai_responses", *_OPENAI),
    "openai-responses": Provider("openai_responses", *_OPENAI),
    "openai-chat": Provider("openai_chat", *_OPENAI),
    "google": _GOOGLE,
    "google-gla": _GOOGLE,
    "ollama": Provider(
        "openai_chat",
        f"http://localhost:{OLLAMA_PORT}/v1",
        ("OLLAMA_BASE_URL", "OLLAMA_HOST"),
        ("OLLAMA_API_KEY",),
        needs_key=False,
    ),
}


def is_same_provider(one: str, other: str) -> bool:
    """Return True if two names mean one provider: equal, or with the same key, as `openai` and `openai-chat`."""
    first, second = PROVIDERS.get(one), PROVIDERS.get(other)
    return one == other or (first is not None and second is not None and first.key_variables == second.key_variables)


@frozen
class Address:
    url: str
    is_official: bool
    """True if it is the provider's own server, not another server with the same protocol."""


def address_of(provider: Provider, base_url: str, environment: Mapping[str, str]) -> Address:
    """Return the address for requests: the configured one, else that of the environment, else the provider's own."""
    if base_url:
        return Address(checked_url(base_url, "model.base_url"), _is_same_host(base_url, provider.url))
    for variable in provider.url_variables:
        if value := environment.get(variable, "").strip():
            url = checked_url(_host_as_url(value) if variable == "OLLAMA_HOST" else value, variable)
            return Address(url, _is_same_host(url, provider.url))
    return Address(provider.url, True)


def key_of(name: str, provider: Provider, address: Address, environment: Mapping[str, str]) -> str:
    """Return the key; empty if none is needed. Raise `BadInput` with the variable's name if it is missing."""
    for variable in provider.key_variables:
        if key := environment.get(variable, "").strip():
            if not (key.isascii() and key.isprintable() and " " not in key):
                raise BadInput(f"{variable} contains characters that no key has")
            return key
    if provider.needs_key and address.is_official:
        raise BadInput(f"{name} needs a key: set {' or '.join(provider.key_variables)}")
    return ""


def checked_url(url: str, where: str) -> str:
    """Return the address without slashes at its end. Raise `BadInput` with `where` if it is invalid."""
    try:
        parts = urlsplit(url)
        is_valid = parts.scheme in ("http", "https") and parts.hostname and (parts.port is None or parts.port)
    except ValueError:
        is_valid = False
    if not is_valid or any(character.isspace() for character in url):
        # The address itself is not shown: it may contain a password.
        raise BadInput(f"{where}: not an http or https address")
    return url.rstrip("/")


def with_hidden_user(url: str) -> str:
    """Return an address that is safe to store and show: user and password hidden. It need not be a valid one."""
    return USER.sub(rf"\1{HIDDEN_USER}", url)


def passwords(url: str) -> tuple[str, ...]:
    """Return the password in an address, as written and with its escapes decoded."""
    found = urlsplit(url).password or ""
    return tuple({found, unquote(found)} - {""})


def _host_as_url(host: str) -> str:
    """Return a URL for OLLAMA_HOST, the listen address of the server: a name, maybe with a port, maybe 0.0.0.0."""
    parts = urlsplit(host if "://" in host else f"http://{host}")
    try:
        name, port = parts.hostname or "localhost", parts.port or OLLAMA_PORT
    except ValueError:
        return host
    name = "127.0.0.1" if name in ("0.0.0.0", "::") else name
    return urlunsplit((parts.scheme, f"[{name}]:{port}" if ":" in name else f"{name}:{port}", "/v1", "", ""))


def _is_same_host(one: str, other: str) -> bool:
    return urlsplit(one).hostname == urlsplit(other).hostname
