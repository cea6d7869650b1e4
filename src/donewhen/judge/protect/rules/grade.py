"""Sorts the changes of a candidate into those that are graded and those that are restored from the base.

Three steps, in this order: by name, by content, and then by conflict with paths that are restored.
"""

from collections.abc import Mapping

import anyio.to_thread

from donewhen.judge.protect.contents.taken import WHOLE
from donewhen.judge.protect.names import mixed_files
from donewhen.judge.protect.rules import ignore_files
from donewhen.judge.protect.rules.guard import Guard
from donewhen.judge.verdict import Edit
from donewhen.workspace.git.objects import FILE, PROGRAM, Change, TreeEntry, parents, text
from donewhen.workspace.git.store import Store

Entries = dict[bytes, TreeEntry | None]
FIRST_ONES = frozenset({"package.json", "composer.json", "Cargo.toml", "go.mod", "Gemfile"})


class ChangeGrading:
    """The changes of a candidate, sorted into those that are graded and those that are restored."""

    def __init__(self, guard: Guard, changes: Mapping[bytes, Change]) -> None:
        self.guard = guard
        self.changes = changes
        self.edits: dict[bytes, Edit] = {}
        self.put_back: Entries = {}

    def by_name(self) -> None:
        for path, change in self.changes.items():
            if reason := self.guard.reason(change.path, change.old is not None):
                self._refuse(path, reason)

    async def by_content(self, store: Store) -> None:
        """Examine the files whose names do not decide. One git process reads all of them."""
        looked_at = [path for path, change in self.changes.items() if path not in self.edits and self._looks_at(change)]
        for path in looked_at:
            if not _are_files(self.changes[path]):
                self._refuse(path, mixed_files.reason(text(path)))
        looked_at = [path for path in looked_at if path not in self.edits]
        wanted = [entry.id for path in looked_at for entry in _both(self.changes[path]) if entry]
        contents = dict(zip(wanted, await store.bare.readable_contents(wanted), strict=True))
        for path in looked_at:
            both = _both(self.changes[path])
            old, new = (contents[entry.id] if entry else None for entry in both)
            if any(entry and contents[entry.id] is None for entry in both):
                await self._look_at_large(store, path)
            else:
                self._look(store, path, old, new)

    def _looks_at(self, change: Change) -> bool:
        if self.guard.is_editable(change.path):
            return False
        exists = change.old is not None
        in_old_directory = self.guard.is_old(change.path)
        if ignore_files.is_obeyed(change.path, self.guard.executed.words):
            return True
        if not exists and self._is_first(change.path):
            return False
        return mixed_files.looks_at(change.path, exists, in_old_directory, self.guard.suite.is_test(change.path))

    def _is_first(self, path: str) -> bool:
        """Return True for the first manifest of its kind. It is ordinary work: no existing rule can be bent by it."""
        place, _, name = path.rpartition("/")
        return name in FIRST_ONES and self.guard.is_first(place, (name,))

    def _look(self, store: Store, path: bytes, old: bytes | None, new: bytes | None) -> None:
        change = self.changes[path]
        if ignore_files.is_obeyed(change.path, self.guard.executed.words):
            if ignore_files.hides(self.guard.base, change.path, old or b"", new or b""):
                self._refuse(path, "hides files from a check")
            return
        from donewhen.judge.protect.contents import (
            mixed_contents,  # the readers of manifests and sources are imported on use
        )

        found = mixed_contents.taken(change.path, old, new, self.guard.executed.words)
        if found == WHOLE or (found.content is not None and found.content == (old or b"")):
            self._refuse(path, mixed_files.reason(change.path), found.reverted)
        elif found.content is not None:
            mode = (change.old or change.new or TreeEntry(FILE, "")).mode
            self._refuse(path, mixed_files.reason(change.path), found.reverted)
            self.put_back[path] = TreeEntry(mode, store.bare.write("blob", found.content))

    async def _look_at_large(self, store: Store, path: bytes) -> None:
        """Examine a large file. Only a new test file is read in pieces; others would need to be parsed as a whole."""
        from donewhen.judge.protect.contents import (
            mixed_contents,  # the readers of manifests and sources are imported on use
        )

        change = self.changes[path]
        look = mixed_contents.look_in_pieces(change.path)
        if look is None or change.old is not None or change.new is None:
            self._refuse(path, "is too large to be examined")
            return
        async with store.bare.blob_file(change.new.id) as file:
            if not await anyio.to_thread.run_sync(look, file, mixed_contents.PIECE):
                self._refuse(path, mixed_files.reason(change.path))

    def _refuse(self, path: bytes, reason: str, parts: tuple[str, ...] = ()) -> None:
        change = self.changes[path]
        kind = change.kind if change.kind in ("added", "deleted") else "modified"
        self.edits[path] = Edit(change.path, kind, reason, parts)
        self.put_back[path] = change.old

    def clear_the_way(self) -> None:
        """Reject changes that conflict with a restored path: a name is either a file or a directory."""
        standing = {path for path, entry in self.put_back.items() if entry is not None}
        above = {directory for path in standing for directory in parents(path)}
        for path, change in self.changes.items():
            if change.new is None or path in self.edits:
                continue
            if path in above or not standing.isdisjoint(parents(path)):
                self._refuse(path, "is in the place of a protected path")

    def kept(self) -> Entries:
        """Return what differs between the base and the judged tree."""
        found: Entries = {}
        for path, change in self.changes.items():
            entry = self.put_back.get(path, change.new)
            if entry != change.old:
                found[path] = entry
        return found


def _both(change: Change) -> tuple[TreeEntry | None, TreeEntry | None]:
    return change.old, change.new


def _are_files(change: Change) -> bool:
    return all(entry is None or entry.mode in (FILE, PROGRAM) for entry in _both(change))
