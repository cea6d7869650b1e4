"""The `donewhen` program: its verbs, and the one place that turns an error into a line and an exit code.

`--help` and `--version` cost under 0.1 s of CPU: they are answered from a table without importing click, and
a verb's module is imported only when that verb is called. What is not here: any logic. A verb lives in its own file
next to this one.
"""

import sys
from typing import NoReturn

from donewhen import __version__
from donewhen.cli.verbs import help_text


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
