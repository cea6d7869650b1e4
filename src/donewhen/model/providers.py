"""The providers that have a request path of our own: their wires, addresses and the variables that hold their keys.

Data and the reading of an environment that is handed in. Every other provider is pydantic-ai's to know.
"""

from collections.abc import Mapping
from typing import Literal
from urllib.parse import urlsplit, urlunsplit

from donewhen.errors import BadInput
from donewhen.records import frozen

WireName = Literal["openai_chat", "openai_responses", "anthropic", "google"]
OLLAMA_PORT = 11434


@frozen
class Provider:
    wire: WireName
    url: str
    url_variables: tuple[str, ...]
    key_variables: tuple[str, ...]
    prices: str = ""
    """The name of its price list; empty when what it runs costs nothing that a list could know."""
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


def same_provider(one: str, other: str) -> bool:
    """Whether two names mean one provider: they are equal, or read the same key, as `openai` and `openai-chat` do."""
    first, second = PROVIDERS.get(one), PROVIDERS.get(other)
    return one == other or (first is not None and second is not None and first.key_variables == second.key_variables)


@frozen
class Address:
    url: str
    at_home: bool
    """Whether it is the provider's own, and not that of another server which speaks the same."""


def address_of(provider: Provider, base_url: str, environment: Mapping[str, str]) -> Address:
    """Where to send requests: what is configured, else what the environment says, else the provider's own."""
    if base_url:
        return Address(checked_url(base_url, "model.base_url"), _same_host(base_url, provider.url))
    for variable in provider.url_variables:
        if value := environment.get(variable, "").strip():
            url = checked_url(_host_as_url(value) if variable == "OLLAMA_HOST" else value, variable)
            return Address(url, _same_host(url, provider.url))
    return Address(provider.url, True)


def key_of(name: str, provider: Provider, address: Address, environment: Mapping[str, str]) -> str:
    """The key; empty where none is needed. A lack is one line that names the variable."""
    for variable in provider.key_variables:
        if key := environment.get(variable, "").strip():
            if not (key.isascii() and key.isprintable() and " " not in key):
                raise BadInput(f"{variable} holds characters that no key has")
            return key
    if provider.needs_key and address.at_home:
        raise BadInput(f"{name} needs a key: set {' or '.join(provider.key_variables)}")
    return ""


def checked_url(url: str, where: str) -> str:
    """An address as it is written, but for slashes at its end; `BadInput` names where it is written."""
    try:
        parts = urlsplit(url)
        sound = parts.scheme in ("http", "https") and parts.hostname and (parts.port is None or parts.port)
    except ValueError:
        sound = False
    if not sound or any(character.isspace() for character in url):
        # The address itself is not shown: it may hold a password.
        raise BadInput(f"{where}: not an address of http or https")
    return url.rstrip("/")


def _host_as_url(host: str) -> str:
    """OLLAMA_HOST is what the server listens at: a name, perhaps with a port, perhaps every address there is."""
    parts = urlsplit(host if "://" in host else f"http://{host}")
    try:
        name, port = parts.hostname or "localhost", parts.port or OLLAMA_PORT
    except ValueError:
        return host
    name = "127.0.0.1" if name in ("0.0.0.0", "::") else name
    return urlunsplit((parts.scheme, f"[{name}]:{port}" if ":" in name else f"{name}:{port}", "/v1", "", ""))


def _same_host(one: str, other: str) -> bool:
    return urlsplit(one).hostname == urlsplit(other).hostname
