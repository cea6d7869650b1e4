"""Where a provider of pydantic-ai asks, when it is not where it always does. What is asked there is not known here."""

import inspect
from collections.abc import Callable
from typing import Any

from pydantic_ai.providers import Provider, infer_provider, infer_provider_class

from donewhen.errors import BadInput
from donewhen.model.providers import checked_url

ADDRESSES = ("base_url", "api_base", "azure_endpoint")
"""What the providers of the library call the place where they ask."""


def provider_at(base_url: str) -> Callable[[str], Provider[Any]]:
    """How to make a provider of the library that asks at this address, or where it always does when there is none."""
    if not base_url:
        return infer_provider
    url = checked_url(base_url, "model.base_url")

    def made(name: str) -> Provider[Any]:
        kind = infer_provider_class(name)
        takes = inspect.signature(kind.__init__).parameters
        if address := next((one for one in ADDRESSES if one in takes), ""):
            return kind(**{address: url})
        provider = kind()
        if not hasattr(provider.client, "base_url"):
            raise BadInput(f"model.base_url has no effect on models of {name}")
        provider.client.base_url = url
        return provider

    return made
