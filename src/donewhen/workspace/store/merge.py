"""Two trees that came from one, put together as a third: git's own merge, in the store, without files on disk.

What both sides changed in the same lines is not decided here: whoever asks gets the three versions, and may bring a
fourth.
"""

from collections.abc import Mapping

from donewhen.records import frozen
from donewhen.workspace.objects import FILE, PROGRAM, Entry, text
from donewhen.workspace.store import edit
from donewhen.workspace.store.bare import Bare

NOBODY = "donewhen <donewhen@localhost> 0 +0000"
CONTENTS = frozenset({"Auto-merging", "CONFLICT (contents)"})
"""What git says of paths whose lines are all that is in the way. Anything else is about where files are."""


@frozen
class Sides:
    """One path that both sides changed, with what git has of it; a side that has no file there is None."""

    path: str
    base: Entry | None
    ours: Entry | None
    theirs: Entry | None
    lines_only: bool
    """Whether only lines of it are in conflict, so that another text could settle it."""


@frozen
class Merge:
    tree: str
    """Complete when nothing is in conflict; else with git's marks in the files that are."""
    conflicts: tuple[Sides, ...] = ()


async def merge(bare: Bare, base: str, ours: str, theirs: str) -> Merge:
    """Trees in, tree out. The commits are made for the question: git takes `base` for where the two sides parted."""
    if theirs in (base, ours):
        return Merge(ours)
    if ours == base:
        return Merge(theirs)
    origin = _commit(bare, base)
    asked = f"{_commit(bare, ours, origin)} {_commit(bare, theirs, origin)}\n"
    answer = await bare.run("merge-tree", "--write-tree", "--stdin", "--messages", stdin=asked.encode())
    clean, tree, *rest = answer.split(b"\0")
    if clean == b"1":
        return Merge(tree.decode())
    return Merge(tree.decode(), _conflicts(rest))


async def settled(bare: Bare, merged: Merge, texts: Mapping[str, bytes]) -> str:
    """The tree with other texts for the paths in conflict."""
    entries: dict[bytes, Entry | None] = {}
    for sides in merged.conflicts:
        mode = PROGRAM if any(side and side.mode == PROGRAM for side in (sides.ours, sides.theirs)) else FILE
        entries[sides.path.encode("utf-8", "surrogateescape")] = Entry(mode, bare.write("blob", texts[sides.path]))
    return await edit.with_changes(bare, merged.tree, entries)


def _commit(bare: Bare, tree: str, parent: str = "") -> str:
    lines = [f"tree {tree}", *([f"parent {parent}"] if parent else []), f"author {NOBODY}", f"committer {NOBODY}"]
    return bare.write("commit", "\n".join((*lines, "", "a side of a merge", "")).encode())


def _conflicts(rest: list[bytes]) -> tuple[Sides, ...]:
    """First the versions in conflict, one field each; after an empty one, what git says: paths, kind and words."""
    end = rest.index(b"")
    stages: dict[str, dict[str, Entry]] = {}
    for line in rest[:end]:
        about, _, path = line.partition(b"\t")
        mode, id, stage = about.decode().split(" ")
        stages.setdefault(text(path), {})[stage] = Entry(int(mode, 8), id)
    kinds = _kinds(rest[end + 1 :])
    for path in kinds.keys() - stages.keys():
        stages[path] = {}
    return tuple(
        Sides(
            path=path,
            base=found.get("1"),
            ours=found.get("2"),
            theirs=found.get("3"),
            lines_only=kinds.get(path, frozenset()) <= CONTENTS and _are_files(found),
        )
        for path, found in sorted(stages.items())
    )


def _are_files(found: Mapping[str, Entry]) -> bool:
    return {"2", "3"} <= found.keys() and all(entry.mode in (FILE, PROGRAM) for entry in found.values())


def _kinds(messages: list[bytes]) -> dict[str, frozenset[str]]:
    """What git says about each path, merges that went well left out."""
    found: dict[str, frozenset[str]] = {}
    at = 0
    while at < len(messages) and messages[at].isdigit():
        count = int(messages[at])
        paths, kind = messages[at + 1 : at + 1 + count], messages[at + 1 + count].decode()
        for path in paths:
            found[text(path)] = found.get(text(path), frozenset()) | {kind}
        at += count + 3
    return {path: kinds for path, kinds in found.items() if kinds != frozenset({"Auto-merging"})}
