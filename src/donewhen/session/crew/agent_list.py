"""Agents that can be used here: the known ones and those of the settings, as they were found.

This module turns settings into the input of `engines.external.discover.find`. It does not decide which agent works on a
session.
"""

import os
from collections.abc import Iterator, Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from donewhen.engines.external.discover import profile
from donewhen.engines.external.discover.find import AgentQuery, DiscoveryContext, FoundAgent, find
from donewhen.engines.external.discover.profile import Profile
from donewhen.engines.external.discover.readiness import ModelChoice
from donewhen.model.name import ModelName
from donewhen.session.log.open_archive import Say, silent
from donewhen.session.settings import settings as settings_module
from donewhen.session.settings.model_server import server_of
from donewhen.session.settings.settings import Settings
from donewhen.session.settings.trust import TrustBook
from donewhen.workspace.state_dir import state_root

if TYPE_CHECKING:
    from donewhen.workspace.process.launch import Launcher

TABLES = ("agent", "model")
"""Tables of the repository's file that are read for agents."""


async def agents_list(say: Say = silent) -> list[dict[str, Any]]:
    """Return every agent as plain data: what it is, whether it is ready, and why not."""
    return [asdict(one) for one in await agents_here(say)]


async def agents_here(say: Say = silent, launcher: "Launcher | None" = None) -> list[FoundAgent]:
    """Return the agents for the settings of the current directory. Ignore and report what an untrusted file says."""
    start, trust = Path.cwd(), TrustBook(state_root(os.environ))
    settings = settings_module.load_some(start, os.environ, trust, TABLES)
    repository = settings_module.repository_above(start)
    for line in _ignored_lines(settings, repository or start, trust):
        say(line)
    return await find_agents(settings, repository, os.environ, launcher)


async def find_agents(
    settings: Settings,
    repository: Path | None,
    environment: Mapping[str, str],
    launcher: "Launcher | None" = None,
    only: str = "",
) -> list[FoundAgent]:
    """Return all agents that the settings know, or one, in order of preference. The user's own agents come last."""
    use = ModelName.parse(settings.text("model", "use")).provider
    context = DiscoveryContext(
        environment=environment,
        state=state_root(environment),
        repository=repository,
        model=ModelChoice(use, server_of(settings).url_for(use)),
    )
    return await find([one for one in _queries(settings) if only in ("", one.profile.name)], context, launcher)


def profiles(settings: Settings) -> dict[str, Profile]:
    """Return every agent that can be named, by its name."""
    return {one.profile.name: one.profile for one in _queries(settings)}


def _queries(settings: Settings) -> Iterator[AgentQuery]:
    own = settings.agents()
    for name, one in profile.shipped().items():
        given = own.pop(name, {})
        way = str(given.get("way", ""))
        interfaces = {way: one.interfaces[way]} if way else one.interfaces
        yield AgentQuery(replace(one, interfaces=interfaces), pin=str(given.get("path", "")))
    for name, given in own.items():
        command = str(given["command"])
        yield AgentQuery(profile.custom(name, command), command=command)


def _ignored_lines(settings: Settings, top: Path, trust: TrustBook) -> Iterator[str]:
    if settings.file is None or settings_module.is_trusted(settings.file, top, trust):
        return
    if given := cast("Mapping[str, object]", settings_module.read(settings.file).get("agent", {})):
        names = ", ".join(f"agent.{name}" for name in given)
        yield (f"note: {settings.file}: not trusted, so this is ignored: {names}; read it, then run: donewhen trust")
