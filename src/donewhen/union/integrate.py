"""Merging of patches as tree ids. No files are checked out, so nothing can be half applied.

Git merges first. If two patches change the same lines, the syntax merge tries. If that fails too, the patches cannot be
combined. Two patches that merge can still declare the same name twice: that is an obstacle as well.
"""

import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from donewhen.records import frozen
from donewhen.syntax.grammar import language_of
from donewhen.union.oracle import Members, MergedTree
from donewhen.union.parser_client import ParserClient, ParserRequest
from donewhen.union.patch import Patch
from donewhen.workspace.git.objects import FILE, PROGRAM, Change, TreeEntry, shown
from donewhen.workspace.git.store import Store
from donewhen.workspace.git.store.merge_trees import Merge, Sides, merge, resolve_conflicts


@frozen
class Obstacle:
    """The reason why patches cannot be combined."""

    kind: Literal["patch_conflict", "duplicate_declaration"]
    patch: str
    """The patch that cannot be applied on top of the others."""
    files: tuple[str, ...]
    symbols: tuple[str, ...] = ()
    detail: str = ""
    """One line for people."""


@frozen
class Together:
    tree: str
    reconciled: tuple[tuple[str, str], ...] = ()
    """(file, how) for each conflict of lines that the syntax merge resolved."""
    changed: frozenset[str] = frozenset()
    """The paths that differ from the tree on which the patches are made."""
    obstacle: Obstacle | None = None


@dataclass(slots=True)
class Integration:
    """All patches on one tree, in one order. Each union is merged only once."""

    store: Store
    base: str
    """The id of the tree on which all patches are made: the base, or the base with earlier patches applied."""
    parser: ParserClient
    patches: Mapping[str, Patch]
    """By id. Patches may be added during use; the patch of an id never changes."""
    _applied: dict[Members, Together] = field(default_factory=dict[Members, "Together"])

    async def merge(self, members: Members) -> MergedTree:
        made = await self.apply(members)
        return MergedTree(conflict=made.obstacle.files) if made.obstacle else MergedTree(tree=made.tree)

    async def apply(self, members: Members) -> Together:
        """Apply the patches in this order; stop at the first one that cannot be applied."""
        if not members:
            return Together(self.base)
        if members not in self._applied:
            before = await self.apply(members[:-1])
            self._applied[members] = before if before.obstacle else await self._apply_last(before, members)
        return self._applied[members]

    async def _apply_last(self, before: Together, members: Members) -> Together:
        patch = self.patches[members[-1]]
        assert patch.on in ("", self.base), "a patch would undo work that it is not based on"
        merged = await merge(self.store.bare, self.base, before.tree, patch.tree)
        resolved = await self._resolve(patch, merged) if merged.conflicts else _Resolved(merged.tree)
        if isinstance(resolved, Obstacle):
            return replace(before, obstacle=resolved)
        changes = await self.store.diff(before.tree, resolved.tree)
        shared = [change for change in changes if change.path in before.changed and change.path not in resolved.how]
        duplicates = resolved.duplicates or _duplicates(patch, await self._parse_changed(shared))
        if duplicates:
            return replace(before, obstacle=duplicates)
        changed = before.changed | {change.path for change in changes}
        return Together(resolved.tree, (*before.reconciled, *resolved.how.items()), changed)

    async def _resolve(self, patch: Patch, merged: Merge) -> "_Resolved | Obstacle":
        """Finish a merge with conflicts by the syntax merge, or return the obstacle."""
        unmergeable = [sides for sides in merged.conflicts if not sides.lines_only]
        if unmergeable:
            files = tuple(sides.path for sides in unmergeable)
            return Obstacle("patch_conflict", patch.id, files, detail=f"{_listed(files)}: moved or removed by one side")
        texts = await self._versions(merged.conflicts)
        if too_large := [path for path, versions in texts.items() if None in versions.values()]:
            return Obstacle(
                "patch_conflict", patch.id, tuple(too_large), detail=f"{_listed(too_large)}: too large to merge"
            )
        requests = [ParserRequest("merge", sides.path, texts[sides.path]) for sides in merged.conflicts]
        answers = await self.parser.ask(requests)
        found = dict(zip((sides.path for sides in merged.conflicts), answers, strict=True))
        refused = {path: answer for path, answer in found.items() if "text" not in answer}
        if refused:
            return _conflict(patch, refused)
        merged_texts = {path: base64.b64decode(answer["text"]) for path, answer in found.items()}
        how = {path: ", ".join(answer["how"]) for path, answer in found.items()}
        return _Resolved(await resolve_conflicts(self.store.bare, merged, merged_texts), how, _duplicates(patch, found))

    async def _versions(self, conflicts: Sequence[Sides]) -> dict[str, dict[str, bytes | None]]:
        entries = [entry for sides in conflicts for entry in (sides.base, sides.ours, sides.theirs) if entry]
        ids = list(dict.fromkeys(entry.id for entry in entries))
        contents = dict(zip(ids, await self.store.bare.readable_contents(ids), strict=True))

        def text(entry: TreeEntry | None) -> bytes | None:
            return contents[entry.id] if entry else b""

        return {
            sides.path: {"base": text(sides.base), "ours": text(sides.ours), "theirs": text(sides.theirs)}
            for sides in conflicts
        }

    async def _parse_changed(self, changes: Sequence[Change]) -> dict[str, Mapping[str, Any]]:
        """Parse files that several patches changed and git merged without conflict."""
        texts = [
            (change.path, change.old.id, change.new.id)
            for change in changes
            if language_of(change.path) and change.old and change.new
            if change.old.mode in (FILE, PROGRAM) and change.new.mode in (FILE, PROGRAM)
        ]
        if not texts:
            return {}
        ids = list(dict.fromkeys(id for _, old, new in texts for id in (old, new)))
        contents = dict(zip(ids, await self.store.bare.contents(ids), strict=True))
        requests = [
            ParserRequest("change", path, {"before": contents[old], "after": contents[new]}) for path, old, new in texts
        ]
        answers = await self.parser.ask(requests)
        return dict(zip((path for path, _, _ in texts), answers, strict=True))


@frozen
class _Resolved:
    tree: str
    how: Mapping[str, str] = field(default_factory=dict[str, str])
    """By file: a description of how its conflict was resolved."""
    duplicates: Obstacle | None = None


def _conflict(patch: Patch, refused: Mapping[str, Mapping[str, Any]]) -> Obstacle:
    symbols: list[str] = []
    texts: list[str] = []
    for path, answer in refused.items():
        places = answer.get("conflict") or [{"line": 0, "symbol": "", "why": answer.get("unreadable", "")}]
        symbols += [str(place["symbol"]) for place in places if place["symbol"]]
        first = places[0]
        texts.append(f"{shown(path)}:{first['line']} {first['why']}".rstrip())
    files = tuple(refused)
    return Obstacle("patch_conflict", patch.id, files, tuple(dict.fromkeys(symbols)), "; ".join(texts[:3]))


def _duplicates(patch: Patch, answers: Mapping[str, Mapping[str, Any]]) -> Obstacle | None:
    """Return an obstacle for declarations that would exist twice, or None."""
    found = {path: [str(one["name"]) for one in answer.get("duplicates", ())] for path, answer in answers.items()}
    files = tuple(path for path, names in found.items() if names)
    if not files:
        return None
    names = tuple(dict.fromkeys(name for path in files for name in found[path]))
    detail = f"{_listed(files)}: {', '.join(names[:3])} would be declared twice"
    return Obstacle("duplicate_declaration", patch.id, files, names, detail)


def _listed(files: Sequence[str]) -> str:
    more = f" and {len(files) - 3} more" if len(files) > 3 else ""
    return ", ".join(shown(path) for path in files[:3]) + more
