"""Ignore files that list existing files: some linters skip every path that they list, tracked or not.

They are examined only if a check runs such a linter. A pattern that covers no file of the base is ordinary work.
"""

from collections.abc import Collection
from fnmatch import fnmatchcase

from donewhen.judge.protect.base_files import BaseFiles
from donewhen.judge.protect.contents.accepted_part import FileUnreadable, lines
from donewhen.judge.protect.names.word_set import listed

NAMES = (".gitignore", ".ignore", ".rgignore")
RESPECTING = listed("ruff black biome prettier eslint rg oxlint typos codespell ty pyright mypy")


def is_used_ignore_file(path: str, words: Collection[str]) -> bool:
    return path.rpartition("/")[2] in NAMES and not RESPECTING.isdisjoint(words)


def hides(base: BaseFiles, path: str, old: bytes, new: bytes) -> bool:
    """Return True if new lines cover a file or directory of the base, or if that cannot be determined."""
    parent = path.rpartition("/")[0]
    try:
        before, after = (lines(text.decode("utf-8", "surrogateescape")) for text in (old, new))
    except FileUnreadable:
        return old != new
    return any(_covers(base, parent, line.strip()) for line in set(after) - set(before))


def _covers(base: BaseFiles, parent: str, line: str) -> bool:
    pattern = line.strip("/").removeprefix("**/").removesuffix("/**").removesuffix("/*")
    if not pattern or line.startswith(("#", "!")):
        return False
    above, _, name = pattern.rpartition("/")
    directory = "/".join(part for part in (parent, above) if part)
    return any(fnmatchcase(other, name) for other in base.names(directory) if other != ".git")
