"""Where a repository keeps the tests that a command runs: a choice of files, by name. Only the base is looked at."""

import fnmatch
import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from donewhen.judge.runners.scripts import MOST_BYTES

MOST_ENTRIES = 50_000
LEFT_OUT = {
    "node_modules", "vendor", "target", "build", "dist", "out", "site-packages", "__pycache__", "venv", "coverage",
    "fixtures", "testdata", "__snapshots__",
}  # fmt: skip


def test_files(directory: Path, patterns: Sequence[str], arguments: Sequence[str]) -> Iterator[tuple[Path, str]]:
    """Files with their content. Those that the arguments name come first, then what lies near the top."""
    named = [path for word in arguments if (path := _named(directory, word)) is not None]
    for path in [path for path in named if path.is_file()]:
        yield from _with_content(path)
    for top in [path for path in named if path.is_dir()] or [directory]:
        for path in _below(top, patterns):
            yield from _with_content(path)


def _named(directory: Path, word: str) -> Path | None:
    """The file or directory of the base that an argument means: a path, a pytest node id, a dotted module."""
    path = word.split("::")[0].removesuffix("/...")
    if not path or word.startswith("-"):
        return None
    for form in (path, f"{path.replace('.', '/')}.py"):
        found = directory / form
        try:
            if found.exists() and found.resolve().is_relative_to(directory.resolve()):
                return found
        except (OSError, ValueError):
            continue
    return None


def _below(top: Path, patterns: Sequence[str]) -> list[Path]:
    found, entries = list[Path](), 0
    for above, directories, files in os.walk(top):
        directories[:] = sorted(name for name in directories if name not in LEFT_OUT and not name.startswith("."))
        entries += len(directories) + len(files)
        found += [Path(above, name) for name in files if any(fnmatch.fnmatchcase(name, form) for form in patterns)]
        if entries > MOST_ENTRIES:
            break
    return sorted(found, key=lambda path: (len(path.parts), path))


def _with_content(path: Path) -> Iterator[tuple[Path, str]]:
    try:
        content = path.read_bytes() if path.stat().st_size <= MOST_BYTES and not path.is_symlink() else b"\xff"
        yield path, content.decode()
    except (OSError, UnicodeDecodeError):
        return


def first_group(pattern: str, text: str) -> str:
    found = re.search(pattern, text, re.MULTILINE)
    return found[1] if found else ""
