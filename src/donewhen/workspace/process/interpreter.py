"""The command for a separate Python process, for work that may hang or crash: its code, its input, its limits.

The process is isolated from the user's environment. It starts without `site`, which is faster, so it gets the locations
of the packages that it needs as arguments. The caller decides how it is confined.
"""

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType

from donewhen.workspace.process.command import Command, Confinement

BOOT = "import sys; sys.path += sys.argv[1:]; from {module} import main; main()"


def interpreter(
    boot: str,
    packages: Sequence[ModuleType],
    stdin: bytes,
    *,
    wall_secs: float,
    most_output: int,
    confinement: Confinement,
) -> Command:
    """Return the command. `wall_secs` is for a process that gets no CPU: a busy machine must not change a result."""
    quiet = ["-B"] if sys.dont_write_bytecode else []  # -I hides PYTHONDONTWRITEBYTECODE
    return Command(
        argv=[sys.executable, "-I", "-S", *quiet, "-c", boot, *places(packages)],
        cwd="/",
        env={"PATH": os.defpath, "LC_ALL": "C.UTF-8"},
        stdin=stdin,
        timeout_secs=wall_secs,
        keep_bytes=most_output,
        confinement=confinement,
    )


def places(packages: Sequence[ModuleType]) -> list[str]:
    """Return the directories that contain these packages."""
    return list(dict.fromkeys(str(Path(package.__path__[0]).absolute().parent) for package in packages))
