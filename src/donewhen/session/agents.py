"""The agents that can be used from here: those that are known, and those of the settings, as they were found.

Where settings become what `engines.external.finding` needs. Which of them works on a session is not decided here.
"""

import os
from collections.abc import Iterator, Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from donewhen.engines.external import profile
from donewhen.engines.external.finding import Around, Found, Wanted, find
from donewhen.engines.external.profile import Profile
from donewhen.engines.external.readiness import Model
from donewhen.session import settings as settings_module
from donewhen.session.archives import Say, silent
from donewhen.session.model_server import server_of
from donewhen.session.settings import Settings
from donewhen.session.trust import TrustBook
from donewhen.workspace.state import state_root

if TYPE_CHECKING:
    from donewhen.workspace.process import Launcher

TABLES = ("agent", "model")
"""What a repository's file may say about agents."""


async def agents_list(say: Say = silent) -> list[dict[str, Any]]:
    """Every agent as plain data: what it is, whether it is ready, and why not."""
    return [asdict(one) for one in await agents_here(say)]


async def agents_here(say: Say = silent, launcher: "Launcher | None" = None) -> list[Found]:
    """By the settings of wherever this is called; what an untrusted file says is left out, and that is told."""
    start, trust = Path.cwd(), TrustBook(state_root(os.environ))
    settings = settings_module.near(start, os.environ, trust, TABLES)
    repository = settings_module.repository_above(start)
    for line in _left_out(settings, repository or start, trust):
        say(line)
    found = await found_by(settings, repository, os.environ, launcher)
    profiles = known(settings)
    return [one for one in found if one.status != "missing" or _can_be_had(profiles[one.name])]


async def found_by(
    settings: Settings,
    repository: Path | None,
    environment: Mapping[str, str],
    launcher: "Launcher | None" = None,
    only: str = "",
) -> list[Found]:
    """All agents that the settings know, or one of them, in the order of preference; the user's own come last."""
    use = settings.text("model", "use").partition(":")[0]
    around = Around(
        environment=environment,
        state=state_root(environment),
        repository=repository,
        model=Model(use, server_of(settings).url_for(use)),
    )
    return await find([one for one in _wanted(settings) if only in ("", one.profile.name)], around, launcher)


def known(settings: Settings) -> dict[str, Profile]:
    """Every agent that can be named, by its name."""
    return {one.profile.name: one.profile for one in _wanted(settings)}


def _can_be_had(one: Profile) -> bool:
    """Whether a lack of it is worth telling: the agent for tests, say, is only there for who has it."""
    return one.name not in profile.shipped() or any(way.package for way in one.ways.values())


def _wanted(settings: Settings) -> Iterator[Wanted]:
    own = settings.agents()
    for name, one in profile.shipped().items():
        given = own.pop(name, {})
        way = str(given.get("way", ""))
        ways = {way: one.ways[way]} if way else one.ways
        yield Wanted(replace(one, ways=ways), pin=str(given.get("path", "")))
    for name, given in own.items():
        command = str(given["command"])
        yield Wanted(profile.custom(name, command), command=command)


def _left_out(settings: Settings, top: Path, trust: TrustBook) -> Iterator[str]:
    if settings.file is None or settings_module.is_trusted(settings.file, top, trust):
        return
    if given := cast("Mapping[str, object]", settings_module.read(settings.file).get("agent", {})):
        names = ", ".join(f"agent.{name}" for name in given)
        yield f"note: {settings.file}: not trusted, so this is left out: {names}; read it, then run: donewhen trust"
