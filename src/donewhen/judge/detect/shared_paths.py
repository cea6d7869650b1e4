"""Which ignored directories of the checkout the checks need: environments and installed dependencies.

Only directories that git ignores are shared. The rules are read from ignore files without git, for plain names only.
Tracked and untracked files are in the tree anyway.
"""

import posixpath
import re
from collections.abc import Iterable, Iterator
from fnmatch import fnmatchcase

from donewhen.judge.detect.survey import Survey, joined

SHARED = (".venv", "venv", "env", "node_modules", "vendor", "deps")


def shared_paths(survey: Survey, directories: Iterable[str]) -> tuple[str, ...]:
    """Return the shared paths in the directories in which checks run, and in those above them."""
    directories_above = dict.fromkeys(above for directory in directories for above in _upward(directory))
    paths = [joined(directory, name) for directory in directories_above for name in SHARED]
    wanted = [path for path in paths if path in survey.not_entered and _is_filled(survey, path)]
    return tuple(sorted({path for path in wanted if is_ignored(survey, path)}))


def _upward(directory: str) -> Iterator[str]:
    while directory != ".":
        yield directory
        directory = posixpath.dirname(directory) or "."
    yield "."


def _is_filled(survey: Survey, path: str) -> bool:
    """Return True if a directory really has installed content.

    `env` and `deps` are also ordinary names: `env` must be a virtual environment, and `deps` must belong to Elixir.
    """
    name = posixpath.basename(path)
    if name in ("env", "venv", ".venv"):
        return survey.exists(f"{path}/bin/python")
    return name != "deps" or survey.has(joined(posixpath.dirname(path) or ".", "mix.exs"))


def is_ignored(survey: Survey, path: str) -> bool:
    """Return True if ignore files above a directory, or one inside of it, exclude it."""
    # Tools that create environments put an ignore file into them.
    if any(line.strip() == "*" for line in _read(survey, f"{path}/.gitignore")):
        return True
    ignored = False
    for directory in reversed(list(_upward(posixpath.dirname(path) or "."))):
        rules = survey.text(joined(directory, ".gitignore")).splitlines()
        if directory == ".":
            rules = [*_read(survey, ".git/info/exclude"), *rules]
        inner = posixpath.relpath(path, directory)
        for rule in rules:
            if _matches(rule.strip().removeprefix("!"), inner):
                ignored = not rule.strip().startswith("!")
    return ignored


def _matches(rule: str, path: str) -> bool:
    pattern = rule.rstrip("/")
    if not pattern or pattern.startswith("#"):
        return False
    if "/" in pattern and not pattern.startswith("**/"):
        return fnmatchcase(path, pattern.lstrip("/"))
    name = pattern.removeprefix("**/")
    return any(fnmatchcase(part, name) for part in path.split("/"))


def _read(survey: Survey, path: str) -> list[str]:
    content = survey.tree.read_inside(path, 65536) or b""
    return re.split(r"\r?\n", content.decode("utf-8", "replace"))
