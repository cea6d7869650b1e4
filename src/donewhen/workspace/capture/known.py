"""What must be known about a layer before anything of it is stored: the base beneath it, and what git ignores in it.

Git is asked with the layer as its work tree, in a scratch git dir of ours. Rules that the layer did not touch reach it
through an index that holds nothing else, so that the size of the base does not matter.
"""

from collections.abc import Iterator

import anyio
import anyio.to_thread

from donewhen.workspace.capture import refusals, walk
from donewhen.workspace.capture.walk import Item, Layer
from donewhen.workspace.git import GitFailed, Place
from donewhen.workspace.index import Held, written
from donewhen.workspace.objects import TREE, Entries, Entry, parents, tree_entries
from donewhen.workspace.store import Store
from donewhen.workspace.store.skeleton import Skeleton

STATUS = ("status", "--porcelain=v1", "-z", "--no-renames", "--untracked-files=all", "--ignored=matching")
SLOW_SECS = 2.0
"""When asking what is ignored takes this long, somebody may have laid a pipe where git looks for rules."""
MOST_MEMORY = 2 << 30


class Known:
    """A layer over its base. `ask` first; then the rest can be told."""

    def __init__(self, store: Store, base: Skeleton, layer: Layer) -> None:
        self.bare = store.bare
        self.lfs_places = store.lfs_places
        self.base = base
        self.layer = layer
        self.trees: dict[bytes, Entries] = {}
        """The entries of the base's directories that the layer touches."""
        self._ignored: set[bytes] = set()

    async def ask(self, place: Place) -> None:
        """Find out what is ignored and what the base has, and go into the new directories that count."""
        place.index.write_bytes(written(self.rules(), self.bare.object_format))
        try:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(self._read_trees)
                tasks.start_soon(self._read_ignored, place)
        except ExceptionGroup as group:
            raise group.exceptions[0] from group
        walk.enter(self.layer, self._may_enter)

    def rules(self) -> list[Held]:
        """The rules of the base that the layer leaves as they are."""
        rules = self.base.rules.items()
        return [Held(path, entry, absent=True) for path, entry in rules if self.layer.shows(path)]

    def in_base(self, path: bytes) -> Entry | None:
        """What the base has at a path; a directory is nothing of its own."""
        directory, _, name = path.rpartition(b"/")
        entry = self.trees.get(directory, {}).get(name)
        return entry if entry is not None and entry.mode != TREE else None

    def counting(self) -> Iterator[tuple[bytes, Item]]:
        """What is in the layer and belongs to the candidate: paths of the base, and new ones that are not ignored."""
        for path, item in self.layer.items():
            if item.kind != "gone" and (self.in_base(path) is not None or not self._is_ignored(path)):
                yield path, item

    def links(self) -> dict[bytes, bytes]:
        """Every link of the candidate with its target."""
        kept = {path: target for path, target in self.base.links.items() if self.layer.shows(path)}
        return kept | {path: item.target for path, item in self.counting() if item.kind == "link"}

    async def _read_trees(self) -> None:
        touched = [directory for directory in self.layer.listing if directory in self.base.directories]
        contents = await self.bare.contents([self.base.directories[directory] for directory in touched])
        for directory, content in zip(touched, contents, strict=True):
            self.trees[directory] = tree_entries(content, self.bare.object_format)

    async def _read_ignored(self, place: Place) -> None:
        try:
            with anyio.move_on_after(SLOW_SECS) as soon:
                await self._status(place)
            if soon.cancelled_caught:
                await self._refuse_traps()
                await self._status(place)  # it is only large
        except GitFailed:
            await self._refuse_traps()
            raise

    async def _status(self, place: Place) -> None:
        records = (await self.bare.run(*STATUS, at=place, memory=MOST_MEMORY)).split(b"\0")
        self._ignored = {record[3:].rstrip(b"/") for record in records if record.startswith(b"!! ")}

    async def _refuse_traps(self) -> None:
        """Look where git went before us, for what would have kept it there."""
        found = await anyio.to_thread.run_sync(lambda: list(walk.traps(self.layer)))
        refusals.refuse((path, refusals.wrong_rules(path, item.kind, item.size)) for path, item in found)

    def _may_enter(self, directory: bytes) -> bool:
        return not self._is_ignored(directory) and not refusals.wrong_name(directory)

    def _is_ignored(self, path: bytes) -> bool:
        return path in self._ignored or not self._ignored.isdisjoint(parents(path))
