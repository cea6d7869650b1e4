"""Agents of the user's own for whole runs: shell lines, told to the program by the user's configuration."""

import json
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from runs.scenes import Run, told


def configure(text: str) -> None:
    """The user's own file; nothing in it needs trust."""
    place = Path(os.environ["XDG_CONFIG_HOME"], "donewhen", "config.toml")
    place.parent.mkdir(exist_ok=True)
    place.write_text(text)


def employ(command: str, name: str = "hand", more: str = "") -> str:
    """An agent that is this command; the engine to ask for it by."""
    configure(f"{more}\n[agent.{name}]\ncommand = {json.dumps(command)}\n")
    return f"external:{name}"


def run_with(
    repo: Path, engine: str, *options: str, intent: str = "say right", env: Mapping[str, str] | None = None
) -> Run:
    """`donewhen run … --json` with no model of ours."""
    return told(repo, "run", intent, "--engine", engine, "--json", *options, env={**NO_KEYS, **(env or {})})


NO_KEYS: dict[str, str] = dict.fromkeys(
    ("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GOOGLE_API_KEY", "GEMINI_API_KEY", "OLLAMA_BASE_URL"), ""
)


def stand_in(place: Path, name: str, invocations: object, words: str) -> Path:
    """A program that is the scripted agent; its script lies beside it, and so can be seen inside.

    `words` are the scripted agent's own, `$task` the last word of those it is called with.
    """
    place.mkdir(exist_ok=True)
    (place / "script.json").write_text(json.dumps({"invocations": invocations}))
    program = place / name
    program.write_text(
        f"""#!/bin/sh
test "$1" = --version && {{ echo 9.9.9; exit; }}
for task; do :; done
: "${{DONEWHEN_FAKE_STATE:=$HOME/.donewhen-agent/invocations}}"; export DONEWHEN_FAKE_STATE
exec {sys.executable} -m donewhen.engines.external.fake_agent --script {place}/script.json {words}
"""
    )
    program.chmod(0o755)
    return program


def claude(place: Path, *invocations: Sequence[Mapping[str, Any]], more: str = "") -> str:
    """Somebody who looks like Claude Code on the command line, pinned; the engine to ask for it by."""
    program = stand_in(place, "claude", invocations, '--stream claude "$task"')
    configure(f"{more}\n[agent.claude-code]\npath = {json.dumps(str(program))}\n")
    return "external:claude-code"


def fake(place: Path, *invocations: Sequence[Mapping[str, Any]], more: str = "") -> str:
    """The scripted agent over the Agent Client Protocol."""
    program = stand_in(place, "donewhen-fake-agent", invocations, "--acp")
    configure(f"{more}\n[agent.fake]\npath = {json.dumps(str(program))}\n")
    return "external:fake"
