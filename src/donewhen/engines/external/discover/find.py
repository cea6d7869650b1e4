"""Discovery of agents: which are installed, and whether they are ready (a program that runs, a route to a model).

A program that the user has pinned is the only candidate, even if it is broken. Otherwise every program of the right
name on PATH is asked for its version until one answers. `programs` knows where a program may be, `probe` asks it,
`readiness` checks what else it needs. No agent works here.
"""

import contextlib
import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple

import anyio

from donewhen.engines.external.discover import probe, programs
from donewhen.engines.external.discover.probe import ProbeCache, VersionAnswer, VersionQuery
from donewhen.engines.external.discover.profile import AgentInterface, Governance, Profile
from donewhen.engines.external.discover.programs import ProgramLocation
from donewhen.engines.external.discover.readiness import ANY_MODEL, ModelChoice, readiness
from donewhen.records import frozen

if TYPE_CHECKING:
    from donewhen.workspace.process.launch import Launcher

Status = Literal["ready", "not_configured", "expired", "not_executable", "missing"]
CACHE = "agents.json"
AT_ONCE = max(1, min(4, os.cpu_count() or 1))
"""Starting an agent just for its version takes seconds: more of them at a time than processors would only run late."""


@frozen(kw_only=True)
class FoundAgent:
    name: str
    title: str
    version: str
    """Empty if it is not known."""
    program: str
    """Path of the program that would be started; empty if none was found."""
    begins_with: str = ""
    """For an agent that is a command: the program that the shell would start first."""
    way: str
    """The kind of its interface: `acp` or `cli`."""
    governance: Governance
    status: Status
    reason: str
    provider: str = ""
    """Provider whose key is used; empty for an account, and for agents that need neither."""
    key: str = ""
    """Name of the variable that holds the key; never its value."""
    counted: str = ""

    @property
    def ready(self) -> bool:
        return self.status == "ready"


@frozen
class AgentQuery:
    """An agent to look for."""

    profile: Profile
    pin: str = ""
    """Path of its program, if the user has pinned it."""
    command: str = ""
    """The command, for an agent that is only a command."""


@frozen(kw_only=True)
class DiscoveryContext:
    """Where to look, and which clock to use."""

    environment: Mapping[str, str]
    state: Path
    """Private directory for the cache of answers."""
    repository: Path | None = None
    model: ModelChoice = ANY_MODEL
    now: Callable[[], float] = time.time
    timeout_secs: float = field(default_factory=probe.default_timeout)

    @property
    def path(self) -> str:
        return self.environment.get("PATH", "")


async def find(
    queries: Iterable[AgentQuery], context: DiscoveryContext, launcher: "Launcher | None" = None
) -> list[FoundAgent]:
    """Return the agents, in the order of the queries. A launcher is opened only if none is given and a program must be
    asked."""
    queries = list(queries)
    cache = ProbeCache(context.state / CACHE, context.now())
    results: list[FoundAgent | None] = [None] * len(queries)
    async with contextlib.AsyncExitStack() as stack:
        asker = _Asker(context, cache, stack, launcher)

        async def find_one(number: int) -> None:
            results[number] = await _find_one(queries[number], context, asker)

        async with anyio.create_task_group() as group:
            for number in range(len(queries)):
                group.start_soon(find_one, number)
    cache.add(asker.new, context.now())
    return [found for found in results if found is not None]


@dataclass(slots=True)
class _Asker:
    """Asks programs for their versions, a few at a time; recent answers are not asked for again."""

    context: DiscoveryContext
    cache: ProbeCache
    stack: contextlib.AsyncExitStack
    launcher: "Launcher | None"
    new: dict[str, VersionAnswer] = field(default_factory=dict[str, VersionAnswer])
    _asking: anyio.Semaphore = field(default_factory=lambda: anyio.Semaphore(AT_ONCE))
    _opening: anyio.Lock = field(default_factory=anyio.Lock)

    async def ask(self, question: VersionQuery) -> VersionAnswer:
        try:
            key = probe.key(question, self.context.environment)
        except OSError as error:
            return VersionAnswer("", f"cannot be read: {error.strerror}")
        answer = self.cache.get(key) or self.new.get(key)
        if answer is None:
            launcher = await self._open_launcher()
            async with self._asking:
                answer = await probe.ask(launcher, question, self.context.environment, self.context.timeout_secs)
            self.new[key] = answer
        return answer

    async def _open_launcher(self) -> "Launcher":
        async with self._opening:
            if self.launcher is None:
                from donewhen.workspace.process.launch import Launcher  # cached answers do not need it

                self.launcher = await self.stack.enter_async_context(Launcher.open())
        return self.launcher


class _Candidate(NamedTuple):
    kind: str
    interface: AgentInterface
    location: ProgramLocation
    answer: VersionAnswer


async def _find_one(query: AgentQuery, context: DiscoveryContext, asker: _Asker) -> FoundAgent:
    if query.command:
        return _command(query, context)
    tried: list[_Candidate] = []
    for kind, interface, location in _candidates(query, context):
        # A program inside the repository is never started on the host, not even for its version.
        if location.problem or programs.is_inside(location.path, context.repository):
            answer = VersionAnswer("", location.problem)
        else:
            answer = await asker.ask(_version_query(query.profile, interface, location))
        tried.append(_Candidate(kind, interface, location, answer))
        if not answer.trouble:
            ready = readiness(query.profile, context.environment, context.now(), context.model)
            return _found(
                query.profile, kind, ready.status, ready.reason,
                version=answer.version, program=location.path, provider=ready.provider, key=ready.key,
            )  # fmt: skip
    return _not_running(query, tried)


def _candidates(query: AgentQuery, context: DiscoveryContext) -> Iterator[tuple[str, AgentInterface, ProgramLocation]]:
    """Yield what may be started, the preferred interface first; a pinned program is the only one."""
    interfaces = query.profile.interfaces
    if query.pin:
        kind = _kind_for(query.pin, interfaces)
        yield kind, interfaces[kind], programs.pinned(query.pin)
        return
    for kind, interface in interfaces.items():
        for location in programs.on_path(interface.program, context.path, context.repository):
            yield kind, interface, location


def _kind_for(pin: str, interfaces: Mapping[str, AgentInterface]) -> str:
    """Return the first interface that starts a program of this name; any other name counts as the agent's own
    program."""
    own = interfaces.get("cli", next(iter(interfaces.values()))).program
    for name in (os.path.basename(pin), own):
        for kind, interface in interfaces.items():
            if interface.program == name:
                return kind
    raise AssertionError("its program belongs to one of its interfaces")


def _version_query(profile: Profile, interface: AgentInterface, location: ProgramLocation) -> VersionQuery:
    env = {**profile.env, **interface.env}
    return VersionQuery(
        program=location.path, arguments=profile.version, env=env, package=_package_name(interface.package)
    )


def _package_name(typed: str) -> str:
    """Return the first package that a line such as `pip install -U robo extras` installs."""
    _, _, rest = typed.partition(" install ")
    return next((word for word in rest.split() if not word.startswith("-")), "")


def _not_running(query: AgentQuery, tried: list[_Candidate]) -> FoundAgent:
    broken = next((one for one in tried if not one.location.is_skipped), None)
    if broken is not None:
        problem = f"{broken.location.path} {broken.answer.trouble}"
        reason = f"agent.{query.profile.name}.path: {problem}" if query.pin else problem
        return _found(query.profile, broken.kind, "not_executable", reason, program=broken.location.path)
    kind, interface = next(iter(query.profile.interfaces.items()))
    problems = [f"{one.location.path} {one.answer.trouble}" for one in tried[:1]] or [
        f"{interface.program} is not on PATH"
    ]
    return _found(query.profile, kind, "missing", "; ".join([*problems, *_install_hint(query.profile)]))


def _install_hint(profile: Profile) -> list[str]:
    """Return what to install; the agent's own program first, because people know that one."""
    packages = [profile.interfaces[kind].package for kind in ("cli", "acp") if kind in profile.interfaces]
    return [f"install: {package}" for package in packages if package][:1]


def _command(query: AgentQuery, context: DiscoveryContext) -> FoundAgent:
    """Return an agent that is a command; it is ready if its first word can be found."""
    profile, shell = query.profile, query.profile.interfaces["cli"].program
    try:
        word = programs.first_word(query.command)
    except ValueError as error:
        return _found(profile, "cli", "not_executable", f"agent.{profile.name}.command: {str(error).lower()}")
    if not word:
        return _found(profile, "cli", "ready", "a shell command", program=shell)
    if "/" in word:
        locations = [programs.pinned(os.path.join(context.repository or "/", word))]
    else:
        locations = programs.on_path(word, context.path, context.repository)
    usable = next((one for one in locations if not one.problem), None)
    if usable is not None:
        return _found(profile, "cli", "ready", f"{usable.path} exists", program=shell, begins_with=usable.path)
    if not locations:
        return _found(profile, "cli", "missing", f"{word} is not on PATH")
    status: Status = "missing" if locations[0].is_skipped else "not_executable"
    return _found(profile, "cli", status, f"{locations[0].path} {locations[0].problem}")


def _found(
    profile: Profile,
    kind: str,
    status: Status,
    reason: str,
    **known: str,
) -> FoundAgent:
    interface = profile.interfaces[kind]
    facts = {"version": "", "program": "", **known}
    return FoundAgent(
        name=profile.name,
        title=profile.title or profile.name,
        way=kind,
        governance=interface.governance,
        counted=interface.counted,
        status=status,
        reason=reason,
        **facts,
    )
