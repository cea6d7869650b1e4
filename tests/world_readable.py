"""A copy of the code that every user of the machine may read: a clone may be in a private directory."""

import contextlib
import importlib.util
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Generator, Iterable
from pathlib import Path

SOURCE = Path(__file__).parents[1] / "src"
IMPORTED = (
    "anyio", "click", "exceptiongroup", "idna", "sniffio", "tree_sitter", "tree_sitter_bash", "typing_extensions",
)  # fmt: skip
"""The installed packages that the program needs for checks, runs and agents."""


@contextlib.contextmanager
def world_readable_code(modules: Iterable[Path] = ()) -> Generator[Path]:
    """Make a directory with donewhen, the packages that it needs, and these modules."""
    with tempfile.TemporaryDirectory(dir="/var/tmp", prefix="code-") as name:
        code = Path(name)
        for package in (SOURCE / "donewhen", *map(installed, IMPORTED)):
            if package is not None:
                copy = shutil.copytree if package.is_dir() else shutil.copy
                copy(package, code / package.name)
        for module in modules:
            shutil.copy(module, code)
        # A user who may not write here would compile every module again at each start.
        subprocess.run([sys.executable, "-m", "compileall", "-q", name], check=True)
        subprocess.run(["chmod", "-R", "u=rwX,go=rX", name], check=True)
        yield code


def installed(name: str) -> Path | None:
    found = importlib.util.find_spec(name)
    if found is None or found.origin is None:
        return None
    return Path(found.origin).parent if found.submodule_search_locations else Path(found.origin)
