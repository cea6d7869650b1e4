"""The files of a repository, read once and within limits. Nothing is started, and no link is followed out of it.

Directories that tools fill (environments, dependencies, build results) are recorded but not entered. The content is
untrusted: a file that is huge, broken, a pipe or a link to the outside is treated as missing.
"""

import contextlib
import json
import os
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import cast

from donewhen.records import frozen
from donewhen.short_lines import short_lines
from donewhen.toml import parse_toml
from donewhen.workspace.beneath import Root

MOST_ENTRIES = 6000
MOST_BYTES = 1 << 20
DEEPEST = 8
NOT_ENTERED = {
    "node_modules", ".venv", "venv", "env", "target", "vendor", "build", "dist", "out", "site-packages", "__pycache__",
    "bower_components", "deps", "_build", "obj", "coverage", "htmlcov", "Pods",
}  # fmt: skip
"""Directories that tools fill."""
ENTERED_THOUGH_HIDDEN = {".github", ".cargo", ".config"}

Table = Mapping[str, object]
NOTHING: Table = {}


@frozen
class Survey:
    root: Path
    files: Mapping[str, tuple[str, ...]]
    """Directory → sorted names of the files in it. The root is "."."""
    not_entered: frozenset[str]
    """Directories that were seen but not entered."""
    complete: bool
    """False if the repository has more entries than the limit."""
    broken: set[str] = field(default_factory=set[str])
    """Files that could not be parsed. Filled while files are read."""

    def has(self, path: str) -> bool:
        directory, name = os.path.split(path)
        return name in self.files.get(directory or ".", ())

    def has_directory(self, path: str) -> bool:
        return path in self.files or path in self.not_entered

    def named(self, directory: str, *patterns: str) -> Iterator[str]:
        """Yield the paths of the files in one directory whose names match."""
        for name in self.files.get(directory, ()):
            if any(fnmatchcase(name, pattern) for pattern in patterns):
                yield joined(directory, name)

    def below(self, directory: str, *patterns: str) -> Iterator[str]:
        """Yield the paths of matching files in a directory and everything below it."""
        for inner in self.files:
            if is_within(inner, directory):
                yield from self.named(inner, *patterns)

    def text(self, path: str) -> str:
        """Return the text of a file; empty if it is missing, not a file, too large, or a link to the outside."""
        return short_lines(self._text(path))

    def _text(self, path: str) -> str:
        content = (self.tree.read_inside(path, MOST_BYTES + 1) if self.has(path) else None) or b""
        return content.decode("utf-8", "replace") if len(content) <= MOST_BYTES else ""

    def toml(self, path: str) -> Table:
        return self._parsed(path, parse_toml)

    def json(self, path: str) -> Table:
        return self._parsed(path, json.loads)

    def line_of(self, path: str, words: str) -> int:
        """Return the number of the first line of a file that contains these words; 1 if none does."""
        lines = self.text(path).splitlines()
        return next((number for number, line in enumerate(lines, 1) if words in line), 1)

    def exists(self, path: str) -> bool:
        """Return True if a path exists, also in directories not entered. It may be a link but not lie behind one."""
        try:
            return self.tree.status(path) is not None
        except OSError:
            return False

    @property
    def tree(self) -> Root:
        return Root(self.root)

    def _parsed(self, path: str, parse: Callable[[str], object]) -> Table:
        text = self._text(path)
        if not text.strip():
            return NOTHING
        try:
            return as_table(parse(text))
        except (ValueError, RecursionError):
            self.broken.add(path)
            return NOTHING


def survey(root: Path, most_entries: int = MOST_ENTRIES) -> Survey:
    """Survey the files below a directory, starting near the top."""
    files: dict[str, tuple[str, ...]] = {}
    not_entered: set[str] = set()
    left = most_entries
    waiting = deque([(".", 0)])
    while waiting and left > 0:
        directory, depth = waiting.popleft()
        names, below = _listed(root, directory)
        left -= len(names) + len(below)
        if depth and "pyvenv.cfg" in names:
            not_entered.add(directory)
            continue
        files[directory] = tuple(names)
        for name in below:
            path = joined(directory, name)
            if name in NOT_ENTERED or (name.startswith(".") and name not in ENTERED_THOUGH_HIDDEN) or depth >= DEEPEST:
                not_entered.add(path)
            else:
                waiting.append((path, depth + 1))
    return Survey(root, files, frozenset(not_entered), complete=not waiting)


def _listed(root: Path, directory: str) -> tuple[list[str], list[str]]:
    """Return names of files and of directories. A link to a file counts as a file; a link to a directory is skipped."""
    names: list[str] = []
    below: list[str] = []
    with contextlib.suppress(OSError), Root(root).directory(directory) as fd, os.scandir(fd) as entries:
        for number, entry in enumerate(entries):
            if number > MOST_ENTRIES:
                break
            if not _is_text(entry.name):
                continue
            if entry.is_dir(follow_symlinks=False):
                below.append(entry.name)
            elif entry.is_file():
                names.append(entry.name)
    return sorted(names), sorted(below)


def _is_text(name: str) -> bool:
    """Return True if a name is printable text. Other names cannot be written into a contract."""
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return name.isprintable()


# -- paths and values --


def joined(directory: str, name: str) -> str:
    return name if directory == "." else f"{directory}/{name}"


def is_within(path: str, directory: str) -> bool:
    return directory == "." or path == directory or path.startswith(directory.rstrip("/") + "/")


def as_table(value: object) -> Table:
    return cast("Table", value) if isinstance(value, dict) else NOTHING


def table(value: Table, *keys: str) -> Table:
    """Return an inner table; empty if there is none."""
    for key in keys:
        value = as_table(value.get(key))
    return value


def text(value: Table, key: str) -> str:
    found = value.get(key)
    return found if isinstance(found, str) else ""


def texts(value: object) -> tuple[str, ...]:
    """Return a list of texts, or one text as a list of one. Other values are skipped."""
    if isinstance(value, str):
        return (value,)
    items = cast("list[object]", value) if isinstance(value, list) else []
    return tuple(item for item in items if isinstance(item, str))
