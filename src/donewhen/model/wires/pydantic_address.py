"""Construction of a pydantic-ai provider for one server, with only its own variables, and the secrets it may send.

This module does not make requests.
"""

import inspect
import os
import re
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any

from pydantic_ai.providers import Provider, infer_provider, infer_provider_class

from donewhen.errors import BadInput
from donewhen.model.providers import checked_url, passwords

ADDRESSES = ("base_url", "api_base", "azure_endpoint")
"""Parameter names that the providers of the library use for their address."""
OPENAI = "OPENAI_"
NOT_SENT = "OPENAI_API_VERSION"
"""Not hidden: Azure's provider reads it, and it is not a secret."""
SECRET = re.compile(r"(?:KEY|TOKEN|SECRET|PASSWORD)(?:_ID)?$", re.IGNORECASE)
"""Names of variables that contain secrets. Each client of the library stores its key differently, some not readably, so
the values of all these variables count as secrets."""


def provider_at(base_url: str) -> Callable[[str], Provider[Any]]:
    """Return a factory for providers of the library that use this address, or their default if it is empty."""
    url = checked_url(base_url, "model.base_url") if base_url else ""

    def make_provider(name: str) -> Provider[Any]:
        with _own_variables(name):
            return _provider_at(name, url) if url else infer_provider(name)

    return make_provider


def secrets_at(base_url: str, library: object = None) -> frozenset[str]:
    """Return secrets that a server could repeat: the client's key, keys of the environment, a password."""
    provider = getattr(library, "provider", None)
    keys: list[object] = [getattr(one, "api_key", None) for one in (provider, getattr(library, "client", None))]
    named = [value.strip() for name, value in os.environ.items() if SECRET.search(name)]
    return frozenset({*named, *passwords(base_url), *(key for key in keys if isinstance(key, str))} - {""})


def _provider_at(name: str, url: str) -> Provider[Any]:
    kind = infer_provider_class(name)
    parameters = inspect.signature(kind.__init__).parameters
    # `gateway/NAME` has the class of NAME, which would send its own key instead of the gateway's.
    if not name.startswith("gateway/"):
        if address := next((one for one in ADDRESSES if one in parameters), ""):
            return kind(**{address: url})
        provider = kind()
        if hasattr(provider.client, "base_url"):
            provider.client.base_url = url
            return provider
    raise BadInput(f"model.base_url has no effect on models of {name}")


@contextmanager
def _own_variables(provider: str) -> Generator[None]:
    """Hide OpenAI's variables from other providers.

    Most use OpenAI's client, which sends OPENAI_CUSTOM_HEADERS, OPENAI_ORG_ID and OPENAI_PROJECT_ID to any server.
    """
    others = [name for name in os.environ if name.startswith(OPENAI) and name != NOT_SENT]
    hidden = {} if provider.startswith("openai") else {name: os.environ.pop(name) for name in others}
    try:
        yield
    finally:
        os.environ.update(hidden)
