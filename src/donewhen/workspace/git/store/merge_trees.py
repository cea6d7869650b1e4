"""Merges two trees with a common base by git's own merge, in the store, without files on disk.

Conflicts in the same lines are not resolved here: the caller gets the three versions and may supply a merged text.
"""

from collections.abc import Mapping

from donewhen.records import frozen
from donewhen.workspace.git.objects import FILE, PROGRAM, TreeEntry, text
from donewhen.workspace.git.store import edit_tree
from donewhen.workspace.git.store.bare import Bare

MERGE_IDENTITY = "donewhen <donewhen@localhost> 0 +0000"
CONTENTS = frozenset({"Auto-merging", "CONFLICT (contents)"})
"""Git's message types for paths with conflicts only in lines. Other types concern names and locations of files."""


@frozen
class Sides:
    """One conflicting path with git's entries for it. A side without a file there is None."""

    path: str
    base: TreeEntry | None
    ours: TreeEntry | None
    theirs: TreeEntry | None
    lines_only: bool
    """Whether only lines conflict, so that a different text could resolve it."""


@frozen
class Merge:
    tree: str
    """Complete if there are no conflicts; else the conflicting files contain git's conflict markers."""
    conflicts: tuple[Sides, ...] = ()


async def merge(bare: Bare, base: str, ours: str, theirs: str) -> Merge:
    """Merge trees into a tree. Commits are created only for this call, so that git uses `base` as the merge base."""
    if theirs in (base, ours):
        return Merge(ours)
    if ours == base:
        return Merge(theirs)
    origin = _commit(bare, base)
    commits = f"{_commit(bare, ours, origin)} {_commit(bare, theirs, origin)}\n"
    answer = await bare.run("merge-tree", "--write-tree", "--stdin", "--messages", stdin=commits.encode())
    clean, tree, *rest = answer.split(b"\0")
    if clean == b"1":
        return Merge(tree.decode())
    return Merge(tree.decode(), _conflicts(rest))


async def resolve_conflicts(bare: Bare, merged: Merge, texts: Mapping[str, bytes]) -> str:
    """Return the merged tree with these texts for the conflicting paths."""
    entries: dict[bytes, TreeEntry | None] = {}
    for sides in merged.conflicts:
        mode = PROGRAM if any(side and side.mode == PROGRAM for side in (sides.ours, sides.theirs)) else FILE
        entries[sides.path.encode("utf-8", "surrogateescape")] = TreeEntry(mode, bare.write("blob", texts[sides.path]))
    return await edit_tree.with_changes(bare, merged.tree, entries)


def _commit(bare: Bare, tree: str, parent: str = "") -> str:
    lines = [
        f"tree {tree}",
        *([f"parent {parent}"] if parent else []),
        f"author {MERGE_IDENTITY}",
        f"committer {MERGE_IDENTITY}",
    ]
    return bare.write("commit", "\n".join((*lines, "", "a side of a merge", "")).encode())


def _conflicts(rest: list[bytes]) -> tuple[Sides, ...]:
    """Parse git's answer: one field per conflicting version, an empty field, then messages (paths, kind, text)."""
    end = rest.index(b"")
    stages: dict[str, dict[str, TreeEntry]] = {}
    for line in rest[:end]:
        about, _, path = line.partition(b"\t")
        mode, id, stage = about.decode().split(" ")
        stages.setdefault(text(path), {})[stage] = TreeEntry(int(mode, 8), id)
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


def _are_files(found: Mapping[str, TreeEntry]) -> bool:
    return {"2", "3"} <= found.keys() and all(entry.mode in (FILE, PROGRAM) for entry in found.values())


def _kinds(messages: list[bytes]) -> dict[str, frozenset[str]]:
    """Return git's message types for each path. Paths that merged cleanly are left out."""
    found: dict[str, frozenset[str]] = {}
    at = 0
    while at < len(messages) and messages[at].isdigit():
        count = int(messages[at])
        paths, kind = messages[at + 1 : at + 1 + count], messages[at + 1 + count].decode()
        for path in paths:
            found[text(path)] = found.get(text(path), frozenset()) | {kind}
        at += count + 3
    return {path: kinds for path, kinds in found.items() if kinds != frozenset({"Auto-merging"})}
