"""Facts about a layer that are needed before it is stored: the base beneath it, and what git ignores in it.

Git runs with the layer as its work tree, in a scratch git directory of ours. Ignore rules of the base that the layer
did not change reach git through an index that holds nothing else. So the size of the base does not matter.
"""

from collections.abc import Iterator

import anyio

from donewhen.workspace.git.index import IndexEntry, index_content
from donewhen.workspace.git.objects import TREE, Entries, TreeEntry, parents, tree_entries
from donewhen.workspace.git.run_git import GitLocation
from donewhen.workspace.git.store import Store
from donewhen.workspace.git.store.skeleton import Skeleton
from donewhen.workspace.trees.capture import read_layer, refusals
from donewhen.workspace.trees.capture.read_layer import LayerItem, LayerListing

STATUS = ("status", "--porcelain=v1", "-z", "--no-renames", "--untracked-files=all", "--ignored=matching")
MOST_MEMORY = 2 << 30


class LayerFacts:
    """A layer over its base. Call `collect` first; the other methods use its results."""

    def __init__(self, store: Store, base: Skeleton, layer: LayerListing) -> None:
        self.bare = store.bare
        self.lfs_places = store.lfs_places
        self.base = base
        self.layer = layer
        self.trees: dict[bytes, Entries] = {}
        """The entries of those base directories that the layer touches."""
        self._ignored: set[bytes] = set()

    async def collect(self, location: GitLocation) -> None:
        """Find out what is ignored and what the base has, then read the new directories that count."""
        location.index.write_bytes(index_content(self.rules(), self.bare.object_format))
        try:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(self._read_trees)
                tasks.start_soon(self._read_ignored, location)
        except ExceptionGroup as group:
            raise group.exceptions[0] from group
        read_layer.enter(self.layer, self._may_enter)

    def rules(self) -> list[IndexEntry]:
        """Return the rule files of the base that the layer leaves unchanged, as index entries."""
        rules = self.base.rules.items()
        return [IndexEntry(path, entry, absent=True) for path, entry in rules if self.layer.is_unchanged(path)]

    def in_base(self, path: bytes) -> TreeEntry | None:
        """Return the base's entry at a path; None if there is none or it is a directory."""
        directory, _, name = path.rpartition(b"/")
        entry = self.trees.get(directory, {}).get(name)
        return entry if entry is not None and entry.mode != TREE else None

    def candidate_items(self) -> Iterator[tuple[bytes, LayerItem]]:
        """Yield the layer's part of the candidate: paths of the base, and new ones that are not ignored."""
        for path, item in self.layer.items():
            if item.kind != "gone" and (self.in_base(path) is not None or not self._is_ignored(path)):
                yield path, item

    def links(self) -> dict[bytes, bytes]:
        """Return every link of the candidate with its target."""
        kept = {path: target for path, target in self.base.links.items() if self.layer.is_unchanged(path)}
        return kept | {path: item.target for path, item in self.candidate_items() if item.kind == "link"}

    async def _read_trees(self) -> None:
        touched = [directory for directory in self.layer.listing if directory in self.base.directories]
        contents = await self.bare.contents([self.base.directories[directory] for directory in touched])
        for directory, content in zip(touched, contents, strict=True):
            self.trees[directory] = tree_entries(content, self.bare.object_format)

    async def _read_ignored(self, location: GitLocation) -> None:
        records = (await self.bare.run(*STATUS, at=location, memory=MOST_MEMORY)).split(b"\0")
        self._ignored = {record[3:].rstrip(b"/") for record in records if record.startswith(b"!! ")}

    def refuse_traps(self) -> None:
        """Refuse files that would block or overload git in directories that it enters before we do."""
        found = list(read_layer.find_traps(self.layer))
        refusals.refuse((path, refusals.wrong_rules(path, item.kind, item.size)) for path, item in found)

    def _may_enter(self, directory: bytes) -> bool:
        return not self._is_ignored(directory) and not refusals.wrong_name(directory)

    def _is_ignored(self, path: bytes) -> bool:
        return path in self._ignored or not self._ignored.isdisjoint(parents(path))
