"""The `donewhen` program: its verbs, and the one place that turns an error into a line and an exit code.

`--help` and `--version` cost under 0.1 s of CPU: they are answered from the table below without importing click, and
a verb's module is imported only when that verb is called. What is not here: any logic. A verb lives in its own file
next to this one.
"""

import sys
from typing import NoReturn

from donewhen import __version__

VERBS: dict[str, tuple[str, str]] = {
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


def main() -> NoReturn:
    arguments = sys.argv[1:]
    if arguments in ([], ["--help"], ["-h"]):
        answer(help_text())
    if arguments == ["--version"]:
        answer(f"donewhen {__version__}")
    from donewhen.cli.group import run

    sys.exit(run(arguments))


def answer(text: str) -> NoReturn:
    sys.stdout.write(text + "\n")
    sys.exit(0)
