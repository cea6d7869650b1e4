"""Table of verbs and the help text built from it. This module imports nothing, so that `--help` is fast."""

VERBS: dict[str, str] = {
    "init": "propose donewhen.toml from what the repository already has",
    "check": "judge the working tree against HEAD; 0 green, 1 not",
    "run": "work on an intent until the contract is green or a limit is reached",
    "plan": "write spec, contract and tracker, or subtasks; build nothing until you approve",
    "list": "the sessions, the newest first",
    "show": "everything about one session",
    "log": "what happened in a session",
    "diff": "what a session made, as a patch",
    "watch": "follow a session that runs in another process",
    "answer": "answer a question, or request a change of a proposed contract or plan",
    "approve": "approve what waits for a person",
    "deny": "deny what waits for a person",
    "cancel": "stop a session; everything it started is dead within one second",
    "resume": "continue after a crash, a limit or a restart",
    "land": "bring a verified session into a branch",
    "discard": "remove a session's trees and its branch",
    "receipt": "the evidence bundle of a verified session",
    "verify": "judge the tree of a receipt again; 0 same, 1 differs, 2 changed or unreadable",
    "replay": "play a recorded session again without a model",
    "demo": "a real run on a small shipped repository with a scripted model; no key",
    "union": "combine finished branches or patches: a maximal set that passes together",
    "loop": "recurring work of this repository: add, list, show, run, start, pause, resume, history",
    "inbox": "everything that waits for a person, over all sessions and loops",
    "serve": "one server for people, editors, scripts and agents; other verbs go through it",
    "acp": "donewhen as an editor's agent, over stdin and stdout",
    "mcp": "the tools of donewhen for agents, on stdin and stdout (MCP)",
    "agents": "which agents can be used here, and what the others lack",
    "models": "which models can be used here, and what the others lack",
    "memory": "learnt repairs: list, show, forget, export, import; `signature` of a log",
    "sandbox": "run one command exactly as an engine's command would run",
    "policy": "allow, ask or deny, and which rule says so; runs nothing",
    "trust": "accept the widening keys of this repository's donewhen.toml",
    "doctor": "what is missing on this machine and what it costs you",
}
"""Verb → the line that `--help` shows. Its `command` is in the module of `cli.verbs` with the same name."""
LATER = ("worker", "fleet")
"""Verbs that are planned; those that are not in the table above do not exist yet."""


def help_text() -> str:
    width = max(map(len, VERBS))
    lines = [
        "Usage: donewhen [--version] [--help] COMMAND [ARGS]...",
        "",
        "  A coding agent is done when your checks say so.",
        "",
        "Commands:",
        *(f"  {verb:<{width}}  {line}" for verb, line in VERBS.items()),
        "",
        "`donewhen COMMAND --help` describes one command.",
    ]
    return "\n".join(lines)
