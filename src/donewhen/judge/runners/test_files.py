"""Finds the test files that a command runs, by name. Only the base is read."""

import contextlib
import fnmatch
import os
import re
from collections.abc import Iterator, Sequence

from donewhen.judge.runners.script_text import MOST_BYTES
from donewhen.workspace.beneath import Root

MOST_ENTRIES = 50_000
LEFT_OUT = {
    "node_modules", "vendor", "target", "build", "dist", "out", "site-packages", "__pycache__", "venv", "coverage",
    "fixtures", "testdata", "__snapshots__",
}  # fmt: skip


def test_files(directory: Root, patterns: Sequence[str], arguments: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield files with their content: first those that the arguments name, then the others, starting near the top."""
    named = [path for word in arguments if (path := _named(directory, word))]
    for path in [path for path in named if directory.is_file(path)]:
        yield from _with_content(directory, path)
    for top in [path for path in named if directory.is_directory(path)] or ["."]:
        for path in _below(directory, top, patterns):
            yield from _with_content(directory, path)


def _named(directory: Root, word: str) -> str:
    """Return the file or directory of the base that an argument means: a path, a pytest node id, a dotted module."""
    path = word.split("::")[0].removesuffix("/...")
    if not path or word.startswith("-"):
        return ""
    for form in (path, f"{path.replace('.', '/')}.py"):
        with contextlib.suppress(OSError):
            if directory.status(form) is not None:
                return form
    return ""


def _below(directory: Root, top: str, patterns: Sequence[str]) -> list[str]:
    found, entries = list[str](), 0
    waiting = [top]
    while waiting and entries <= MOST_ENTRIES:
        above = waiting.pop()
        with contextlib.suppress(OSError), directory.directory(above) as fd, os.scandir(fd) as listed:
            inside = sorted((entry.name, entry.is_dir(follow_symlinks=False)) for entry in listed)
            entries += len(inside)
            for name, is_directory in reversed(inside):
                path = os.path.normpath(os.path.join(above, name))
                if not is_directory and any(fnmatch.fnmatchcase(name, form) for form in patterns):
                    found.append(path)
                elif is_directory and name not in LEFT_OUT and not name.startswith("."):
                    waiting.append(path)
    return sorted(found, key=lambda path: (path.count("/"), path.split("/")))


def _with_content(directory: Root, path: str) -> Iterator[tuple[str, str]]:
    with contextlib.suppress(OSError, UnicodeDecodeError):
        content = directory.read(path, MOST_BYTES + 1)
        if content is not None and len(content) <= MOST_BYTES:
            yield os.path.normpath(path), content.decode()


def first_group(found: re.Match[str] | None) -> str:
    return found[1] if found else ""
