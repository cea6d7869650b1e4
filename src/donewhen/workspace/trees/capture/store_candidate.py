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


async def store_candidate(facts: LayerFacts, location: GitLocation) -> Recorded:
    """Store the candidate."""
    paths = {path: item for path, item in facts.candidate_items() if item.kind in ("file", "link")}
    index_entries = {item.path: item for item in facts.rules()}
    for path in paths:
        entry = facts.in_base(path)
        if entry is not None and entry.mode in (FILE, PROGRAM):
            index_entries[path] = IndexEntry(
                path, entry
            )  # whether git converts line ends depends on what was there before
    location.index.write_bytes(index_content(index_entries.values(), facts.bare.object_format))
    pointers = await _store_lfs(facts, location, paths)
    await _update_index(facts, location, [path for path in paths if path not in pointers])
    stored = entries(location.index.read_bytes(), facts.bare.object_format)
    built = _trees(facts, {path: pointers.get(path) or stored[path] for path in paths})
    return Recorded(_tree_id(facts, b"", built[b""]), _changes(facts, built))


async def _update_index(facts: LayerFacts, location: GitLocation, paths: list[bytes]) -> None:
    names = b"".join(path + b"\0" for path in paths)
    try:
        if names:
            await facts.bare.run("update-index", "--add", "-z", "--stdin", at=location, stdin=names)
    except GitFailed as error:
        named = [path for path in paths if f"'{text(path)}'" in error.stderr]
        if not named:
            raise
        raise CandidateRefused([(named[0], f"cannot be stored: {error}")]) from error


async def _store_lfs(facts: LayerFacts, location: GitLocation, paths: dict[bytes, LayerItem]) -> dict[bytes, TreeEntry]:
    """Return pointer entries for files that belong to LFS. Their content is stored separately."""
    if not facts.base.lfs and not any(path.endswith(b".gitattributes") for path in paths):
        return {}
    files = [path for path, item in paths.items() if item.kind == "file"]
    found = (await with_filter(facts.bare, location, files)).get("lfs", []) if files else []
    return {path: await anyio.to_thread.run_sync(_pointer, facts, path, paths[path]) for path in found}


def _pointer(facts: LayerFacts, path: bytes, item: LayerItem) -> TreeEntry:
    content = lfs.store_content(facts.layer.root, path, facts.lfs_places)
    return TreeEntry(PROGRAM if item.program else FILE, facts.bare.write("blob", content))


def _trees(facts: LayerFacts, recorded: dict[bytes, TreeEntry]) -> dict[bytes, Entries]:
    """Return the current entries of the directories that the layer touches. Store the nested ones."""
    layer = facts.layer
    built: dict[bytes, Entries] = {}
    for directory in sorted(layer.listing, key=lambda path: (-path.count(b"/"), path == b"")):
        now = {} if layer.is_hiding(directory) else dict(facts.trees.get(directory, {}))
        for name, item in layer.listing[directory].items():
            path = join(directory, name)
            now.pop(name, None)  # hides what the base has there
            entry = _directory(facts, path, built) if item.kind == "directory" else recorded.get(path)
            if entry is not None:
                now[name] = entry
        built[directory] = now
    return built


def _directory(facts: LayerFacts, path: bytes, built: dict[bytes, Entries]) -> TreeEntry | None:
    before = facts.in_base(path)
    if before is not None and before.mode == GITLINK:
        return before
    return TreeEntry(TREE, _tree_id(facts, path, built[path])) if built.get(path) else None


def _changes(facts: LayerFacts, built: dict[bytes, Entries]) -> tuple[Change, ...] | None:
    found: dict[bytes, Change] = {}
    for directory, now in built.items():
        before = facts.trees.get(directory, {})
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


def _tree_id(facts: LayerFacts, directory: bytes, now: Entries) -> str:
    if now == facts.trees.get(directory):
        return facts.base.directories[directory]
    return facts.bare.write("tree", tree_content(now))
