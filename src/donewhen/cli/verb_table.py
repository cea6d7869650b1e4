"""Table of verbs and the help text built from it. This module imports nothing, so that `--help` is fast."""

VERBS: dict[str, tuple[str, str]] = {
    "init": ("donewhen.cli.verbs.init", "propose donewhen.toml from what the repository already has"),
    "check": ("donewhen.cli.verbs.check", "judge the working tree against HEAD; 0 green, 1 not"),
    "run": ("donewhen.cli.verbs.run", "work on an intent until the contract is green or a limit is reached"),
    "plan": (
        "donewhen.cli.verbs.plan",
        "write spec, contract and tracker, or subtasks; build nothing until you approve",
    ),
    "list": ("donewhen.cli.verbs.list", "the sessions, the newest first"),
    "show": ("donewhen.cli.verbs.show", "everything about one session"),
    "log": ("donewhen.cli.verbs.log", "what happened in a session"),
    "diff": ("donewhen.cli.verbs.diff", "what a session made, as a patch"),
    "watch": ("donewhen.cli.verbs.watch", "follow a session that runs elsewhere"),
    "answer": ("donewhen.cli.verbs.answer", "answer a question, or say what to change in a proposed contract or plan"),
    "approve": ("donewhen.cli.verbs.approve", "say yes to what waits for a person"),
    "deny": ("donewhen.cli.verbs.deny", "say no to what waits for a person"),
    "cancel": ("donewhen.cli.verbs.cancel", "stop a session; everything it started is dead within one second"),
    "resume": ("donewhen.cli.verbs.resume", "go on after a crash, a limit or a restart"),
    "land": ("donewhen.cli.verbs.land", "bring a verified session into a branch"),
    "discard": ("donewhen.cli.verbs.discard", "remove a session's trees and its branch"),
    "receipt": ("donewhen.cli.verbs.receipt", "the evidence bundle of a verified session"),
    "verify": ("donewhen.cli.verbs.verify", "judge again what a receipt tells of; 0 same, 1 differs, 2 changed"),
    "replay": ("donewhen.cli.verbs.replay", "play a recorded session again without a model"),
    "demo": ("donewhen.cli.verbs.demo", "a real run on a small shipped repository with a scripted model; no key"),
    "union": ("donewhen.cli.verbs.union", "combine finished branches or patches: a maximal set that passes together"),
    "agents": ("donewhen.cli.verbs.agents", "which agents can be used here, and what the others lack"),
    "models": ("donewhen.cli.verbs.models", "which models can be used here, and what the others lack"),
    "memory": (
        "donewhen.cli.verbs.memory",
        "what repairs taught: list, show, forget, export, import; `signature` of a log",
    ),
    "sandbox": ("donewhen.cli.verbs.sandbox", "run one command exactly as an engine's command would run"),
    "policy": ("donewhen.cli.verbs.policy", "allow, ask or deny, and which rule says so; runs nothing"),
    "trust": ("donewhen.cli.verbs.trust", "accept the widening keys of this repository's donewhen.toml"),
    "doctor": ("donewhen.cli.verbs.doctor", "what is missing on this machine and what it costs you"),
}
"""Verb → the module that contains `command`, and the line that `--help` shows without importing it."""
LATER = ("loop", "inbox", "serve", "mcp", "acp")
"""Verbs that are planned; those that are not in the table above do not exist yet."""


def help_text() -> str:
    width = max(map(len, VERBS))
    lines = [
        "Usage: donewhen [--version] [--help] COMMAND [ARGS]...",
        "",
        "  A coding agent is done when your checks say so.",
        "",
        "Commands:",
        *(f"  {verb:<{width}}  {line}" for verb, (_, line) in VERBS.items()),
        "",
        "`donewhen COMMAND --help` tells more about one of them.",
    ]
    return "\n".join(lines)
