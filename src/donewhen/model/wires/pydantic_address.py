"""A provider of pydantic-ai, made for one server and with its own variables only. What is asked is not known here."""

import inspect
import os
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any

from pydantic_ai.providers import Provider, infer_provider, infer_provider_class

from donewhen.errors import BadInput
from donewhen.model.providers import checked_url

ADDRESSES = ("base_url", "api_base", "azure_endpoint")
"""What the providers of the library call the place where they ask."""
OPENAI = "OPENAI_"
NOT_SENT = "OPENAI_API_VERSION"
"""Azure's provider reads it, and it is no secret."""


def provider_at(base_url: str) -> Callable[[str], Provider[Any]]:
    """How to make a provider of the library that asks at this address, or where it always does when there is none."""
    url = checked_url(base_url, "model.base_url") if base_url else ""

    def made(name: str) -> Provider[Any]:
        with _own_variables(name):
            return _at(name, url) if url else infer_provider(name)

    return made


def _at(name: str, url: str) -> Provider[Any]:
    kind = infer_provider_class(name)
    takes = inspect.signature(kind.__init__).parameters
    # The class of `gateway/NAME` is that of NAME, which would send its own key and not the gateway's.
    if not name.startswith("gateway/"):
        if address := next((one for one in ADDRESSES if one in takes), ""):
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
