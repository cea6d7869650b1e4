"""The real agents with their interfaces: program, model, and the tools that the model's script names.

aider is not included: it has no tools, and so has its own tests.
"""

import json
import shlex
from dataclasses import replace

from real_agents.scenery import Real
from wire_server import Answer, SaidCall, Says

SAYS_WHY = {"description": "as the script says"}


def _by_shell(path: str, content: str) -> str:
    return f"printf %s {shlex.quote(content)} > {shlex.quote(path)}"


def _submits(text: str) -> Says:
    submit = {"command": f"echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT; echo {shlex.quote(text)}"}
    return Says(Answer(text=text, calls=(SaidCall("call_last", "bash", json.dumps(submit)),)))


CLAUDE = Real(
    name="claude-code",
    way="acp",
    program="node_modules/.bin/claude-agent-acp",
    model="anthropic:claude-sonnet-4-5",
    key="ANTHROPIC_API_KEY",
    write=lambda path, content: ("Write", {"file_path": path, "content": content}),
    shell=lambda command: ("Bash", {"command": command, **SAYS_WHY}),
)
CODEX = Real(
    name="codex",
    way="acp",
    program="node_modules/.bin/codex-acp",
    model="openai:scripted",
    key="OPENAI_API_KEY",
    path="/v1",
    # For models that it does not know it offers only a shell.
    write=lambda path, content: ("exec_command", {"cmd": _by_shell(path, content)}),
    shell=lambda command: ("exec_command", {"cmd": command, "yield_time_ms": 60_000}),
)
COPILOT = Real(
    name="copilot",
    way="acp",
    program="node_modules/.bin/copilot",
    model="openai:gpt-5",
    key="OPENAI_API_KEY",
    path="/v1",
    write=lambda path, content: ("create", {"path": path, "file_text": content}),
    shell=lambda command: ("bash", {"command": command, **SAYS_WHY}),
)
GEMINI = Real(
    name="gemini",
    way="acp",
    program="node_modules/.bin/gemini",
    model="google:gemini-2.5-pro",
    key="GEMINI_API_KEY",
    path="/v1beta",
    write=lambda path, content: ("write_file", {"file_path": path, "content": content}),
    shell=lambda command: ("run_shell_command", {"command": command}),
)
MINI = Real(
    name="mini-swe-agent",
    way="cli",
    program="bin/mini",
    model="openai:scripted",
    key="OPENAI_API_KEY",
    path="/v1",
    write=lambda path, content: ("bash", {"command": _by_shell(path, content)}),
    shell=lambda command: ("bash", {"command": command}),
    closing=_submits,
)
OPENCODE = Real(
    name="opencode",
    way="acp",
    program="node_modules/.bin/opencode",
    model="openai:scripted",
    key="OPENAI_API_KEY",
    path="/v1",
    write=lambda path, content: ("write", {"filePath": path, "content": content}),
    shell=lambda command: ("bash", {"command": command, "timeout": 600_000, **SAYS_WHY}),
)
PI = Real(
    name="pi",
    way="cli",
    program="node_modules/.bin/pi",
    model="anthropic:claude-sonnet-4-5",
    key="ANTHROPIC_API_KEY",
    write=lambda path, content: ("write", {"path": path, "content": content}),
    shell=lambda command: ("bash", {"command": command}),
)
QWEN = Real(
    name="qwen",
    way="acp",
    program="node_modules/.bin/qwen",
    model="openai:gpt-5",
    key="OPENAI_API_KEY",
    path="/v1",
    write=lambda path, content: ("write_file", {"file_path": path, "content": content}),
    shell=lambda command: ("run_shell_command", {"command": command, "is_background": False, **SAYS_WHY}),
)

ROSTER = (
    CLAUDE,
    replace(CLAUDE, way="cli", program="node_modules/.bin/claude"),
    CODEX,
    replace(CODEX, way="cli", program="node_modules/.bin/codex"),
    *(replace(agent, way=way) for agent in (COPILOT, GEMINI, OPENCODE, QWEN) for way in ("acp", "cli")),
    MINI,
    PI,
)
