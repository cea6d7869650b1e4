"""A Python of our own beside the harness, for work that may hang or die: what it runs, what it is given, its bounds.

It is isolated from the user's environment and starts without `site`, which is quicker; so it is told where the packages
lie that it needs. Who starts it decides what it may do.
"""

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType

from donewhen.workspace.command import Command, Confinement

BOOT = "import sys; sys.path += sys.argv[1:]; from {module} import main; main()"


def interpreter(
    boot: str,
    packages: Sequence[ModuleType],
    given: bytes,
    *,
    wall_secs: float,
    most_said: int,
    confinement: Confinement,
) -> Command:
    """The process. `wall_secs` is for one that gets no CPU: a busy machine must not change an answer."""
    quiet = ["-B"] if sys.dont_write_bytecode else []  # isolated, it does not see the variable that says so
    return Command(
        argv=[sys.executable, "-I", "-S", *quiet, "-c", boot, *places(packages)],
        cwd="/",
        env={"PATH": os.defpath, "LC_ALL": "C.UTF-8"},
        stdin=given,
        timeout_secs=wall_secs,
        keep_bytes=most_said,
        confinement=confinement,
    )


def places(packages: Sequence[ModuleType]) -> list[str]:
    """Where packages lie."""
    return list(dict.fromkeys(str(Path(package.__path__[0]).absolute().parent) for package in packages))
