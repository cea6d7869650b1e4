"""The sources and programs that the checks use on the base, and which names each of them contains.

Names are compared as words of the text, in any language. Only what the runs on the base used is read, up to a limit.
"""

import re
from collections.abc import Iterable, Sequence
from functools import cached_property

from donewhen.judge.protect.base_files import BaseFiles
from donewhen.judge.protect.names.sources import is_source, may_be_source, stem, suffix
from donewhen.judge.used_paths import UsedPaths

MOST_READ, MOST_BYTES = 4_000, 32 << 20
"""Files, and characters, that are read."""
TOKEN = re.compile(r"[A-Za-z0-9_]+")
MANIFESTS = ("pyproject.toml", "setup.cfg", "setup.py", "package.json", "Cargo.toml", "go.mod", "composer.json")
PROJECT_NAME = re.compile(r'"?name"?[ \t]{0,20}[:=][ \t]{0,20}"([^"\n]{1,200})"')
GENERIC = frozenset({"index", "main", "lib", "mod", "__init__", "__main__", "init"})
"""Stems that name nothing: the directory of such a file has the name."""


class UsedSources:
    def __init__(self, base: BaseFiles, used: Sequence[UsedPaths]) -> None:
        self._base = base
        self.commands = tuple(command for one in used for command in one.commands)
        programs = {command[0].removeprefix("./") for command in self.commands if command[0].startswith("./")}
        self.read = tuple(dict.fromkeys(path for one in used for path in one.read))
        """Every used file."""
        self.chosen = frozenset(path for one in used for path in one.chosen)
        self.paths = tuple(path for path in self.read if may_be_source(path) or path in programs)[:MOST_READ]
        """Sources and programs, tests included."""
        self._words: dict[str, frozenset[str]] = {}

    def names(self, path: str, name: str) -> bool:
        """Return True if the text of a file contains every part of a name."""
        if path not in self._words:
            self._words[path] = frozenset(TOKEN.findall(self.text(path)))
        parts = TOKEN.findall(name)
        return bool(parts) and self._words[path].issuperset(parts)

    def text(self, path: str) -> str:
        return self._texts.get(path, "")

    @cached_property
    def manifest_words(self) -> frozenset[str]:
        """Words in the manifests: among them are packages, and what starts the product."""
        return frozenset(word for name in MANIFESTS for word in TOKEN.findall(self._base.read(name) or ""))

    @cached_property
    def project_names(self) -> frozenset[str]:
        found = (PROJECT_NAME.search(self._base.read(name) or "") for name in MANIFESTS)
        return frozenset(match[1].replace("-", "_").lower() for match in found if match)

    @cached_property
    def _texts(self) -> dict[str, str]:
        texts: dict[str, str] = {}
        left = MOST_BYTES
        for path in self.paths:
            texts[path] = (self._base.read(path) or "") if left > 0 else ""
            left -= len(texts[path])
        return texts


def is_inside(path: str, units: Iterable[str]) -> bool:
    """Return True if a path is one of these files, or is below one of these directories."""
    return any(path == unit or path.startswith(f"{unit}/") for unit in units)


def name_of(path: str) -> str:
    """Return the name by which other files mean this one. In a language that is not known, that is the whole name."""
    directory, _, name = path.rpartition("/")
    if suffix(path) and not is_source(path):
        return name
    return directory.rpartition("/")[2] or stem(path) if stem(path) in GENERIC else stem(path)
