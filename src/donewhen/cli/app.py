"""The `donewhen` program: its verbs, and the one place that turns an error into a line and an exit code.

`--help` and `--version` cost under 0.1 s of CPU: they are answered from a table without importing click, and
a verb's module is imported only when that verb is called. What is not here: any logic. A verb lives in its own file
next to this one.
"""

import gc
import os
import sys
from typing import NoReturn

from donewhen import __version__
from donewhen.cli.verbs import help_text

COMPLETION = "_DONEWHEN_COMPLETE"
"""Set by a shell that asks how a line may go on."""
YOUNG_OBJECTS = 50_000
"""So many new objects and not 700 make the collector look for garbage: loading modules makes many, and none is."""


def main() -> NoReturn:
    arguments = sys.argv[1:]
    if arguments in ([], ["--help"], ["-h"]) and COMPLETION not in os.environ:
        answer(help_text())
    if arguments == ["--version"]:
        answer(f"donewhen {__version__}")
    gc.set_threshold(YOUNG_OBJECTS)
    from donewhen.cli.group import run

    code = run(arguments)
    gc.freeze()  # all that is left ends with the process: the interpreter need not look through it once more
    sys.exit(code)


def answer(text: str) -> NoReturn:
    sys.stdout.write(text + "\n")
    sys.exit(0)
