"""Who works on a session: the only file that names concrete engines and models."""

import os
from collections.abc import Mapping
from functools import partial
from typing import cast

from donewhen.engines.base import Engine
from donewhen.errors import BadInput
from donewhen.model.base import Model
from donewhen.session.attempting import Rung
from donewhen.session.opened import Opened
from donewhen.session.session import Crew
from donewhen.session.settings import Settings
from donewhen.session.story import Story
from donewhen.session.workplace import Workplace
from donewhen.storage.archive import Archive

FREE = ("scripted", "replay", "ollama")
"""Models that cost nothing, whatever they do."""
ENGINES = ("auto", "native", "external", "foreman", "planned")
BUILT = ("auto", "native")


def settled(settings: Settings) -> Settings:
    """The settings with names made independent of where the program was called."""
    chosen = settings.get("model", "use")
    provider, _, name = str(chosen.value).partition(":")
    if provider == "scripted" and name:
        return settings.with_value("model", "use", f"scripted:{os.path.abspath(name)}", chosen.source)
    return settings


def require_possible(settings: Settings, archive: Archive) -> None:
    """Refuse an engine or a model that cannot work here, before anything is started."""
    engine = settings.text("engine", "use")
    kind = engine.partition(":")[0]
    with settings.blaming("engine", "use"):
        if kind not in ENGINES or (kind in BUILT and ":" in engine):
            raise BadInput(f"'{engine}' is not an engine; known are {', '.join(ENGINES)}")
        if kind not in BUILT:
            raise BadInput(f"the engine '{kind}' is not part of this version; use native")
    for key in ("max_iterations", "max_turns", "max_tokens_per_turn"):
        with settings.blaming("native", key):
            if settings.whole("native", key) < 1:
                raise BadInput(f"'native.{key}' must be 1 or more")
    _model(settings, archive, os.environ)


def crew(place: Workplace, known: Opened, story: Story, archive: Archive) -> Crew:
    """The engines in their order, with the model that was asked for or that promises most."""
    from donewhen.model.closing import close_model

    settings = known.settings
    model, reason = _model(settings, archive, os.environ, story.model, known.session)
    rung = Rung(
        name="native",
        engine=_native(place, settings, model),
        reason="it was asked for" if settings.text("engine", "use") == "native" else "the only engine of this version",
        max_iterations=settings.whole("native", "max_iterations"),
        max_turns=settings.whole("native", "max_turns"),
    )
    free = model.name.partition(":")[0] in FREE
    return Crew(rungs=(rung,), model=model.name, reason=reason, free=free, leave=partial(close_model, model))


def _native(place: Workplace, settings: Settings, model: Model) -> Engine:
    from donewhen.engines.native.loop import Context, NativeConfig, NativeEngine
    from donewhen.workspace.policy import Policy

    policy = Policy.load(
        deny=settings.texts("policy", "deny"), ask=settings.texts("policy", "ask"), root=str(place.repo.root)
    )
    config = NativeConfig(
        max_tokens_per_turn=settings.whole("native", "max_tokens_per_turn"),
        context=cast("Context", settings.text("engine", "context")),
        policy=policy,
    )
    return NativeEngine(model, config)


def _model(
    settings: Settings, archive: Archive, environment: Mapping[str, str], before: str = "", seed: str = ""
) -> tuple[Model, str]:
    """The model, and why it is this one. A session that goes on keeps the one it began with."""
    from donewhen.model.choose import ModelConfig, open_model

    wanted = settings.get("model", "use")
    name, reason = str(wanted.value), f"{wanted.source} asks for it"
    if name == "auto":
        name, reason = (before, "the session began with it") if before else _best(archive, environment, seed)
    with settings.blaming("model", "use"):
        if name.startswith("replay:"):
            return _replay(archive, name), reason
        config = ModelConfig(base_url=settings.text("model", "base_url"), fallback=settings.texts("model", "fallback"))
        return open_model(name, config, environment), reason


def _best(archive: Archive, environment: Mapping[str, str], seed: str) -> tuple[str, str]:
    from donewhen.model.router import candidates, choose
    from donewhen.session.history import outcomes_by_model

    chosen = choose(candidates(environment), outcomes_by_model(archive), seed=int(seed or "0", 16))
    if chosen.model is None:
        raise BadInput(f"{chosen.reason}; without a model there is: donewhen demo")
    return chosen.model, chosen.reason


def _replay(archive: Archive, name: str) -> Model:
    from donewhen.session.history import recorded_turns

    return recorded_turns(archive, name)
