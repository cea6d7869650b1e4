"""What a check may not write while it runs, and what of it is mounted read-only. The rules about paths are `protect`'s.

Candidate code runs inside a check, and a check may have several stages: what one stage writes, the next one reads. So
besides protected paths the judged files themselves are sealed, and so is what Python would load before them: bytecode,
modules that hide others, and what looks like an installed package. Lock files are not, for tools keep them up to date.

What the base's own run writes is the project's habit; that comparison is `evidence`'s.
"""

import contextlib
import os
import re
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path

from donewhen.judge.protect import Guard
from donewhen.judge.protect.guard import CONTRACT_FILE
from donewhen.judge.protect.shadows import Shadows
from donewhen.workspace.beneath import LeavesRoot, Root
from donewhen.workspace.layers import is_lock_file

MOST_FIXED = 32
"""So many protected files are mounted read-only while a check runs; of all others every write is seen afterwards."""
_METADATA = re.compile(r"(?:^|/)([^/]+\.(?:egg-info|dist-info|egg-link|pth))(?:/|$)")


class Seal:
    """The seal of one judged tree. `added` are the files that it has beyond the base."""

    def __init__(self, guard: Guard, base_files: Root, added: Collection[str], sites: Sequence[Path]) -> None:
        self._guard = guard
        self._base_files = base_files
        self._added = frozenset(added)
        self._sites = sites

    def broken(self, written: Iterable[str]) -> tuple[str, ...]:
        """One line for each thing among the written paths that should not have been written."""
        paths = list(written)
        found = dict.fromkeys(line for path in paths if (line := self._line(path)))
        modules = [path for path in paths if path.endswith((".py", ".so")) and not self._is_judged(path)]
        if modules:
            shadows = Shadows(self._guard.base, self._sites, self._guard.executed.directories)
            found.update(dict.fromkeys(shadows.among(modules)))
        return tuple(found)

    def _line(self, path: str) -> str:
        if path.endswith(".pyc"):
            return "bytecode in the tree"  # one line for all: which files there are depends on what was imported
        if metadata := _METADATA.search(path):
            return f"{metadata[1]} (looks like an installed package)"
        if reason := self._guard.protects(path):
            return f"{path} ({reason})"
        return f"{path} (is part of what is judged)" if self._is_judged(path) and not is_lock_file(path) else ""

    def _is_judged(self, path: str) -> bool:
        return path in self._added or self._base_has(path)

    def _base_has(self, path: str) -> bool:
        """What lies behind a link of the base is not the base's."""
        try:
            return self._base_files.status(path) is not None
        except LeavesRoot:
            return False

    def fixed(self, changed: Collection[str], directories: Iterable[str]) -> tuple[str, ...]:
        """Protected files, as the base has them, at the root and in the directories of the checks."""
        # The contract is left out: it appears without its held-out checks, and not as the base has it.
        near = (path for path in _files_near(self._base_files, directories) if path not in changed)
        near = (path for path in near if os.path.basename(path) != CONTRACT_FILE)
        return tuple(path for path in near if self._guard.protects(path))[:MOST_FIXED]


def _files_near(base_files: Root, directories: Iterable[str]) -> list[str]:
    """The plain files of the base at its root and in these directories, where most of what governs checks lies.

    A directory behind a link has none: it may lie outside the base, and what is found here is mounted from the host.
    """
    found: list[str] = []
    for directory in sorted({".", *directories}):
        with contextlib.suppress(OSError), base_files.directory(directory) as fd, os.scandir(fd) as inside:
            files = sorted(entry.name for entry in inside if entry.is_file(follow_symlinks=False))
            found += [os.path.normpath(os.path.join(directory, name)) for name in files]
    return found
