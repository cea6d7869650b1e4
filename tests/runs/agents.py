"""The user's own agents for whole runs: shell lines in the user's configuration."""

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from fake_agent.packed import pack
from repositories import write
from runs.scenes import Run, run_json


def configure(text: str) -> None:
    """The user's own file; nothing in it needs trust."""
    place = Path(os.environ["XDG_CONFIG_HOME"], "donewhen", "config.toml")
    place.parent.mkdir(exist_ok=True)
    place.write_text(text)


def configure_agent(command: str, name: str = "hand", more: str = "") -> str:
    """An agent that is this command; return its engine name."""
    configure(f"{more}\n[agent.{name}]\ncommand = {json.dumps(command)}\n")
    return f"external:{name}"


def run_with_engine(
    repo: Path, engine: str, *options: str, intent: str = "say right", env: Mapping[str, str] | None = None
) -> Run:
    """`donewhen run … --json` without a model of ours."""
    return run_json(repo, "run", intent, "--engine", engine, "--json", *options, env={**NO_KEYS, **(env or {})})


NO_KEYS: dict[str, str] = dict.fromkeys(
    ("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GOOGLE_API_KEY", "GEMINI_API_KEY", "OLLAMA_BASE_URL"), ""
)


def claude(place: Path, *invocations: Sequence[Mapping[str, Any]], more: str = "") -> str:
    """Pin the scripted agent as Claude Code on the command line; return the engine to ask for it by."""
    pack(place / "claude", invocations, "--stream", "claude")
    configure(f"{more}\n[agent.claude-code]\npath = {json.dumps(str(place / 'claude'))}\n")
    return "external:claude-code"


def opencode(place: Path, *invocations: Sequence[Mapping[str, Any]], more: str = "") -> str:
    """Pin the scripted agent as opencode, signed in, over the Agent Client Protocol; return the engine."""
    pack(place / "opencode", invocations, "--acp")
    write(Path(os.environ["HOME"]), {".local/share/opencode/auth.json": "{}"})
    configure(f"{more}\n[agent.opencode]\npath = {json.dumps(str(place / 'opencode'))}\n")
    return "external:opencode"
