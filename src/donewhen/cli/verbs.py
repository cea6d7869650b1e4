"""The table of verbs and the help text made from it. Imports nothing, so that `--help` costs next to nothing."""

VERBS: dict[str, tuple[str, str]] = {
    "init": ("donewhen.cli.init", "propose donewhen.toml from what the repository already has"),
    "check": ("donewhen.cli.check", "judge the working tree against HEAD; 0 green, 1 not"),
    "verify": ("donewhen.cli.verify", "judge again what a receipt tells of; 0 same, 1 differs, 2 changed"),
    "sandbox": ("donewhen.cli.sandbox", "run one command exactly as an engine's command would run"),
    "policy": ("donewhen.cli.policy", "allow, ask or deny, and which rule says so; runs nothing"),
    "trust": ("donewhen.cli.trust", "accept the widening keys of this repository's donewhen.toml"),
    "doctor": ("donewhen.cli.doctor", "what is missing on this machine and what it costs you"),
}
"""Verb → the module that holds `command`, and the line that `--help` shows without importing it."""


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
