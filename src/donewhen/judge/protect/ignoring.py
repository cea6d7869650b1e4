"""Ignore files that name what is there: some linters pass over whatever they list, tracked or not.

Only asked where a check runs such a linter. A pattern that covers nothing the base has is ordinary work.
"""

from collections.abc import Collection
from fnmatch import fnmatchcase

from donewhen.judge.protect.base import Base
from donewhen.judge.protect.linewise import lines
from donewhen.judge.protect.tables import listed
from donewhen.judge.protect.taken import Unreadable

NAMES = (".gitignore", ".ignore", ".rgignore")
RESPECTING = listed("ruff black biome prettier eslint rg oxlint typos codespell ty pyright mypy")


def is_obeyed(path: str, words: Collection[str]) -> bool:
    return path.rpartition("/")[2] in NAMES and not RESPECTING.isdisjoint(words)


def hides(base: Base, path: str, old: bytes, new: bytes) -> bool:
    """Whether lines that are new cover a file or a directory of the base, or nobody can tell."""
    place = path.rpartition("/")[0]
    try:
        before, after = (lines(text.decode("utf-8", "surrogateescape")) for text in (old, new))
    except Unreadable:
        return old != new
    return any(_covers(base, place, line.strip()) for line in set(after) - set(before))


def _covers(base: Base, place: str, line: str) -> bool:
    pattern = line.strip("/").removeprefix("**/").removesuffix("/**").removesuffix("/*")
    if not pattern or line.startswith(("#", "!")):
        return False
    above, _, name = pattern.rpartition("/")
    directory = "/".join(part for part in (place, above) if part)
    return any(fnmatchcase(other, name) for other in base.names(directory) if other != ".git")
