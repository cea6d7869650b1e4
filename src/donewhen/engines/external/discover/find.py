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
    """`acp` or `cli`."""
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
    timeout_secs: float = field(default_factory=probe.patience)

    @property
    def path(self) -> str:
        return self.environment.get("PATH", "")


async def find(
    wanted: Iterable[AgentQuery], around: DiscoveryContext, launcher: "Launcher | None" = None
) -> list[FoundAgent]:
    """Return all wanted agents, in their order. A launcher is opened only if none is given and a program must be
    asked."""
    wanted = list(wanted)
    kept = ProbeCache(around.state / CACHE, around.now())
    places: list[FoundAgent | None] = [None] * len(wanted)
    async with contextlib.AsyncExitStack() as held:
        asker = _Asker(around, kept, held, launcher)

        async def look(number: int) -> None:
            places[number] = await _look(wanted[number], around, asker)

        async with anyio.create_task_group() as group:
            for number in range(len(wanted)):
                group.start_soon(look, number)
    kept.add(asker.new, around.now())
    return [found for found in places if found is not None]


@dataclass(slots=True)
class _Asker:
    """Asks programs for their versions, a few at a time; recent answers are not asked for again."""

    around: DiscoveryContext
    kept: ProbeCache
    held: contextlib.AsyncExitStack
    launcher: "Launcher | None"
    new: dict[str, VersionAnswer] = field(default_factory=dict[str, VersionAnswer])
    _turns: anyio.Semaphore = field(default_factory=lambda: anyio.Semaphore(AT_ONCE))
    _opening: anyio.Lock = field(default_factory=anyio.Lock)

    async def ask(self, question: VersionQuery) -> VersionAnswer:
        try:
            key = probe.key(question, self.around.environment)
        except OSError as error:
            return VersionAnswer("", f"cannot be read: {error.strerror}")
        known = self.kept.get(key) or self.new.get(key)
        if known is None:
            launcher = await self._opened()
            async with self._turns:
                known = await probe.ask(launcher, question, self.around.environment, self.around.timeout_secs)
            self.new[key] = known
        return known

    async def _opened(self) -> "Launcher":
        async with self._opening:
            if self.launcher is None:
                from donewhen.workspace.process.launch import Launcher  # cached answers do not need it

                self.launcher = await self.held.enter_async_context(Launcher.open())
        return self.launcher


class _Try(NamedTuple):
    kind: str
    way: AgentInterface
    seen: ProgramLocation
    answer: VersionAnswer


async def _look(wanted: AgentQuery, around: DiscoveryContext, asker: _Asker) -> FoundAgent:
    if wanted.command:
        return _command(wanted, around)
    tries: list[_Try] = []
    for kind, way, seen in _candidates(wanted, around):
        # A program inside the repository is never started on the host, not even for its version.
        silent = seen.problem or programs.lies_in(seen.path, around.repository)
        answer = VersionAnswer("", seen.problem) if silent else await asker.ask(_question(wanted.profile, way, seen))
        tries.append(_Try(kind, way, seen, answer))
        if not answer.trouble:
            has = readiness(wanted.profile, around.environment, around.now(), around.model)
            return _found(
                wanted.profile, kind, has.status, has.reason,
                version=answer.version, program=seen.path, provider=has.provider, key=has.key,
            )  # fmt: skip
    return _not_running(wanted, tries)


def _candidates(wanted: AgentQuery, around: DiscoveryContext) -> Iterator[tuple[str, AgentInterface, ProgramLocation]]:
    """Yield what may be started, the preferred interface first; a pinned program is the only one."""
    ways = wanted.profile.ways
    if wanted.pin:
        kind = _way_of(wanted.pin, ways)
        yield kind, ways[kind], programs.pinned(wanted.pin)
        return
    for kind, way in ways.items():
        for seen in programs.on_path(way.program, around.path, around.repository):
            yield kind, way, seen


def _way_of(pin: str, ways: Mapping[str, AgentInterface]) -> str:
    """Return the first interface that starts a program of this name; any other name counts as the agent's own
    program."""
    own = ways.get("cli", next(iter(ways.values()))).program
    for name in (os.path.basename(pin), own):
        for kind, way in ways.items():
            if way.program == name:
                return kind
    raise AssertionError("its program belongs to one of its interfaces")


def _question(profile: Profile, way: AgentInterface, seen: ProgramLocation) -> VersionQuery:
    env = {**profile.env, **way.env}
    return VersionQuery(program=seen.path, words=profile.version, env=env, package=_distribution(way.package))


def _distribution(typed: str) -> str:
    """Return the first package that a line such as `pip install -U robo extras` installs."""
    _, _, rest = typed.partition(" install ")
    return next((word for word in rest.split() if not word.startswith("-")), "")


def _not_running(wanted: AgentQuery, tries: list[_Try]) -> FoundAgent:
    broken = next((one for one in tries if not one.seen.passed_over), None)
    if broken is not None:
        said = f"{broken.seen.path} {broken.answer.trouble}"
        reason = f"agent.{wanted.profile.name}.path: {said}" if wanted.pin else said
        return _found(wanted.profile, broken.kind, "not_executable", reason, program=broken.seen.path)
    kind, way = next(iter(wanted.profile.ways.items()))
    said = [f"{one.seen.path} {one.answer.trouble}" for one in tries[:1]] or [f"{way.program} is not on PATH"]
    return _found(wanted.profile, kind, "missing", "; ".join([*said, *_to_install(wanted.profile)]))


def _to_install(profile: Profile) -> list[str]:
    """Return what to install; the agent's own program first, because people know that one."""
    packages = [profile.ways[kind].package for kind in ("cli", "acp") if kind in profile.ways]
    return [f"install: {package}" for package in packages if package][:1]


def _command(wanted: AgentQuery, around: DiscoveryContext) -> FoundAgent:
    """Return an agent that is a command; it is ready if its first word can be found."""
    profile, shell = wanted.profile, wanted.profile.ways["cli"].program
    try:
        word = programs.first_word(wanted.command)
    except ValueError as error:
        return _found(profile, "cli", "not_executable", f"agent.{profile.name}.command: {str(error).lower()}")
    if not word:
        return _found(profile, "cli", "ready", "a shell command", program=shell)
    if "/" in word:
        seen = [programs.pinned(os.path.join(around.repository or "/", word))]
    else:
        seen = programs.on_path(word, around.path, around.repository)
    good = next((one for one in seen if not one.problem), None)
    if good is not None:
        return _found(profile, "cli", "ready", f"{good.path} exists", program=shell, begins_with=good.path)
    if not seen:
        return _found(profile, "cli", "missing", f"{word} is not on PATH")
    status: Status = "missing" if seen[0].passed_over else "not_executable"
    return _found(profile, "cli", status, f"{seen[0].path} {seen[0].problem}")


def _found(
    profile: Profile,
    kind: str,
    status: Status,
    reason: str,
    **known: str,
) -> FoundAgent:
    way = profile.ways[kind]
    facts = {"version": "", "program": "", **known}
    return FoundAgent(
        name=profile.name,
        title=profile.title or profile.name,
        way=kind,
        governance=way.governance,
        counted=way.counted,
        status=status,
        reason=reason,
        **facts,
    )
