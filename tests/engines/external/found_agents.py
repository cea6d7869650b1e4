"""Scenes for finding agents: small programs on a separate PATH, a profile that names them, a controlled clock."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from donewhen.engines.external.discover.find import AgentQuery, DiscoveryContext, FoundAgent, find
from donewhen.engines.external.discover.profile import AgentInterface, AgentProvider, Profile, SignIn

ANSWERS = "echo 'robo 1.2.3 (test)'"
MODEL_MAKER = AgentProvider(name="openai", keys=("ROBO_KEY", "OPENAI_API_KEY"))
ACCOUNT = SignIn(
    files=(".robo/auth.json", ".robo/other.json"), expires="oauth.ends", refresh="oauth.refresh", login="robo login"
)
SYSTEM = "/usr/bin:/bin"
BEGAN = 1_800_000_000.0


def robo(**changes: object) -> Profile:
    """An agent with one interface and one provider by default."""
    known: dict[str, object] = {
        "name": "robo",
        "title": "Robo",
        "interfaces": {
            "cli": AgentInterface(program="robo", argv=(), package="apt install robo", counted="all of it by nobody")
        },
        "providers": (MODEL_MAKER,),
        "sign_in": ACCOUNT,
    }
    return Profile(**{**known, **changes})  # pyright: ignore[reportArgumentType] - each test knows the field it changes


def program(directory: Path, text: str = ANSWERS, name: str = "robo", mode: int = 0o755) -> Path:
    """A shell script that adds a line to `asked` next to it on every start."""
    directory.mkdir(parents=True, exist_ok=True)
    file = directory / name
    file.write_text(f"#!/bin/sh\n echo \"$0 $*\" >> '{directory}/asked'\n{text}\n")
    file.chmod(mode)
    return file


def times_asked(directory: Path) -> int:
    asked = directory / "asked"
    return len(asked.read_text().splitlines()) if asked.exists() else 0


@dataclass
class Scene:
    """A machine as discovery sees it."""

    home: Path
    path: list[Path] = field(default_factory=list[Path])
    variables: dict[str, str] = field(default_factory=dict[str, str])
    now: float = BEGAN
    repository: Path | None = None
    timeout_secs: float = 10.0

    @property
    def environment(self) -> Mapping[str, str]:
        path = ":".join([*map(str, self.path), SYSTEM])
        return {"PATH": path, "HOME": str(self.home), **self.variables}

    async def look(self, *wanted: AgentQuery) -> list[FoundAgent]:
        around = DiscoveryContext(
            environment=self.environment,
            state=self.home,
            repository=self.repository,
            now=lambda: self.now,
            timeout_secs=self.timeout_secs,
        )
        return await find(wanted or [AgentQuery(robo())], around)

    async def one(self, profile: Profile | None = None, pin: str | Path = "", command: str = "") -> FoundAgent:
        (found,) = await self.look(AgentQuery(profile or robo(), str(pin), command))
        return found
