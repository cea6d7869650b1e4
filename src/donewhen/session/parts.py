"""What a person names for a union, a branch, a commit or a patch file, as patches over one base. Nothing is run."""

import os
from collections.abc import Sequence
from pathlib import Path

from donewhen.errors import BadInput
from donewhen.session.workplace import Workplace
from donewhen.union.patch import Patch
from donewhen.workspace.objects import shown
from donewhen.workspace.store import patches, revisions
from donewhen.workspace.store.merge import merge


async def parts(place: Workplace, base: str, words: Sequence[str]) -> list[Patch]:
    """A patch for each word, in order."""
    seen: set[str] = set()
    made: list[Patch] = []
    for word in words:
        if word in seen:
            raise BadInput(f"{shown(word)} is named twice")
        seen.add(word)
        made.append(await _part(place, base, word))
    return made


async def _part(place: Workplace, base: str, word: str) -> Patch:
    commit = await _commit(place, word)
    file = Path(word)
    if file.is_dir() and not commit:
        raise BadInput(f"{shown(word)} is a directory; name patch files, or branches")
    if file.is_file() and commit and os.sep not in word:
        raise BadInput(f"{shown(word)} is a file and a branch; write ./{shown(word)} or refs/heads/{shown(word)}")
    if commit:
        return await _of_commit(place, base, word, commit)
    if file.is_file():
        return await _of_file(place, base, word, file)
    raise BadInput(f"{shown(word)} is neither a commit of {shown(str(place.repo.root))} nor a file")


async def _commit(place: Workplace, word: str) -> str:
    try:
        return await place.store.resolve(word)
    except BadInput:
        return ""


async def _of_commit(place: Workplace, base: str, word: str, commit: str) -> Patch:
    """What a branch changed since it parted from the base, put onto the base."""
    store = place.store
    parted = await revisions.parted(store.bare, base, commit)
    if not parted:
        raise BadInput(f"{shown(word)} has no history in common with the base {base[:12]}")
    (about,) = await store.bare.contents([commit])
    title = about.partition(b"\n\n")[2].split(b"\n", 1)[0].decode("utf-8", "replace")
    merged = await merge(
        store.bare, await store.tree_of(parted), await store.tree_of(base), await store.tree_of(commit)
    )
    if merged.conflicts:
        paths = ", ".join(shown(sides.path) for sides in merged.conflicts[:3])
        return Patch(id=word, tree="", title=title, origin=commit, unfit=f"does not go onto the base: {paths}")
    return Patch(id=word, tree=merged.tree, title=title, origin=commit)


async def _of_file(place: Workplace, base: str, word: str, file: Path) -> Patch:
    try:
        content = file.read_bytes()
    except OSError as error:
        raise BadInput(f"{shown(word)} cannot be read: {error.strerror}") from error
    title = patches.subject(content) or file.name
    try:
        tree = await patches.applied(place.store.bare, await place.store.tree_of(base), content)
    except BadInput as error:
        raise BadInput(f"{shown(word)}: {error}") from error
    except patches.DoesNotApply as refused:
        return Patch(id=word, tree="", title=title, unfit=f"does not go onto the base: {refused}")
    return Patch(id=word, tree=tree, title=title)
