"""From a layer on disk to a tree id: what counts, what is refused, what it becomes.

Git decides what is ignored and converts line ends and encodings, by the candidate's own rules, in a scratch git dir of
ours with the layer as its work tree. A few git processes do it all, whatever the size of the base: rules that the
layer did not touch reach git through an index that holds nothing else.
"""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import anyio
import anyio.to_thread

from donewhen.errors import DonewhenError
from donewhen.workspace.capture import refusals, walk
from donewhen.workspace.capture.walk import Item, Layer, joined
from donewhen.workspace.git import GitFailed, Place
from donewhen.workspace.index import Held, entries, written
from donewhen.workspace.objects import (
    FILE,
    GITLINK,
    PROGRAM,
    TREE,
    Change,
    Entries,
    Entry,
    parents,
    raw,
    shown,
    text,
    tree_content,
    tree_entries,
)
from donewhen.workspace.store import Store, lfs
from donewhen.workspace.store.checkout import with_filter
from donewhen.workspace.store.skeleton import Skeleton

STATUS = ("status", "--porcelain=v1", "-z", "--no-renames", "--untracked-files=all", "--ignored=matching")


class CandidateRefused(DonewhenError):
    """What was made cannot be held in a tree. `offences` has every path with its reason; the message the first."""

    def __init__(self, offences: list[tuple[bytes, str]]) -> None:
        path, reason = offences[0]
        more = f" (and {len(offences) - 1} more)" if len(offences) > 1 else ""
        super().__init__(f"{shown(path)} {reason}{more}")
        self.offences = offences


@dataclass(frozen=True, slots=True)
class Candidate:
    tree: str
    changes: tuple[Change, ...]
    flagged: tuple[str, ...]
    """Changed paths that a person should see: switches of git, and configuration that makes tools run something."""


async def take(store: Store, base: Skeleton, layer: Layer) -> Candidate:
    """The candidate that a layer over this base makes, or CandidateRefused."""
    tree = await _Taking(store, base, layer).tree()
    changes = tuple(await store.diff(base.tree, tree)) if tree != base.tree else ()
    return Candidate(tree, changes, tuple(change.path for change in changes if refusals.is_flagged(raw(change.path))))


class _Taking:
    def __init__(self, store: Store, base: Skeleton, layer: Layer) -> None:
        self._bare = store.bare
        self._base = base
        self._layer = layer
        self._trees: dict[bytes, Entries] = {}
        """The entries of the base's directories that the layer touches."""
        self._ignored: set[bytes] = set()

    async def tree(self) -> str:
        with self._bare.scratch(Path(os.fsdecode(self._layer.root))) as place:
            await self._ask(place)
            walk.enter(self._layer, self._may_enter)
            offences = sorted(self._offences())
            if offences:
                raise CandidateRefused(offences)
            return self._write_trees(await self._record(place))

    # -- what is known about it --

    async def _ask(self, place: Place) -> None:
        place.index.write_bytes(written(self._rules(), self._bare.object_format))
        try:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(self._read_trees)
                tasks.start_soon(self._read_ignored, place)
        except ExceptionGroup as group:
            raise group.exceptions[0] from group

    def _rules(self) -> list[Held]:
        """The rules of the base that the layer leaves as they are."""
        rules = self._base.rules.items()
        return [Held(path, entry, absent=True) for path, entry in rules if self._layer.shows(path)]

    async def _read_trees(self) -> None:
        touched = [directory for directory in self._layer.listing if directory in self._base.directories]
        contents = await self._bare.contents([self._base.directories[directory] for directory in touched])
        for directory, content in zip(touched, contents, strict=True):
            self._trees[directory] = tree_entries(content, self._bare.object_format)

    async def _read_ignored(self, place: Place) -> None:
        answer = await self._bare.run(*STATUS, at=place)
        records = answer.split(b"\0")
        self._ignored = {record[3:].rstrip(b"/") for record in records if record.startswith(b"!! ")}

    def _may_enter(self, directory: bytes) -> bool:
        return not self._is_ignored(directory) and not refusals.wrong_name(directory)

    def _is_ignored(self, path: bytes) -> bool:
        return path in self._ignored or not self._ignored.isdisjoint(parents(path))

    def _in_base(self, path: bytes) -> Entry | None:
        """What the base has at a path; a directory is nothing of its own."""
        directory, _, name = path.rpartition(b"/")
        entry = self._trees.get(directory, {}).get(name)
        return entry if entry is not None and entry.mode != TREE else None

    def _counting(self) -> Iterator[tuple[bytes, Item]]:
        """What is in the layer and belongs to the candidate: paths of the base, and new ones that are not ignored."""
        for path, item in self._layer.items():
            if item.kind != "gone" and (self._in_base(path) is not None or not self._is_ignored(path)):
                yield path, item

    # -- what it may not be --

    def _offences(self) -> Iterator[tuple[bytes, str]]:
        total = 0
        for path, item in self._counting():
            why = self._wrong_item(path, item)
            total += item.size
            if why or total > refusals.LARGEST_SUM:
                yield path, why or "makes the change too large"
        yield from refusals.wrong_links(self._base.links, self._links())

    def _wrong_item(self, path: bytes, item: Item) -> str:
        if self._in_base(path) is None and (why := refusals.wrong_name(path)):
            return why
        if item.kind == "directory":
            return ""
        if any((entry := self._in_base(above)) and entry.mode == GITLINK for above in parents(path)):
            return "lies in a submodule, which cannot be changed from here"
        return refusals.wrong_file(path, item.kind, item.size)

    def _links(self) -> dict[bytes, bytes]:
        kept = {path: target for path, target in self._base.links.items() if self._layer.shows(path)}
        return kept | {path: item.target for path, item in self._counting() if item.kind == "link"}

    # -- what it becomes --

    async def _record(self, place: Place) -> dict[bytes, Entry]:
        """Store every file and link that counts; their entries."""
        paths = {path: item for path, item in self._counting() if item.kind in ("file", "link")}
        held = {item.path: item for item in self._rules()}
        for path in paths:
            entry = self._in_base(path)
            if entry is not None and entry.mode in (FILE, PROGRAM):
                held[path] = Held(path, entry)  # whether git changes line ends depends on what was there before
        place.index.write_bytes(written(held.values(), self._bare.object_format))
        pointers = await self._take_in_lfs(place, paths)
        await self._update_index(place, [path for path in paths if path not in pointers])
        known = entries(place.index.read_bytes(), self._bare.object_format)
        return {path: pointers.get(path) or known[path] for path in paths}

    async def _update_index(self, place: Place, paths: list[bytes]) -> None:
        names = b"".join(path + b"\0" for path in paths)
        try:
            if names:
                await self._bare.run("update-index", "--add", "-z", "--stdin", at=place, stdin=names)
        except GitFailed as error:
            named = [path for path in paths if f"'{text(path)}'" in error.said]
            if not named:
                raise
            raise CandidateRefused([(named[0], f"cannot be stored: {error}")]) from error

    async def _take_in_lfs(self, place: Place, paths: dict[bytes, Item]) -> dict[bytes, Entry]:
        if not self._base.lfs and not any(path.endswith(b".gitattributes") for path in paths):
            return {}
        files = [path for path, item in paths.items() if item.kind == "file"]
        found = (await with_filter(self._bare, place, files)).get("lfs", []) if files else []
        return {path: await anyio.to_thread.run_sync(self._pointer, path, paths[path]) for path in found}

    def _pointer(self, path: bytes, item: Item) -> Entry:
        content = lfs.take_in(joined(self._layer.root, path), self._bare.directory / "lfs")
        return Entry(PROGRAM if item.program else FILE, self._bare.write("blob", content))

    def _write_trees(self, recorded: dict[bytes, Entry]) -> str:
        """The directories that the layer touches, from the deepest up; the root's id."""
        built: dict[bytes, Entries] = {}
        for directory in sorted(self._layer.listing, key=lambda path: (-path.count(b"/"), path == b"")):
            shown_through = {} if self._layer.hides(directory) else self._trees.get(directory, {})
            built[directory] = now = dict(shown_through)
            for name, item in self._layer.listing[directory].items():
                entry = self._entry(joined(directory, name), item, recorded, built)
                now.pop(name, None)  # whatever the base has there, it does not show through
                if entry is not None:
                    now[name] = entry
        return self._tree_id(b"", built[b""])

    def _tree_id(self, directory: bytes, now: Entries) -> str:
        if now == self._trees.get(directory):
            return self._base.directories[directory]
        return self._bare.write("tree", tree_content(now))

    def _entry(
        self, path: bytes, item: Item, recorded: dict[bytes, Entry], built: dict[bytes, Entries]
    ) -> Entry | None:
        if item.kind != "directory":
            return recorded.get(path)
        before = self._in_base(path)
        if before is not None and before.mode == GITLINK:
            return before
        return Entry(TREE, self._tree_id(path, built[path])) if built.get(path) else None
