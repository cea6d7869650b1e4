"""Opens a model by name, with its fallbacks: PROVIDER:NAME in the spelling of pydantic-ai, or `scripted:FILE`.

`auto` and `replay:SESSION` need data of a session and are not opened here. Code that only some models need is loaded
when such a model is opened.
"""

import os
from collections.abc import Mapping
from dataclasses import field, replace

from donewhen.errors import BadInput
from donewhen.model.clock import Clock
from donewhen.model.deadlines import Deadlines, RetryBudget
from donewhen.model.fallback import Fallback
from donewhen.model.interface import Model
from donewhen.model.name import ModelName
from donewhen.model.providers import PROVIDERS, is_same_provider
from donewhen.model.scripted import open_scripted
from donewhen.records import frozen


@frozen(kw_only=True)
class ModelConfig:
    base_url: str = ""
    base_url_for: str = ""
    """The provider that `base_url` belongs to; empty: that of the requested model. Other providers do not use it."""
    fallback: tuple[str, ...] = ()
    deadlines: Deadlines = field(default_factory=Deadlines)
    retry: RetryBudget = field(default_factory=RetryBudget)


DEFAULTS = ModelConfig()


def open_model(
    name: str,
    config: ModelConfig = DEFAULTS,
    environment: Mapping[str, str] = os.environ,
    clock: Clock | None = None,
) -> Model:
    """Return the model with its fallbacks. Raise `BadInput` if a name is wrong; nothing is sent yet."""
    clock = clock or Clock()
    names = (name, *config.fallback)
    models: list[Model] = []
    for place, one in enumerate(names):
        # A model that has a fallback is not retried.
        retry = config.retry if place == len(names) - 1 else replace(config.retry, per_turn=0)
        belongs = is_same_provider(ModelName.parse(one).provider, config.base_url_for or ModelName.parse(name).provider)
        base_url = config.base_url if belongs else ""
        models.append(_open(one, replace(config, base_url=base_url, retry=retry), environment, clock))
    return models[0] if len(models) == 1 else Fallback(tuple(models))


def _open(name: str, config: ModelConfig, environment: Mapping[str, str], clock: Clock) -> Model:
    provider, model = ModelName.parse(name)
    if provider == "scripted":
        return open_scripted(model, clock.pause)
    if not provider or not model or any(character.isspace() for character in name):
        raise BadInput(f"not a model: {name[:80]!r}; use PROVIDER:NAME, such as anthropic:claude-sonnet-5-5")
    if provider in PROVIDERS:
        from donewhen.model.native_models import open_native

        return open_native(name, config.base_url, (config.deadlines, config.retry), environment, clock)
    from donewhen.model.retries import Retries
    from donewhen.model.wires.pydantic import open_other

    return open_other(name, config.base_url, config.deadlines, Retries(config.retry, clock))
