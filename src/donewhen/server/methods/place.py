"""The directory that a method works in: the parameter `repo`, or the current directory of the process."""

import os
from pathlib import Path

from donewhen.errors import BadInput
from donewhen.printable import shortened


def place(repo: str) -> Path:
    """Return a directory in the repository that a caller names. The path is absolute: a caller may be anywhere."""
    if not repo:
        return Path.cwd()
    if not repo.startswith("/") or "\0" in repo:
        raise BadInput(f"repo must be an absolute path, not {shortened(repo)!r}")
    if not os.path.isdir(repo):
        raise BadInput(f"{shortened(repo)} is not a directory")
    return Path(repo)
