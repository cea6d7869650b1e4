"""Entry point of the `donewhen` program.

`--help` and `--version` cost under 0.1 s of CPU: they are answered from `cli.verb_table` without importing click. All
other calls go to `cli.group`, which imports the module of a verb only when that verb is called and turns an error into
a line and an exit code. This module contains no logic of the verbs; each verb has its own file in `cli.verbs`.
"""

import gc
import os
import sys
from typing import NoReturn

from donewhen import __version__
from donewhen.cli.verb_table import help_text

COMPLETION = "_DONEWHEN_COMPLETE"
"""Environment variable that a shell sets to request command completion."""
YOUNG_OBJECTS = 50_000
"""New objects that trigger a garbage collection, instead of 700: loading modules creates many and no garbage."""


def main() -> NoReturn:
    arguments = sys.argv[1:]
    if arguments in ([], ["--help"], ["-h"]) and COMPLETION not in os.environ:
        answer(help_text())
    if arguments == ["--version"]:
        answer(f"donewhen {__version__}")
    gc.set_threshold(YOUNG_OBJECTS)
    from donewhen.cli.group import run

    code = run(arguments)
    gc.freeze()  # the process ends now: no last garbage collection over all remaining objects
    sys.exit(code)


def answer(text: str) -> NoReturn:
    sys.stdout.write(text + "\n")
    sys.exit(0)
