"""The control: a real agent on the host without a sandbox, and its process group killed.

Arguments, variables and files are those of its profile; the scripted model is its provider directly. Only an
interface with a stream can be driven like this.
"""

import json
import os
import signal
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

from donewhen.engines.external.discover.profile import AgentProvider, ProfileFile, fill
from real_agents.processes import deaths, kill_all, marked, waited
from real_agents.scenery import Real, scripted
from repositories import repository
from wire_server import Act

TURNS = 50


def killed_as_a_group(agent: Real, repo: Path, home: Path, marks: list[str], *acts: Act) -> dict[str, int]:
    """Start it, wait until everything marked runs, kill its process group; return how many of each mark survive."""
    repository(repo, {"README": "Nothing to see.\n"})
    config = home / "outside"
    with scripted(agent, *acts) as server:
        program = _started(agent, repo, config, server.url)
        all_pids: list[int] = []
        try:
            assert waited(lambda: all(marked(one) for one in marks)), f"not all of it was started: {server.received}"
            all_pids = [pid for mark in marks for pid in marked(mark)]
            deaths([program.pid], lambda: os.killpg(program.pid, signal.SIGKILL))
            deaths(all_pids, lambda: None, patience_secs=1)
            return {mark: len(marked(mark)) for mark in marks}
        finally:
            kill_all([program.pid, *all_pids])
            program.wait()


def _started(agent: Real, repo: Path, config: Path, gateway: str) -> subprocess.Popen[bytes]:
    way, name = agent.terms, agent.model.partition(":")[0]
    provider = next(one for one in agent.profile.providers if one.name == name)
    values = {
        "task": "say right",
        "config": str(config),
        "gateway": gateway,
        "key": "a-key-that-nobody-checks",
        "model": agent.model.partition(":")[2],
        "turns": str(TURNS),
        "provider": provider.name,
    }
    for file in agent.profile.files:
        place = config / file.path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(_text(file, values))
    config.mkdir(exist_ok=True)
    words = [*way.argv, *way.turns, *way.model, *way.task]
    return subprocess.Popen(
        [agent.installed(), *(fill(word, values) for word in words)],
        cwd=repo,
        env=_variables(agent, provider, values),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )


def _variables(agent: Real, provider: AgentProvider, values: Mapping[str, str]) -> dict[str, str]:
    given = {name: os.environ[name] for name in ("HOME", "PATH")}
    own = {**agent.profile.env, **agent.terms.env, **provider.env}
    return {**given, **{name: fill(one, values) for name, one in own.items()}}


def _text(file: ProfileFile, values: Mapping[str, str]) -> str:
    if file.json is None:
        return fill(file.text, values)
    whole: dict[str, Any] = {}
    for part in (file.json, file.turns, file.gateway, file.model):
        _merge(whole, part or {})
    return fill(json.dumps(whole), values).replace(f'"{TURNS}"', str(TURNS))


def _merge(into: dict[str, Any], more: Mapping[str, Any]) -> None:
    for key, value in more.items():
        if isinstance(value, dict):
            _merge(into.setdefault(key, {}), cast("dict[str, Any]", value))
        else:
            into[key] = value
