"""What counts of a layer, into the store: blobs by git, which converts them by the candidate's rules, and trees by us.

Only the directories that the layer touches become new trees; everything else is named by the id that it had.
"""

import anyio.to_thread

from donewhen.records import frozen
from donewhen.workspace.capture.known import Known
from donewhen.workspace.capture.refusals import CandidateRefused
from donewhen.workspace.capture.walk import Item, joined
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
    change_of,
    text,
    tree_content,
)
from donewhen.workspace.store import lfs
from donewhen.workspace.store.checkout import with_filter


@frozen
class Recorded:
    tree: str
    changes: tuple[Change, ...] | None
    """None where a whole directory went, whose content only git can tell."""


async def record(known: Known, place: Place) -> Recorded:
    """Store the candidate."""
    paths = {path: item for path, item in known.counting() if item.kind in ("file", "link")}
    held = {item.path: item for item in known.rules()}
    for path in paths:
        entry = known.in_base(path)
        if entry is not None and entry.mode in (FILE, PROGRAM):
            held[path] = Held(path, entry)  # whether git changes line ends depends on what was there before
    place.index.write_bytes(written(held.values(), known.bare.object_format))
    pointers = await _take_in_lfs(known, place, paths)
    await _update_index(known, place, [path for path in paths if path not in pointers])
    stored = entries(place.index.read_bytes(), known.bare.object_format)
    built = _trees(known, {path: pointers.get(path) or stored[path] for path in paths})
    return Recorded(_tree_id(known, b"", built[b""]), _changes(known, built))


async def _update_index(known: Known, place: Place, paths: list[bytes]) -> None:
    names = b"".join(path + b"\0" for path in paths)
    try:
        if names:
            await known.bare.run("update-index", "--add", "-z", "--stdin", at=place, stdin=names)
    except GitFailed as error:
        named = [path for path in paths if f"'{text(path)}'" in error.said]
        if not named:
            raise
        raise CandidateRefused([(named[0], f"cannot be stored: {error}")]) from error


async def _take_in_lfs(known: Known, place: Place, paths: dict[bytes, Item]) -> dict[bytes, Entry]:
    """Files that are meant for LFS: their pointers are stored, and the content is kept beside."""
    if not known.base.lfs and not any(path.endswith(b".gitattributes") for path in paths):
        return {}
    files = [path for path, item in paths.items() if item.kind == "file"]
    found = (await with_filter(known.bare, place, files)).get("lfs", []) if files else []
    return {path: await anyio.to_thread.run_sync(_pointer, known, path, paths[path]) for path in found}


def _pointer(known: Known, path: bytes, item: Item) -> Entry:
    content = lfs.take_in(known.layer.root, path, known.lfs_places)
    return Entry(PROGRAM if item.program else FILE, known.bare.write("blob", content))


def _trees(known: Known, recorded: dict[bytes, Entry]) -> dict[bytes, Entries]:
    """The directories that the layer touches as they are now; those below others are stored."""
    layer = known.layer
    built: dict[bytes, Entries] = {}
    for directory in sorted(layer.listing, key=lambda path: (-path.count(b"/"), path == b"")):
        now = {} if layer.hides(directory) else dict(known.trees.get(directory, {}))
        for name, item in layer.listing[directory].items():
            path = joined(directory, name)
            now.pop(name, None)  # whatever the base has there, it does not show through
            entry = _directory(known, path, built) if item.kind == "directory" else recorded.get(path)
            if entry is not None:
                now[name] = entry
        built[directory] = now
    return built


def _directory(known: Known, path: bytes, built: dict[bytes, Entries]) -> Entry | None:
    before = known.in_base(path)
    if before is not None and before.mode == GITLINK:
        return before
    return Entry(TREE, _tree_id(known, path, built[path])) if built.get(path) else None


def _changes(known: Known, built: dict[bytes, Entries]) -> tuple[Change, ...] | None:
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
                new = None  # its own content is told by itself
            if old != new:
                path = joined(directory, name)
                found[path] = change_of(path, old, new)
    return tuple(found[path] for path in sorted(found))


def _tree_id(known: Known, directory: bytes, now: Entries) -> str:
    if now == known.trees.get(directory):
        return known.base.directories[directory]
    return known.bare.write("tree", tree_content(now))
