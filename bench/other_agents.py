"""Other agents for comparison: how each is installed and started, and how a model makes it run a command and stop.

Each has its own virtual environment below `.cache`, installed by package name from the index of this machine. None of
them is a dependency of the project. An agent that cannot be installed is left out, with the reason.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).parents[1]
INTENT = "say the numbers"
INSTALL_SECS = 600
NO_FETCHING = {"LITELLM_LOCAL_MODEL_COST_MAP": "True"}
"""litellm asks the network for prices when it is imported; without a network that would be waiting, not work."""

OPENHANDS = """
import os, sys
from openhands.sdk import LLM, Agent, Conversation, Tool
from openhands.tools.terminal import TerminalTool
llm = LLM(model="openai/bench", api_key="none", base_url=sys.argv[1], usage_id="bench")
agent = Agent(llm=llm, tools=[Tool(name=TerminalTool.name)])
conversation = Conversation(agent=agent, workspace=os.getcwd(), max_iteration_per_run=1000)
conversation.send_message(sys.argv[2])
conversation.run()
"""


class NotHere(Exception):
    """Why an agent cannot be measured on this machine."""


@dataclass(frozen=True, kw_only=True)
class Agent:
    name: str
    command: tuple[str, ...]
    """`{url}` is the address of the model, `{turns}` the number of turns it may need, `{out}` a directory for files."""
    tool: str
    """The tool that runs a command, with the command as its argument `command`."""
    end: tuple[str, dict[str, str]] | None
    """The call that ends the work; None: it ends with words."""
    env: dict[str, str] = field(default_factory=dict[str, str])


def donewhen() -> Agent:
    program = str(Path(sys.executable).with_name("donewhen"))
    contract = ("--check", "ok=true", "--allow-green", "--land", "none")
    command = (program, "run", INTENT, "--model", "openai-chat:bench", "--max-turns", "{turns}", *contract)
    env = {"OPENAI_API_KEY": "none", "DONEWHEN__MODEL__BASE_URL": "{url}"}
    return Agent(name="donewhen", command=command, tool="shell", end=None, env=env)


def mini_swe_agent() -> Agent:
    place = _installed("mini-swe-agent", sys.executable, "mini-swe-agent", "mcp")
    options = ("--model", "openai/bench", "--yolo", "--exit-immediately", "--output", "{out}/trajectory.json")
    env = {
        "OPENAI_API_KEY": "none",
        "OPENAI_API_BASE": "{url}",
        "MSWEA_CONFIGURED": "true",
        "MSWEA_COST_TRACKING": "ignore_errors",
        "MSWEA_GLOBAL_CONFIG_DIR": "{out}",
    }
    return Agent(
        name="mini-swe-agent",
        command=(str(place / "bin" / "mini"), "--task", INTENT, *options),
        tool="bash",
        end=("bash", {"command": "echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"}),
        env=env | NO_FETCHING,
    )


def openhands() -> Agent:
    python = next(_pythons_3_12(), None)
    if python is None:
        raise NotHere("no Python 3.12")
    place = _installed("openhands", python, "openhands-sdk", "openhands-tools")
    return Agent(
        name="OpenHands SDK",
        command=(str(place / "bin" / "python"), "-c", OPENHANDS, "{url}", INTENT),
        tool="terminal",
        end=("finish", {"message": "done"}),
        env={"OPENHANDS_SUPPRESS_BANNER": "1", **NO_FETCHING},
    )


def _pythons_3_12() -> Iterator[str]:
    """Those that really start: a name on the path may be a shim for a version that is not chosen."""
    versions = Path(_said("pyenv", "root") or "/nonexistent") / "versions"
    known = sorted(versions.glob("3.12*/bin/python"), reverse=True)
    found = _said("uv", "python", "find", "--no-python-downloads", "3.12")
    for candidate in (shutil.which("python3.12") or "", *map(str, known), found):
        if candidate and _said(candidate, "-c", "import sys; print(sys.version_info[:2])") == "(3, 12)":
            yield candidate


def _said(*command: str) -> str:
    """What a program prints; empty when it fails or is not there."""
    if shutil.which(command[0]) is None:
        return ""
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    return ran.stdout.strip() if ran.returncode == 0 else ""


def _installed(name: str, python: str, *packages: str) -> Path:
    """A virtual environment that has these packages, compiled ahead as an ordinary installation is."""
    place = ROOT / ".cache" / "bench-agents" / name / ".venv"
    complete = place / "complete"
    if complete.exists():
        return place
    shutil.rmtree(place, ignore_errors=True)
    print(f"installing {', '.join(packages)} …", flush=True)
    _must([python, "-m", "venv", str(place)])
    inside = str(place / "bin" / "python")
    if _said("uv", "--version"):
        _must(["uv", "pip", "install", "--quiet", "--compile-bytecode", "--python", inside, *packages])
    else:
        _must([inside, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *packages])
    complete.touch()
    return place


def _must(command: list[str]) -> None:
    env = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    try:
        ran = subprocess.run(command, capture_output=True, text=True, check=False, timeout=INSTALL_SECS, env=env)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise NotHere(f"the installation failed: {error}") from error
    if ran.returncode:
        said = ran.stderr.strip().splitlines() or ["no reason given"]
        raise NotHere(f"the installation failed: {said[-1][:200]}")
