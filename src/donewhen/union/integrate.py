"""Patches put together, as tree ids: nothing is on disk, so nothing can be half applied.

Git merges; where it finds the same lines changed twice, the syntax is asked; where that knows no answer either, the
patches do not go together. Two patches that merge can still declare the same thing: that is an obstacle as well.
"""

import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from donewhen.syntax.grammar import language_of
from donewhen.union.asking import Question, Reader
from donewhen.union.known import Members, Merged
from donewhen.union.patch import Patch
from donewhen.workspace.objects import FILE, PROGRAM, Entry, shown
from donewhen.workspace.store import Store
from donewhen.workspace.store.merge import Merge, Sides, merge, settled


@dataclass(frozen=True, slots=True)
class Obstacle:
    """Why patches cannot be put together."""

    kind: Literal["patch_conflict", "duplicate_declaration"]
    patch: str
    """The one that does not go on top of the others."""
    files: tuple[str, ...]
    symbols: tuple[str, ...] = ()
    detail: str = ""
    """One line for people."""


@dataclass(frozen=True, slots=True)
class Together:
    tree: str
    reconciled: tuple[tuple[str, str], ...] = ()
    """(file, how) where the syntax settled what lines could not."""
    obstacle: Obstacle | None = None


@dataclass(slots=True)
class Integration:
    """All patches over one base, in one order. Every union is put together once."""

    store: Store
    base: str
    """A tree id."""
    reader: Reader
    patches: Mapping[str, Patch]
    _made: dict[Members, Together] = field(default_factory=dict[Members, "Together"])

    async def merged(self, members: Members) -> Merged:
        made = await self.together(members)
        return Merged(conflict=made.obstacle.files) if made.obstacle else Merged(tree=made.tree)

    async def together(self, members: Members) -> Together:
        """The patches applied to the base in this order, or the first of them that cannot be."""
        if not members:
            return Together(self.base)
        if members not in self._made:
            before = await self.together(members[:-1])
            self._made[members] = before if before.obstacle else await self._on_top(before, members)
        return self._made[members]

    async def _on_top(self, before: Together, members: Members) -> Together:
        patch = self.patches[members[-1]]
        merged = await merge(self.store.bare, self.base, before.tree, patch.tree)
        tree, reconciled = merged.tree, before.reconciled
        if merged.conflicts:
            answer = await self._settled(patch, merged)
            if isinstance(answer, Obstacle):
                return Together(before.tree, reconciled, answer)
            tree, reconciled = answer.tree, (*reconciled, *answer.reconciled)
        doubled = await self._doubled(patch, before.tree, tree)
        return Together(before.tree, reconciled, doubled) if doubled else Together(tree, reconciled)

    async def _settled(self, patch: Patch, merged: Merge) -> Together | Obstacle:
        """A merge that git could not finish, finished by what the texts mean."""
        stuck = [sides for sides in merged.conflicts if not sides.lines_only]
        if stuck:
            files = tuple(sides.path for sides in stuck)
            return Obstacle("patch_conflict", patch.id, files, detail=f"{_listed(files)}: moved or removed by one side")
        texts = await self._versions(merged.conflicts)
        questions = [Question("merge", sides.path, texts[sides.path]) for sides in merged.conflicts]
        answers = await self.reader.answers(questions)
        found = dict(zip((sides.path for sides in merged.conflicts), answers, strict=True))
        refused = {path: answer for path, answer in found.items() if "text" not in answer}
        if refused:
            return _conflict(patch, refused)
        news = {path: base64.b64decode(answer["text"]) for path, answer in found.items()}
        how = tuple((path, ", ".join(answer["how"])) for path, answer in found.items())
        return Together(await settled(self.store.bare, merged, news), how)

    async def _versions(self, conflicts: Sequence[Sides]) -> dict[str, dict[str, bytes | None]]:
        entries = [entry for sides in conflicts for entry in (sides.base, sides.ours, sides.theirs) if entry]
        ids = list(dict.fromkeys(entry.id for entry in entries))
        contents = dict(zip(ids, await self.store.bare.contents(ids), strict=True))

        def text(entry: Entry | None) -> bytes:
            return contents[entry.id] if entry else b""

        return {
            sides.path: {"base": text(sides.base), "ours": text(sides.ours), "theirs": text(sides.theirs)}
            for sides in conflicts
        }

    async def _doubled(self, patch: Patch, before: str, after: str) -> Obstacle | None:
        """What is declared twice now, in files that the patch and the others have both changed."""
        others = {change.path for change in await self.store.diff(self.base, before)}
        shared = [
            change
            for change in await self.store.diff(before, after)
            if change.path in others and language_of(change.path) and change.old and change.new
            if change.old.mode in (FILE, PROGRAM) and change.new.mode in (FILE, PROGRAM)
        ]
        if not shared:
            return None
        ids = list(dict.fromkeys(entry.id for change in shared for entry in (change.old, change.new) if entry))
        texts = dict(zip(ids, await self.store.bare.contents(ids), strict=True))
        questions = [
            Question("change", one.path, {"before": texts[one.old.id], "after": texts[one.new.id]})
            for one in shared
            if one.old and one.new
        ]
        return _doubling(patch, questions, await self.reader.answers(questions))


def _conflict(patch: Patch, refused: Mapping[str, Mapping[str, Any]]) -> Obstacle:
    symbols: list[str] = []
    words: list[str] = []
    for path, answer in refused.items():
        places = answer.get("conflict") or [{"line": 0, "symbol": "", "why": answer.get("unreadable", "")}]
        symbols += [str(place["symbol"]) for place in places if place["symbol"]]
        first = places[0]
        words.append(f"{shown(path)}:{first['line']} {first['why']}".rstrip())
    files = tuple(refused)
    return Obstacle("patch_conflict", patch.id, files, tuple(dict.fromkeys(symbols)), "; ".join(words[:3]))


def _doubling(patch: Patch, questions: Sequence[Question], answers: Sequence[Mapping[str, Any]]) -> Obstacle | None:
    found = [(one.path, twice) for one, answer in zip(questions, answers, strict=True) for twice in _twice(answer)]
    if not found:
        return None
    files = tuple(dict.fromkeys(path for path, _ in found))
    names = tuple(dict.fromkeys(str(twice["name"]) for _, twice in found))
    detail = f"{_listed(files)}: {', '.join(names[:3])} would be declared twice"
    return Obstacle("duplicate_declaration", patch.id, files, names, detail)


def _twice(answer: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    return answer.get("duplicates", ())


def _listed(files: Sequence[str]) -> str:
    more = f" and {len(files) - 3} more" if len(files) > 3 else ""
    return ", ".join(shown(path) for path in files[:3]) + more
