"""Sorts the changes of a candidate into those that are graded and those that are restored from the base.

Five steps, in this order: by name, by what the checks use, by content, by Rust module, and by conflict with paths that
are restored.
"""

from collections.abc import Mapping
from functools import lru_cache

import anyio.to_thread

from donewhen.judge.protect.contents.accepted_part import AcceptedPart
from donewhen.judge.protect.names import mixed_files
from donewhen.judge.protect.rules import ignore_files
from donewhen.judge.protect.rules.guard import Guard
from donewhen.judge.protect.rules.used_files import UsedFiles
from donewhen.judge.verdict import Edit
from donewhen.workspace.git.objects import FILE, PROGRAM, Change, TreeEntry, parents, raw, text
from donewhen.workspace.git.store import Store

Entries = dict[bytes, TreeEntry | None]
MOST_SOURCES = 64
"""The number of sources of the base that are kept in memory."""
FIRST_ONES = frozenset({"package.json", "composer.json", "Cargo.toml", "go.mod", "Gemfile"})


class ChangeGrading:
    """The changes of a candidate, sorted into those that are graded and those that are restored."""

    def __init__(self, guard: Guard, changes: Mapping[bytes, Change]) -> None:
        self.guard = guard
        self.changes = changes
        self.edits: dict[bytes, Edit] = {}
        self.restored: Entries = {}

    def by_name(self) -> None:
        for path, change in self.changes.items():
            if reason := self.guard.reason(change.path, change.old is not None):
                self._restore(path, reason)

    def by_use(self, used: UsedFiles) -> None:
        removed = {change.path for change in self.changes.values() if change.new is None}
        for path, change in self.changes.items():
            if path in self.edits:
                continue
            if reason := used.reason(change.path, change.old is not None, removed.__contains__):
                self._restore(path, reason)

    async def by_content(self, store: Store) -> None:
        """Examine the files whose names do not decide. One git process reads all of them."""
        graded = ((path, change) for path, change in self.changes.items() if path not in self.edits)
        examined = [path for path, change in graded if self._needs_examination(change)]
        for path in examined:
            if not _are_files(self.changes[path]):
                self._restore(path, mixed_files.reason(text(path)))
        examined = [path for path in examined if path not in self.edits]
        wanted = [entry.id for path in examined for entry in _both(self.changes[path]) if entry]
        contents = dict(zip(wanted, await store.bare.readable_contents(wanted), strict=True))
        for path in examined:
            both = _both(self.changes[path])
            old, new = (contents[entry.id] if entry else None for entry in both)
            if any(entry and contents[entry.id] is None for entry in both):
                await self._examine_large(store, path)
            else:
                self._examine(store, path, old, new)

    def _needs_examination(self, change: Change) -> bool:
        if self.guard.is_editable(change.path):
            return False
        exists, suite = change.old is not None, self.guard.suite
        is_test = suite.is_test(change.path) or suite.is_loaded(change.path)
        in_old_directory = self.guard.is_in_old_directory(change.path)
        if ignore_files.is_used_ignore_file(change.path, self.guard.scripts_run.words):
            return True
        if not exists and self._is_first(change.path):
            return False
        return mixed_files.needs_examination(change.path, exists, in_old_directory, is_test)

    def _is_first(self, path: str) -> bool:
        """Return True for the first manifest of its kind. It is ordinary work: no existing rule can be bent by it."""
        parent, _, name = path.rpartition("/")
        return name in FIRST_ONES and self.guard.is_first(parent, (name,))

    def _examine(self, store: Store, path: bytes, old: bytes | None, new: bytes | None) -> None:
        change = self.changes[path]
        if ignore_files.is_used_ignore_file(change.path, self.guard.scripts_run.words):
            if ignore_files.hides(self.guard.base, change.path, old or b"", new or b""):
                self._restore(path, "hides files from a check")
            return
        from donewhen.judge.protect.contents import (
            mixed_contents,  # the readers of manifests and sources are imported on use
        )

        self._accept_part(
            store, path, mixed_contents.accepted_part(change.path, old, new, self.guard.scripts_run.words), old
        )

    def _accept_part(self, store: Store, path: bytes, found: AcceptedPart, old: bytes | None) -> None:
        change = self.changes[path]
        if found.none or (found.content is not None and found.content == (old or b"")):
            self._restore(path, found.reason or mixed_files.reason(change.path), found.reverted)
        elif found.content is not None:
            mode = (change.old or change.new or TreeEntry(FILE, "")).mode
            self._restore(path, mixed_files.reason(change.path), found.reverted)
            self.restored[path] = TreeEntry(mode, store.bare.write("blob", found.content))

    async def by_module(self, store: Store) -> None:
        """Examine the tests inside of Rust sources. They belong to modules, and a module may move to another file."""
        sources = {path: change for path, change in self.changes.items() if self._is_source(path)}
        if not sources:
            return
        from donewhen.judge.protect.contents.rust_tests import restore_tests  # only for changed Rust sources

        readable = {path: change.new for path, change in sources.items() if change.new and _are_files(change)}
        contents = await store.bare.readable_contents([entry.id for entry in readable.values()])
        texts = dict(zip(readable, map(_decoded, contents), strict=True))
        too_large = {path for path, content in zip(readable, contents, strict=True) if content is None}
        for path, change in sources.items():
            if change.old and change.new and texts.get(path) is None and not self.guard.is_editable(change.path):
                reason = "is too large to be examined" if path in too_large else mixed_files.reason(change.path)
                self._restore(path, reason)
        changed = {change.path: texts.get(path) for path, change in sources.items() if path not in self.edits}
        base = lru_cache(MOST_SOURCES)(self.guard.base.source)
        for name, part in restore_tests(base, changed, self.guard.is_editable).items():
            self._accept_part(store, raw(name), part, (base(name) or "").encode())

    def _is_source(self, path: bytes) -> bool:
        return path.endswith(b".rs") and path not in self.edits

    async def _examine_large(self, store: Store, path: bytes) -> None:
        """Examine a large file. Only a new test file is read in pieces; others would need to be parsed as a whole."""
        from donewhen.judge.protect.contents import (
            mixed_contents,  # the readers of manifests and sources are imported on use
        )

        change = self.changes[path]
        rule = mixed_contents.large_file_rule(change.path)
        if rule is None or change.old is not None or change.new is None:
            self._restore(path, "is too large to be examined")
            return
        async with store.bare.blob_file(change.new.id) as file:
            if not await anyio.to_thread.run_sync(rule, file, mixed_contents.PIECE):
                self._restore(path, mixed_files.reason(change.path))

    def _restore(self, path: bytes, reason: str, parts: tuple[str, ...] = ()) -> None:
        change = self.changes[path]
        kind = change.kind if change.kind in ("added", "deleted") else "modified"
        self.edits[path] = Edit(change.path, kind, reason, parts)
        self.restored[path] = change.old

    def restore_conflicting(self) -> None:
        """Reject changes that conflict with a restored path: a name is either a file or a directory."""
        restored = {path for path, entry in self.restored.items() if entry is not None}
        above = {directory for path in restored for directory in parents(path)}
        for path, change in self.changes.items():
            if change.new is None or path in self.edits:
                continue
            if path in above or not restored.isdisjoint(parents(path)):
                self._restore(path, "is in the place of a protected path")

    def kept(self) -> Entries:
        """Return what differs between the base and the judged tree."""
        found: Entries = {}
        for path, change in self.changes.items():
            entry = self.restored.get(path, change.new)
            if entry != change.old:
                found[path] = entry
        return found


def _both(change: Change) -> tuple[TreeEntry | None, TreeEntry | None]:
    return change.old, change.new


def _decoded(content: bytes | None) -> str | None:
    """Return the text of a Rust source; None if it is too large, or if the compiler cannot read it either."""
    try:
        return content.decode() if content is not None else None
    except UnicodeDecodeError:
        return None


def _are_files(change: Change) -> bool:
    return all(entry is None or entry.mode in (FILE, PROGRAM) for entry in _both(change))
