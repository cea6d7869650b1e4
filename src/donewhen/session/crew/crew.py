"""The crew of a session. This is the only module that creates engines and models.

An engine that was asked for is the first ladder step. After it come the engines that can continue its work. If no
engine is named, the choice depends on what is ready and on how complex the intent looks. The latter is only a guess
from the words of the intent.
"""

import os
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, cast

from donewhen.engines.interface import Engine
from donewhen.engines.spec import EngineKind, EngineSpec, Role
from donewhen.errors import BadInput
from donewhen.model.interface import Model
from donewhen.model.name import ModelName
from donewhen.model.prices import is_free
from donewhen.model.providers import checked_url
from donewhen.session.check.command_policy import policy_of
from donewhen.session.check.engine_sandbox import without_network
from donewhen.session.log.loop_record import LoopRecord
from donewhen.session.log.start_record import StartRecord, is_planned
from donewhen.session.log.state import SessionState
from donewhen.session.loop.round import LadderStep
from donewhen.session.session import Crew
from donewhen.session.settings.model_server import server_of
from donewhen.session.settings.schema import TABLES
from donewhen.session.settings.settings import Settings
from donewhen.session.workplace import Workplace
from donewhen.storage.archive import Archive

if TYPE_CHECKING:
    from donewhen.engines.external.run.agent_environment import AgentLaunchSpec
    from donewhen.session.planned.evaluator import EvaluatorConfig

OF_LOOP = "loop '"
"""The first letters of the source of what a loop sets."""
MANY_WORDS = 120
MANY_ITEMS = 3
WIDE = re.compile(
    r"\b(refactor\w*|re-?writ\w+|redesign\w*|re-?architect\w*|architecture|migrat\w+|port(?:ing)? (?:it |this )?to|"
    r"convert \w+ to|overhaul\w*|end[- ]to[- ]end|from scratch|across|throughout|every(?:where| module| file)|"
    r"all (?:modules|files|packages|services|callers)|multiple (?:files|modules|services)|several (?:files|modules))\b",
    re.IGNORECASE,
)
ITEM = re.compile(r"^[ \t]*(?:[-*•]|\d+[.)])\s+\S", re.MULTILINE)


def looks_complex(intent: str) -> bool:
    """Return True if the intent looks wide in scope, is long, or is a list of several things."""
    return (
        len(intent.split()) > MANY_WORDS or len(ITEM.findall(intent)) >= MANY_ITEMS or WIDE.search(intent) is not None
    )


NAMES_OF_ENGINES: Mapping[tuple[str, str], Role] = {
    ("engine", "use"): "engine",
    ("foreman", "worker"): "worker",
    ("planned", "builder"): "builder",
}
"""Settings that name an engine, and its role."""
PLANNER_TEMPERATURE, EVALUATOR_TEMPERATURE = 0.2, 0.1
_Chosen = tuple[Model, str] | BadInput
"""The model and why it was chosen, or why there is none."""


def absolute_model_paths(settings: Settings) -> Settings:
    """Return the settings with the paths of scripted models made absolute, independent of the current directory."""
    for table, key in (("model", "use"), ("planned", "evaluator_model")):
        chosen = settings.get(table, key)
        provider, name = ModelName.parse(str(chosen.value))
        if provider == "scripted" and name:
            settings = settings.with_value(table, key, f"scripted:{os.path.abspath(name)}", chosen.source)
    return settings


def require_valid(settings: Settings) -> None:
    """Raise BadInput for an engine, an agent or a limit that cannot be used."""
    for table, key in NAMES_OF_ENGINES:
        with settings.naming_source(table, key):
            _require_agents(settings, _spec(settings, table, key))
    for table, keys in TABLES.items():
        for key, spec in keys.items():
            with settings.naming_source(table, key):
                if spec.least and settings.number(table, key) < spec.least:
                    raise BadInput(f"'{table}.{key}' must be {spec.least} or more")
    if mcp_url := settings.text("external", "mcp_url"):
        with settings.naming_source("external", "mcp_url"):
            checked_url(mcp_url, "external.mcp_url")


def _spec(settings: Settings, table: str, key: str) -> EngineSpec:
    return EngineSpec.parse(settings.text(table, key), NAMES_OF_ENGINES[table, key])


def _require_agents(settings: Settings, spec: EngineSpec) -> None:
    """Raise BadInput if an agent that is named anywhere in the name of an engine is unknown."""
    from donewhen.session.crew import agent_list

    known = agent_list.profiles(settings) if spec.agent else {}
    if spec.agent and spec.agent not in known:
        raise BadInput(f"unknown agent '{spec.agent}'; use {', '.join(known)}")
    if spec.inner is not None:
        _require_agents(settings, spec.inner)


async def require_possible(workplace: Workplace, intent: str, archive: Archive, loop: LoopRecord | None = None) -> None:
    """Raise BadInput if no engine could work, before anything is written."""
    require_valid(workplace.settings)
    chosen = _model_if_any(workplace.settings, archive)
    if is_planned(workplace.settings):
        if isinstance(chosen, BadInput):
            raise BadInput(f"a planner needs a model: {chosen}")
        _evaluator(workplace, chosen[0])
    await _steps(workplace, _spec(workplace.settings, "engine", "use"), intent, chosen)
    try:
        await _checker(workplace, loop, chosen)
    except BadInput as error:
        raise BadInput(f"the checker cannot work: {error}") from error


async def crew(workplace: Workplace, start_record: StartRecord, state: SessionState, archive: Archive) -> Crew:
    """Return the engines in their order, with the model that was asked for or the most promising one."""
    from donewhen.model.interface import close_model

    if start_record.reads_only:
        workplace = replace(workplace, settings=without_network(workplace.settings), agent_tools=None)
    chosen = _model_if_any(start_record.settings, archive, state.model, start_record.session)
    steps = await _steps(
        workplace, _spec(workplace.settings, "engine", "use"), start_record.intent, chosen, state.agent
    )
    if start_record.reads_only:
        steps = tuple(map(_reading, steps))
    checker, checker_models = await _checker(workplace, start_record.loop, chosen)
    opened = list(checker_models)

    async def close() -> None:
        for one in opened:
            await close_model(one)

    if isinstance(chosen, BadInput):
        return Crew(steps=steps, model=None, reason="", free=False, close=close, checker=checker)
    model, reason = chosen
    evaluator, extra_models = _evaluator(workplace, model) if is_planned(start_record.settings) else (None, ())
    opened += (model, *extra_models)
    loop = start_record.loop
    agent_checks = loop is not None and EngineKind.of(loop.checker_engine) is EngineKind.EXTERNAL
    agent_works = any(step.agent for step in steps if step.engine)
    free = all(is_free(one.name) for one in opened) and not agent_works and not agent_checks

    planner = _native(workplace, start_record.settings, model, reads_only=True, temperature=PLANNER_TEMPERATURE)
    return Crew(
        steps=steps,
        model=model.name,
        reason=reason,
        free=free,
        close=close,
        planner=planner,
        evaluator=evaluator,
        checker=checker,
    )


async def _checker(
    workplace: Workplace, loop: LoopRecord | None, chosen: _Chosen
) -> tuple[Engine | None, tuple[Model, ...]]:
    """Return the second agent of a loop round, and the models that were opened for it."""
    if loop is None:
        return None, ()
    workplace = replace(workplace, agent_tools=None)  # a checker needs no tools but its own
    spec, settings = EngineSpec.parse(loop.checker_engine, "engine"), workplace.settings
    if spec.kind is EngineKind.EXTERNAL:
        if loop.checker_model:
            settings = settings.with_value("model", "use", loop.checker_model, "the loop")
            workplace = replace(workplace, settings=settings)
        _require_agents(settings, spec)
        (step,) = await _external(workplace, spec.agent, asked=True)
        if step.engine is None:
            raise BadInput(step.reason)
        return step.engine, ()
    if loop.checker_model:
        from donewhen.model.open_model import ModelConfig, open_model

        server = server_of(settings, ModelName.parse(loop.checker_model).provider)
        model = open_model(
            loop.checker_model, ModelConfig(base_url=server.url, base_url_for=server.provider), os.environ
        )
        return _native(workplace, settings, model, reads_only=True), (model,)
    if isinstance(chosen, BadInput):
        raise chosen
    return _native(workplace, settings, chosen[0], reads_only=True), ()


def _reading(step: LadderStep) -> LadderStep:
    """Return a ladder step whose engine only reads. An agent gets a tree that it cannot write to."""
    from donewhen.engines.native.loop import NativeEngine

    if not isinstance(step.engine, NativeEngine):
        return step
    return replace(step, engine=replace(step.engine, config=replace(step.engine.config, reads_only=True)))


def _evaluator(workplace: Workplace, model: Model) -> tuple["EvaluatorConfig", tuple[Model, ...]]:
    """Return the evaluator, with its own model if one is configured, and the models that were opened for it."""
    from donewhen.model.open_model import ModelConfig, open_model
    from donewhen.session.planned.evaluator import EvaluatorConfig

    settings, extra_models = workplace.settings, ()
    if name := settings.text("planned", "evaluator_model"):
        server = server_of(settings, ModelName.parse(name).provider)
        with settings.naming_source("planned", "evaluator_model"):
            model = open_model(name, ModelConfig(base_url=server.url, base_url_for=server.provider), os.environ)
            extra_models = (model,)
    engine = _native(workplace, settings, model, reads_only=True, temperature=EVALUATOR_TEMPERATURE)
    revisions = settings.whole("planned", "max_revision_rounds")
    return EvaluatorConfig(engine=engine, model=model.name, revisions=revisions), extra_models


def _model_if_any(settings: Settings, archive: Archive, before: str = "", seed: str = "") -> _Chosen:
    """Return the model, or the reason why there is none: agents can still work without one.

    Raise BadInput at once if a model was named and cannot be used, or if the native engine was asked for.
    """
    try:
        return _model(settings, archive, os.environ, before, seed)
    except BadInput as error:
        if settings.text("engine", "use") == EngineKind.NATIVE or settings.text("model", "use") != "auto":
            raise
        return error


async def _steps(
    workplace: Workplace, spec: EngineSpec, intent: str, chosen: _Chosen, before: str = ""
) -> tuple[LadderStep, ...]:
    settings, kind = workplace.settings, spec.kind
    if kind is EngineKind.PLANNED:
        builder = spec.inner or _spec(settings, "planned", "builder")
        return tuple(_with_plan(step) for step in await _steps(workplace, builder, intent, chosen, before))
    steps: list[LadderStep] = []
    may_use_agent = kind in (EngineKind.AUTO, EngineKind.FOREMAN) and _may_use_agent(settings, intent, chosen)
    if kind is EngineKind.FOREMAN or (may_use_agent and not isinstance(chosen, BadInput)):
        steps += await _foreman(workplace, spec, chosen, before)
    has_agent = any(step.kind is EngineKind.EXTERNAL for step in steps)
    if kind is EngineKind.EXTERNAL or (may_use_agent and not has_agent):
        steps += await _external(workplace, spec.agent or before, asked=kind is EngineKind.EXTERNAL)
    if not isinstance(chosen, BadInput):
        steps.append(_native_step(workplace, kind, chosen[0]))
    elif not any(step.engine for step in steps):
        # Why a requested agent cannot work is more useful than the list of everything that would help.
        raise BadInput("; ".join([*(step.reason for step in steps), str(chosen)]))
    return tuple(steps)


def _with_plan(step: LadderStep) -> LadderStep:
    """Return a ladder step whose engine works from the plan."""
    from donewhen.engines.planned.engine import PlannedEngine

    return replace(step, engine=PlannedEngine(step.engine, step.kind.tracker_mode) if step.engine else None)


def _may_use_agent(settings: Settings, intent: str, chosen: _Chosen) -> bool:
    """Return True if an agent is worth looking for although none was asked for."""
    if isinstance(chosen, BadInput):
        return True
    return ModelName.parse(settings.text("model", "use")).has_server and looks_complex(intent)


async def _external(workplace: Workplace, name: str, asked: bool) -> list[LadderStep]:
    """Return the named agent, ready or not; else the first one that can work, if any."""
    from donewhen.session.crew import agent_list
    from donewhen.session.crew.agent_terms import AgentUnavailable, launch_spec

    profiles = agent_list.profiles(workplace.settings)
    refused: list[AgentUnavailable] = []
    for candidate in [name] if name else profiles:
        (one,) = await agent_list.find_agents(
            workplace.settings, workplace.repo.root, os.environ, workplace.launcher, only=candidate
        )
        spec = launch_spec(profiles[one.name], one, workplace, os.environ)
        if not isinstance(spec, AgentUnavailable):
            by_name = _asked(workplace.settings) if name else "it is ready"
            why = by_name if asked else "the intent looks complex"
            return [_external_step(workplace, spec, f"{one.name}: {why}")]
        refused.append(spec)
    if not asked:
        return []
    first = next((one for one in refused if one.kind == "sign_in"), refused[0]) if refused else None
    if first is None or not name:
        reason = "no agent is ready; see: donewhen agents"
        return [LadderStep(kind=EngineKind.EXTERNAL, engine=None, reason=reason, declines="not_ready")]
    return [LadderStep(kind=EngineKind.EXTERNAL, engine=None, reason=first.reason, declines=first.kind, agent=name)]


async def _foreman(workplace: Workplace, spec: EngineSpec, chosen: _Chosen, before: str) -> list[LadderStep]:
    """Return the foreman, and after it the agent that its workers use, if they use one. The planner needs a model."""
    worker = spec.inner or _spec(workplace.settings, "foreman", "worker")
    has_agents = worker.kind is EngineKind.EXTERNAL
    agents = await _external(workplace, worker.agent or before, asked=True) if has_agents else []
    if isinstance(chosen, BadInput):
        reason = "a planner needs a model, and none is ready"
        return [LadderStep(kind=EngineKind.FOREMAN, engine=None, reason=reason, declines="not_ready"), *agents]
    worker_step = agents[0] if agents else _native_step(workplace, spec.kind, chosen[0])
    if worker_step.engine is None:
        return [replace(worker_step, kind=EngineKind.FOREMAN)]
    why = "the intent looks complex" if spec.kind is EngineKind.AUTO else _asked(workplace.settings)
    return [_foreman_step(workplace, worker_step, worker_step.engine, chosen[0], why), *agents]


def _foreman_step(workplace: Workplace, worker_step: LadderStep, worker: Engine, model: Model, why: str) -> LadderStep:
    from donewhen.engines.foreman.engine import ForemanConfig, ForemanEngine

    settings = workplace.settings
    config = ForemanConfig(
        workers=settings.whole("foreman", "workers"),
        plan_attempts=settings.whole("foreman", "plan_attempts"),
        max_turns=worker_step.max_turns,
    )
    planner = _native(workplace, settings, model, reads_only=True)
    return LadderStep(
        kind=EngineKind.FOREMAN,
        engine=ForemanEngine(planner, worker, config),
        reason=f"{why}; its workers are {worker_step.agent or worker_step.kind}",
        max_iterations=1,
        max_turns=worker_step.max_turns,
        agent=worker_step.agent,
    )


def _external_step(workplace: Workplace, spec: "AgentLaunchSpec", reason: str) -> LadderStep:
    from donewhen.engines.external.engine import ExternalConfig, ExternalEngine

    settings = workplace.settings
    config = ExternalConfig(
        policy=policy_of(workplace, settings), timeout_secs=settings.number("external", "timeout_secs")
    )
    return LadderStep(
        kind=EngineKind.EXTERNAL,
        engine=ExternalEngine(spec, config),
        reason=reason,
        max_iterations=1 + settings.whole("external", "repair_invokes"),
        max_turns=settings.whole("external", "max_turns"),
        agent=spec.profile.name,
    )


def _asked(settings: Settings) -> str:
    """Return who asked for the engine: in a loop round it is the loop, which names one or has the default."""
    source = settings.get("engine", "use").source
    return f"{source} asks for it" if source.startswith(OF_LOOP) else "you asked for it"


def _native_step(workplace: Workplace, wanted: EngineKind, model: Model) -> LadderStep:
    settings = workplace.settings
    reasons = {EngineKind.NATIVE: _asked(settings), EngineKind.AUTO: "a model is configured"}
    return LadderStep(
        kind=EngineKind.NATIVE,
        engine=_native(workplace, settings, model),
        reason=reasons.get(wanted, "it is the next engine that can continue"),
        max_iterations=settings.whole("native", "max_iterations"),
        max_turns=settings.whole("native", "max_turns"),
    )


def _native(
    workplace: Workplace, settings: Settings, model: Model, reads_only: bool = False, temperature: float = 0
) -> Engine:
    from donewhen.engines.native.loop import Context, NativeConfig, NativeEngine

    config = NativeConfig(
        max_tokens_per_turn=settings.whole("native", "max_tokens_per_turn"),
        context=cast("Context", settings.text("engine", "context")),
        policy=policy_of(workplace, settings),
        reads_only=reads_only,
        temperature=temperature,
    )
    return NativeEngine(model, config)


def _model(
    settings: Settings, archive: Archive, environment: Mapping[str, str], before: str = "", seed: str = ""
) -> tuple[Model, str]:
    """Return the model and why it was chosen. With `auto`, a resumed session keeps its model."""
    from donewhen.model.open_model import ModelConfig, open_model

    wanted = settings.get("model", "use")
    name, reason = str(wanted.value), f"{wanted.source} asks for it"
    if name == "auto":
        name, reason = (before, "the session began with it") if before else _best(archive, environment, seed)
    fallback = settings.texts("model", "fallback")
    server = server_of(settings, *(ModelName.parse(one).provider for one in (name, *fallback)))
    with settings.naming_source("model", "use"):
        if ModelName.parse(name).provider == "replay":
            return _replay(archive, name), reason
        config = ModelConfig(base_url=server.url, base_url_for=server.provider, fallback=fallback)
        return open_model(name, config, environment), reason


def _best(archive: Archive, environment: Mapping[str, str], seed: str) -> tuple[str, str]:
    from donewhen.model.router import candidates, choose
    from donewhen.session.crew.model_history import outcomes_by_model

    chosen = choose(candidates(environment), outcomes_by_model(archive), seed=int(seed or "0", 16))
    if chosen.model is None:
        raise BadInput(
            f"{chosen.reason}, or install an agent (see: donewhen agents); without either, try: donewhen demo"
        )
    return chosen.model, chosen.reason


def _replay(archive: Archive, name: str) -> Model:
    from donewhen.session.crew.model_history import recorded_turns

    return recorded_turns(archive, name)
