"""Costs come from the installed price list; an unknown model has no cost, which is not zero."""

import pytest

from donewhen.model.interface import Usage
from donewhen.model.prices import cost_usd


@pytest.mark.parametrize(
    ("provider", "model"), [("anthropic", "claude-sonnet-4-5"), ("openai", "gpt-4.1"), ("google", "gemini-2.5-pro")]
)
def test_a_known_model_has_a_price_and_the_cache_makes_it_lower(provider: str, model: str) -> None:
    plain = cost_usd(provider, model, Usage(10_000, 100))
    cached = cost_usd(provider, model, Usage(10_000, 100, cache_read=9_000))
    assert plain is not None
    assert cached is not None
    assert 0 < cached < plain < 1


@pytest.mark.parametrize(
    ("provider", "model", "usage"),
    [
        ("openai", "no-such-model", Usage(10, 10)),
        ("no-such-provider", "gpt-4.1", Usage(10, 10)),
        ("", "llama3", Usage(10, 10)),
        ("openai", "gpt-4.1", Usage()),
        ("openai", "gpt-4.1", Usage(1, 1, cache_read=50)),
    ],
    ids=["model", "provider", "local", "no usage", "usage that contradicts itself"],
)
def test_an_unknown_price_is_none_and_never_zero(provider: str, model: str, usage: Usage) -> None:
    assert cost_usd(provider, model, usage) is None
    assert cost_usd(provider, model, usage) is None
