"""Choice of the `auto` model from the configured ones and the verdicts on their earlier work. Pure functions.

Each candidate's probability to end verified is drawn from its history (Thompson sampling), so that a model with little
history is tried sometimes. The result is divided by the cost of a session with that model. This module does not know
where the history comes from or what the choice is used for.
"""

import random
from collections.abc import Collection, Mapping, Sequence
from statistics import fmean

from donewhen.model.providers import PROVIDERS
from donewhen.records import frozen

# Model names as of November 2026, the middle size of each provider; without history the first available one is used.
DEFAULTS: Mapping[str, str] = {
    "anthropic": "claude-sonnet-5-5",
    "openai": "gpt-6.1-terra",
    "google": "gemini-3.8-flash",
    "ollama": "qwen3-coder",
}

COST_OF_AN_ATTEMPT = 0.10
"""US dollars that every session costs besides its tokens: a person's time. Without it the cheapest model would always
win, however rarely it is right."""


@frozen
class Experience:
    """The result of one session with a model."""

    model: str
    verified: bool
    usd: float | None


@frozen
class Choice:
    model: str | None
    reason: str


def candidates(environment: Mapping[str, str]) -> tuple[str, ...]:
    """Return the default models of all providers for which the environment has a key (for Ollama: an address)."""
    return tuple(f"{provider}:{model}" for provider, model in DEFAULTS.items() if _is_set(provider, environment))


def _is_set(provider: str, environment: Mapping[str, str]) -> bool:
    return any(environment.get(variable, "").strip() for variable in _variables(provider))


def _variables(provider: str) -> tuple[str, ...]:
    known = PROVIDERS[provider]
    return known.key_variables if known.needs_key else known.url_variables


def choose(
    configured: Sequence[str], history: Sequence[Experience], seed: int, exclude: Collection[str] = ()
) -> Choice:
    """Return the model to use and the reason. An excluded model is used if there is no other."""
    if not configured:
        variables = [variable for provider in DEFAULTS for variable in _variables(provider)]
        return Choice(None, f"no model is configured: set one of {', '.join(variables)}")
    others = [model for model in configured if model not in exclude]
    choices = others or list(configured)
    note = "" if others or not exclude else "; another one was preferred, but there is none"
    rows = [row for row in history if row.model in choices]
    if len(choices) == 1:
        return Choice(
            choices[0],
            f"the only configured model{note}" if others == list(configured) else f"the only model left{note}",
        )
    if not rows:
        return Choice(choices[0], f"the first of {len(choices)} configured models; none has a history{note}")
    return _draw(choices, rows, random.Random(seed), note)


def _draw(choices: Sequence[str], rows: Sequence[Experience], generator: random.Random, note: str) -> Choice:
    prices = [row.usd for row in rows if row.usd is not None]
    mean_cost = fmean(prices) if prices else 0.0
    scores: dict[str, float] = {}
    for model in choices:
        sessions = [row for row in rows if row.model == model]
        verified = sum(row.verified for row in sessions)
        probability = generator.betavariate(1 + verified, 1 + len(sessions) - verified)
        scores[model] = probability / (COST_OF_AN_ATTEMPT + _cost(sessions, mean_cost))
    best = max(choices, key=scores.__getitem__)
    return Choice(best, f"{_history_of(best, rows)}{note}")


def _cost(sessions: Sequence[Experience], mean_cost: float) -> float:
    """Return the mean cost of a session. Without known prices: the mean of the others, so that it is not free."""
    known = [row.usd for row in sessions if row.usd is not None]
    return fmean(known) if known else mean_cost


def _history_of(model: str, rows: Sequence[Experience]) -> str:
    sessions = [row for row in rows if row.model == model]
    if not sessions:
        return "tried because it has no history yet"
    known = [row.usd for row in sessions if row.usd is not None]
    price = f" at {fmean(known):.2f} USD each" if known else ""
    return f"{sum(row.verified for row in sessions)} of {len(sessions)} sessions with it were verified{price}"
