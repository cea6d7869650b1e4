"""What a check may not write while it runs, and which files are mounted read-only. `protect` has the path rules.

Code of the candidate runs inside a check, and a check may have several stages: one stage can write what the next stage
reads. So not only protected paths are sealed. The judged files are sealed too, and so are files that Python would load
instead of them: modules that shadow others, and files that look like an installed package. Bytecode and data are listed
apart, because an honest run may leave them; `green_proof` decides. Lock files are not sealed: tools update them.

Paths that the run on the base writes too are normal for the project. `evidence` makes that comparison.
"""

import contextlib
import os
import re
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path

from donewhen.judge.check_run import SealedWrites
from donewhen.judge.protect import Guard
from donewhen.judge.protect.rules.guard import CONTRACT_FILE
from donewhen.judge.protect.rules.shadow_modules import ShadowModules
from donewhen.workspace.beneath import LeavesRoot, Root
from donewhen.workspace.trees.layers import is_lock_file

MOST_FIXED = 32
"""Maximum number of files mounted read-only during a check. Writes to all other files are detected afterwards."""
MOST_DIRECTORIES = 200
"""Maximum number of directories with bytecode for which a run is repeated without it."""
DATA = (".txt", ".log", ".csv", ".tsv", ".json", ".jsonl", ".db", ".sqlite", ".sqlite3", ".dat", ".state")
"""Files in which products keep what they know between two runs. No program executes them."""
_METADATA = re.compile(r"(?:^|/)([^/]+\.(?:egg-info|dist-info|egg-link|pth))(?:/|$)")


class Seal:
    """The seal of one judged tree. `added` are its files that the base does not have."""

    def __init__(self, guard: Guard, base_files: Root, added: Collection[str], sites: Sequence[Path]) -> None:
        self._guard = guard
        self._base_files = base_files
        self._added = frozenset(added)
        self._sites = sites

    def forbidden_writes(self, written: Iterable[str]) -> SealedWrites:
        """Return the forbidden writes among the written paths."""
        paths = list(written)
        bytecode = {path.rpartition("/")[0] for path in paths if self._is_cached_bytecode(path)}
        if len(bytecode) > MOST_DIRECTORIES:
            return SealedWrites(lines=(f"bytecode in more than {MOST_DIRECTORIES} directories",))
        paths = [path for path in paths if not self._is_cached_bytecode(path)]
        data = {path for path in paths if self._is_data(path)}
        found = dict.fromkeys(line for path in paths if path not in data and (line := self._line(path)))
        modules = [path for path in paths if path.endswith((".py", ".so")) and not self._is_judged(path)]
        if modules:
            shadows = ShadowModules(self._guard.base, self._sites, self._guard.scripts_run.directories)
            found.update(dict.fromkeys(shadows.among(modules)))
        return SealedWrites(lines=tuple(found), bytecode=tuple(sorted(bytecode)), data=tuple(sorted(data)))

    def _is_cached_bytecode(self, path: str) -> bool:
        is_cached = path.endswith(".pyc") and path.split("/")[-2:-1] == ["__pycache__"]
        return is_cached and not self._guard.contract_reason(path)

    def _is_data(self, path: str) -> bool:
        """Return True for a judged file that no rule protects, no check names, and that only contains data."""
        name = path.rpartition("/")[2]
        if not name.lower().endswith(DATA) or name in self._guard.scripts_run.words or not self._is_judged(path):
            return False
        return not is_lock_file(path) and not _METADATA.search(path) and not self._guard.protects(path)

    def _line(self, path: str) -> str:
        if path.endswith(".pyc"):
            return f"{path} (bytecode that hides its source)"
        if metadata := _METADATA.search(path):
            return f"{metadata[1]} (looks like an installed package)"
        if reason := self._guard.protects(path):
            return f"{path} ({reason})"
        return f"{path} (is part of what is judged)" if self._is_judged(path) and not is_lock_file(path) else ""

    def _is_judged(self, path: str) -> bool:
        return path in self._added or self._base_has(path)

    def _base_has(self, path: str) -> bool:
        """Return True if the base has the path. A path behind a link does not belong to the base."""
        try:
            return self._base_files.status(path) is not None
        except LeavesRoot:
            return False

    def read_only_files(self, changed: Collection[str], directories: Iterable[str]) -> tuple[str, ...]:
        """Return the unchanged protected files at the root and in the directories of the checks."""
        # The contract file is excluded: in the tree it lacks the held-out checks, so it differs from the base.
        near = (path for path in _files_near(self._base_files, directories) if path not in changed)
        near = (path for path in near if os.path.basename(path) != CONTRACT_FILE)
        return tuple(path for path in near if self._guard.protects(path))[:MOST_FIXED]


def _files_near(base_files: Root, directories: Iterable[str]) -> list[str]:
    """Return the regular files of the base at its root and in these directories.

    Most files that control checks are there. A directory behind a link is skipped: it may be outside of the base, and
    the returned files are mounted from the host.
    """
    found: list[str] = []
    for directory in sorted({".", *directories}):
        with contextlib.suppress(OSError), base_files.directory(directory) as fd, os.scandir(fd) as inside:
            files = sorted(entry.name for entry in inside if entry.is_file(follow_symlinks=False))
            found += [os.path.normpath(os.path.join(directory, name)) for name in files]
    return found
