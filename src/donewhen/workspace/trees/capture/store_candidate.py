"""Storing a candidate: git writes the blobs, converted by the candidate's rules; we write the trees.

Only the directories that the layer touches become new trees. Everything else keeps its id.
"""

import anyio.to_thread

from donewhen.records import frozen
from donewhen.workspace.git.index import IndexEntry, entries, index_content
from donewhen.workspace.git.objects import (
    FILE,
    GITLINK,
    PROGRAM,
    TREE,
    Change,
    Entries,
    TreeEntry,
    change_of,
    text,
    tree_content,
)
from donewhen.workspace.git.run_git import GitFailed, GitLocation
from donewhen.workspace.git.store import lfs
from donewhen.workspace.git.store.checkout import with_filter
from donewhen.workspace.trees.capture.base_facts import LayerFacts
from donewhen.workspace.trees.capture.read_layer import LayerItem, join
from donewhen.workspace.trees.capture.refusals import CandidateRefused


@frozen
class Recorded:
    tree: str
    changes: tuple[Change, ...] | None
    """None if a whole directory was deleted or replaced: only git can list its content."""


async def store_candidate(known: LayerFacts, place: GitLocation) -> Recorded:
    """Store the candidate."""
    paths = {path: item for path, item in known.counting() if item.kind in ("file", "link")}
    held = {item.path: item for item in known.rules()}
    for path in paths:
        entry = known.in_base(path)
        if entry is not None and entry.mode in (FILE, PROGRAM):
            held[path] = IndexEntry(path, entry)  # whether git converts line ends depends on what was there before
    place.index.write_bytes(index_content(held.values(), known.bare.object_format))
    pointers = await _store_lfs(known, place, paths)
    await _update_index(known, place, [path for path in paths if path not in pointers])
    stored = entries(place.index.read_bytes(), known.bare.object_format)
    built = _trees(known, {path: pointers.get(path) or stored[path] for path in paths})
    return Recorded(_tree_id(known, b"", built[b""]), _changes(known, built))


async def _update_index(known: LayerFacts, place: GitLocation, paths: list[bytes]) -> None:
    names = b"".join(path + b"\0" for path in paths)
    try:
        if names:
            await known.bare.run("update-index", "--add", "-z", "--stdin", at=place, stdin=names)
    except GitFailed as error:
        named = [path for path in paths if f"'{text(path)}'" in error.stderr]
        if not named:
            raise
        raise CandidateRefused([(named[0], f"cannot be stored: {error}")]) from error


async def _store_lfs(known: LayerFacts, place: GitLocation, paths: dict[bytes, LayerItem]) -> dict[bytes, TreeEntry]:
    """Return pointer entries for files that belong to LFS. Their content is stored separately."""
    if not known.base.lfs and not any(path.endswith(b".gitattributes") for path in paths):
        return {}
    files = [path for path, item in paths.items() if item.kind == "file"]
    found = (await with_filter(known.bare, place, files)).get("lfs", []) if files else []
    return {path: await anyio.to_thread.run_sync(_pointer, known, path, paths[path]) for path in found}


def _pointer(known: LayerFacts, path: bytes, item: LayerItem) -> TreeEntry:
    content = lfs.store_content(known.layer.root, path, known.lfs_places)
    return TreeEntry(PROGRAM if item.program else FILE, known.bare.write("blob", content))


def _trees(known: LayerFacts, recorded: dict[bytes, TreeEntry]) -> dict[bytes, Entries]:
    """Return the current entries of the directories that the layer touches. Store the nested ones."""
    layer = known.layer
    built: dict[bytes, Entries] = {}
    for directory in sorted(layer.listing, key=lambda path: (-path.count(b"/"), path == b"")):
        now = {} if layer.is_hiding(directory) else dict(known.trees.get(directory, {}))
        for name, item in layer.listing[directory].items():
            path = join(directory, name)
            now.pop(name, None)  # hides what the base has there
            entry = _directory(known, path, built) if item.kind == "directory" else recorded.get(path)
            if entry is not None:
                now[name] = entry
        built[directory] = now
    return built


def _directory(known: LayerFacts, path: bytes, built: dict[bytes, Entries]) -> TreeEntry | None:
    before = known.in_base(path)
    if before is not None and before.mode == GITLINK:
        return before
    return TreeEntry(TREE, _tree_id(known, path, built[path])) if built.get(path) else None


def _changes(known: LayerFacts, built: dict[bytes, Entries]) -> tuple[Change, ...] | None:
    found: dict[bytes, Change] = {}
    for directory, now in built.items():
        before = known.trees.get(directory, {})
        for name in before.keys() | now.keys():
            old, new = before.get(name), now.get(name)
            if old is not None and old.mode == TREE:
                if new is None or new.mode != TREE:
                    return None
                old = None
            if new is not None and new.mode == TREE:
                new = None  # its content is reported separately
            if old != new:
                path = join(directory, name)
                found[path] = change_of(path, old, new)
    return tuple(found[path] for path in sorted(found))


def _tree_id(known: LayerFacts, directory: bytes, now: Entries) -> str:
    if now == known.trees.get(directory):
        return known.base.directories[directory]
    return known.bare.write("tree", tree_content(now))
