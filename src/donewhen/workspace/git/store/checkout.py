"""Writes trees to disk: a whole commit, or the paths in which two trees differ. No filter program runs.

Git converts line ends, encodings and `$Id$` as the attribute files of the tree demand. LFS pointers become content if
this machine has it; submodules become empty directories. The caller decides what a directory is for and who may write
to it.
"""

import shutil
from collections.abc import Iterable, Sequence
from pathlib import Path

from donewhen.errors import MachineryBroke
from donewhen.workspace.beneath import Root
from donewhen.workspace.git.index import IndexEntry, index_content
from donewhen.workspace.git.objects import FILE, GITLINK, PROGRAM, TREE, Change, raw, text
from donewhen.workspace.git.run_git import GitLocation
from donewhen.workspace.git.store import lfs
from donewhen.workspace.git.store.bare import Bare
from donewhen.workspace.git.store.skeleton import Skeleton, forget_oldest


def index_of(bare: Bare, tree: str) -> Path:
    """Return the path of the stored index of the last checkout of a tree."""
    return bare.directory / "bases" / f"{tree}.index"


async def check_out(bare: Bare, base: Skeleton, into: Path, places: Sequence[Root]) -> list[str]:
    """Write all files of a tree into an empty directory. Return the paths that stayed LFS pointers."""
    into.mkdir(parents=True, exist_ok=True)
    if any(into.iterdir()):
        raise MachineryBroke(f"{into} is not empty")
    with bare.scratch(into) as location:
        await bare.run("read-tree", "--reset", "-u", "--no-recurse-submodules", base.tree, at=location)
        missing = await _fill(bare, location, base, places) if base.lfs else []
        shutil.move(location.index, index_of(bare, base.tree))
    forget_oldest(bare.directory / "bases")
    return missing


async def _fill(bare: Bare, location: GitLocation, base: Skeleton, places: Sequence[Root]) -> list[str]:
    paths = (await bare.run("ls-files", "-z", ":(attr:filter=lfs)", at=location)).split(b"\0")[:-1]
    links = [path for path in paths if path in base.links]
    files = [path for path in paths if path not in links]
    missing = lfs.fill(Root(location.work_tree), files, places)
    # Git would see content in place of a pointer as a change. Only the git of a maker tree reads this index.
    await bare.run("update-index", "--assume-unchanged", "-z", "--stdin", at=location, stdin=_nul_separated(files))
    return [text(path) for path in missing]


def _nul_separated(paths: Iterable[bytes]) -> bytes:
    return b"".join(path + b"\0" for path in paths)


async def write_changes(
    bare: Bare, base: Skeleton, changes: Sequence[Change], into: Path, places: Sequence[Root]
) -> None:
    """Write the new state of every changed path below `into`. The caller handles deletions."""
    news = {raw(change.path): change.new for change in changes if change.new is not None}
    for path, entry in news.items():
        if entry.mode in (GITLINK, TREE):
            with Root(into).directory(path, make=True):
                pass
    files = [IndexEntry(path, entry) for path, entry in news.items() if entry.mode not in (GITLINK, TREE)]
    if not files:
        return
    rules = base.attributes_after(changes)
    held = {item.path: item for item in (*rules, *files)}
    with bare.scratch() as location:
        location.index.write_bytes(index_content(held.values(), bare.object_format))
        prefix = f"--prefix={into}/"
        names = _nul_separated(item.path for item in files)
        await bare.run("checkout-index", "-f", "-q", "-z", "--stdin", prefix, at=location, stdin=names)
        speaks = base.lfs or any(item.path.endswith(b".gitattributes") for item in files)
        if speaks:
            ours = await with_filter(
                bare, location, [item.path for item in files if item.entry.mode in (FILE, PROGRAM)]
            )
            lfs.fill(Root(into), ours.get("lfs", []), places)


async def with_filter(bare: Bare, location: GitLocation, paths: Sequence[bytes]) -> dict[str, list[bytes]]:
    """Return the paths that have a filter attribute, by filter name."""
    answer = await bare.run("check-attr", "-z", "--stdin", "filter", at=location, stdin=_nul_separated(paths))
    fields = answer.split(b"\0")[:-1]
    found: dict[str, list[bytes]] = {}
    for path, value in zip(fields[::3], fields[2::3], strict=True):
        if value not in (b"unspecified", b"unset", b"set"):
            found.setdefault(text(value), []).append(path)
    return found
