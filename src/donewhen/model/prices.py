"""What a turn cost, from the price list that is installed; nothing is fetched. No price known means None, never 0."""

import importlib
import sys

from donewhen.model.base import Usage

FREE = ("scripted", "replay", "ollama")
"""Providers whose models cost nothing, whatever they do. Their turns have no price all the same: none was looked up."""

_unpriced: set[tuple[str, str]] = set()
"""A name that is in no list is looked for in all of it, so it is looked for once."""


def is_free(model: str) -> bool:
    """Whether a model, PROVIDER:NAME, is known to cost nothing."""
    return model.partition(":")[0] in FREE


def is_loaded() -> bool:
    return "genai_prices" in sys.modules


def load() -> None:
    """Costs a good part of a second; from any thread, while something else is waited for."""
    importlib.import_module("genai_prices")


def cost_usd(provider: str, model: str, usage: Usage) -> float | None:
    """US dollars; None for a provider or model without a price, and when the server did not say what was used."""
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
        pass  # counts that contradict each other, such as more tokens from the cache than there were
    return None
