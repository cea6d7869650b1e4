"""A model by its name, PROVIDER:NAME as pydantic-ai spells it, or `scripted:FILE`; with its fallbacks behind it.

`auto` and `replay:SESSION` need what only a session knows, and are not opened here. What only some models need is
loaded when such a model is opened.
"""

import os
from collections.abc import Mapping
from dataclasses import field, replace

from donewhen.errors import BadInput
from donewhen.model.base import Model
from donewhen.model.fallback import Fallback
from donewhen.model.limits import Deadlines, RetryBudget
from donewhen.model.outside import Outside
from donewhen.model.providers import PROVIDERS, same_provider
from donewhen.model.scripted import open_scripted
from donewhen.records import frozen


@frozen(kw_only=True)
class ModelConfig:
    base_url: str = ""
    base_url_for: str = ""
    """The provider whose server `base_url` is; empty: that of the model asked for. Other providers do not use it."""
    fallback: tuple[str, ...] = ()
    deadlines: Deadlines = field(default_factory=Deadlines)
    retry: RetryBudget = field(default_factory=RetryBudget)


DEFAULTS = ModelConfig()


def open_model(
    name: str,
    config: ModelConfig = DEFAULTS,
    environment: Mapping[str, str] = os.environ,
    outside: Outside | None = None,
) -> Model:
    """The model and what stands in for it. `BadInput` names what is wrong; nothing is sent yet."""
    outside = outside or Outside()
    names = (name, *config.fallback)
    models: list[Model] = []
    for place, one in enumerate(names):
        # Whoever has another to fall back on need not insist.
        retry = config.retry if place == len(names) - 1 else replace(config.retry, per_turn=0)
        belongs = same_provider(_provider(one), config.base_url_for or _provider(name))
        base_url = config.base_url if belongs else ""
        models.append(_open(one, replace(config, base_url=base_url, retry=retry), environment, outside))
    return models[0] if len(models) == 1 else Fallback(tuple(models))


def _provider(name: str) -> str:
    return name.partition(":")[0]


def _open(name: str, config: ModelConfig, environment: Mapping[str, str], outside: Outside) -> Model:
    provider, _, model = name.partition(":")
    if provider == "scripted":
        return open_scripted(model, outside.pause)
    if not provider or not model or any(character.isspace() for character in name):
        raise BadInput(f"not a model: {name[:80]!r}; a model is PROVIDER:NAME, as in anthropic:claude-sonnet-5-5")
    if provider in PROVIDERS:
        from donewhen.model.own_wires import open_wired

        return open_wired(name, config.base_url, (config.deadlines, config.retry), environment, outside)
    from donewhen.model.retrying import Retries
    from donewhen.model.wires.pydantic import open_other

    return open_other(name, config.base_url, config.deadlines, Retries(config.retry, outside))
