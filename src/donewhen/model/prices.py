"""Cost of a turn from the installed price list; nothing is downloaded. An unknown price is None, never 0."""

import importlib
import sys

from donewhen.model.interface import Usage
from donewhen.model.name import ModelName

FREE = ("scripted", "replay", "ollama")
"""Providers whose models are always free. The price of their turns is still None, because none is looked up."""

_unpriced: set[tuple[str, str]] = set()
"""Names that are in no list. Searching for such a name reads the whole list, so it is done once."""


def is_free(model: str) -> bool:
    """Return True if a model, PROVIDER:NAME, is known to be free."""
    return ModelName.parse(model).provider in FREE


def is_loaded() -> bool:
    return "genai_prices" in sys.modules


def load() -> None:
    """Load the price list. This takes a large part of a second; call it from any thread while waiting."""
    importlib.import_module("genai_prices")


def cost_usd(provider: str, model: str, usage: Usage) -> float | None:
    """Return US dollars; None for a provider or model without a price, or if the server did not report the usage."""
    if not provider or not usage.total or (provider, model) in _unpriced:
        return None
    import genai_prices

    used = genai_prices.Usage(
        input_tokens=usage.input,
        output_tokens=usage.output,
        cache_read_tokens=usage.cache_read or None,
        cache_write_tokens=usage.cache_write or None,
    )
    try:
        return float(genai_prices.calc_price(used, model, provider_id=provider).total_price) or None
    except LookupError:
        _unpriced.add((provider, model))
    except ValueError:
        pass  # contradictory counts, such as more cached tokens than tokens
    return None
