"""Decides whether a checkout is clean enough for a landing to change its files, and names the paths that are not.

Git answers from a copy of the user's index, with the few harmless settings that decide what counts as a change. This
module checks what git would not look at: ignored files, paths that were declared unchanged, and files in place of a
directory. After an interrupted landing of the same two trees, each path may have its old or its new state.
"""

import contextlib
import os
import stat
from collections.abc import Iterator, Mapping

from donewhen.records import frozen
from donewhen.workspace.beneath import LeavesRoot, Root
from donewhen.workspace.git.index import IndexEntry, index_content
from donewhen.workspace.git.landing.refusals import NotClean, NotLanded
from donewhen.workspace.git.objects import FILE, GITLINK, PROGRAM, Change, TreeEntry, object_id, parents
from donewhen.workspace.git.repo import Repo, is_true, operations_in_progress
from donewhen.workspace.git.store import lfs
from donewhen.workspace.git.store.bare import Bare
from donewhen.workspace.git.store.dirty import HARMLESS, VALUES, copy_checked_index, copy_index
from donewhen.workspace.git.store.traps import refuse_trap

STATUS = ("status", "--porcelain=v2", "-z", "--no-renames", "--untracked-files=no", "--ignore-submodules=dirty")
BY = b"author donewhen <donewhen@localhost> 0 +0000\ncommitter donewhen <donewhen@localhost> 0 +0000\n\n\n"


@frozen
class CheckoutState:
    """A checkout that will be changed from one tree to another."""

    bare: Bare
    repo: Repo
    from_tree: str
    changes: Mapping[bytes, Change]
    half_way: bool
    """An earlier landing of the same two trees began here and did not finish."""

    def old(self) -> dict[bytes, TreeEntry]:
        return {path: change.old for path, change in self.changes.items() if change.old is not None}

    def new(self) -> dict[bytes, TreeEntry]:
        return {path: change.new for path, change in self.changes.items() if change.new is not None}


def content_settings(repo: Repo) -> list[tuple[str, str]]:
    """Return the user's settings that affect what a file on disk looks like."""
    pairs = [(f"core.{name}", repo.setting(f"core.{name}").lower()) for name in HARMLESS]
    return [(key, value) for key, value in pairs if value in VALUES]


async def refuse_unclean(state: CheckoutState) -> None:
    """Raise if the checkout must not be changed. The caller holds the index lock if it is about to change files."""
    _refuse_unfit(state)
    changed = [path for path, record in (await _status(state)).items() if not _is_fine(state, path, record)]
    if changed:
        raise NotClean("the checkout has uncommitted changes", sorted(changed))
    hidden = await _hidden(state)
    if hidden:
        raise NotClean(
            "git is set to ignore changes of these (git update-index --no-assume-unchanged --no-skip-worktree)", hidden
        )
    matching = await _matching(state, state.new()) if state.half_way else set[bytes]()
    obstacles = sorted(set(_obstacles(state, matching)))
    if obstacles:
        raise NotClean("untracked files would be overwritten", obstacles)
    if state.half_way:
        await _refuse_edited(state, matching)


def _refuse_unfit(state: CheckoutState) -> None:
    for line in operations_in_progress(state.repo.git):
        raise NotLanded(f"{line} in the checkout")
    if is_true(state.repo.setting("core.sparsecheckout")):
        raise NotLanded("the checkout is sparse, so its files cannot be updated here")
    modules = [path for path, entry in (*state.old().items(), *state.new().items()) if entry.mode == GITLINK]
    if modules:
        raise NotClean("submodules are not updated here", sorted(set(modules)))
    _refuse_traps(state)


def _refuse_traps(state: CheckoutState) -> None:
    """Refuse pipes and devices as attribute files. Git reads them again after the landing: too late to refuse."""
    for directory in sorted({above for path in state.changes for above in parents(path)}):
        rules = os.path.join(directory, b".gitattributes")
        with contextlib.suppress(LeavesRoot):  # git does not read through a link
            if (status := state.repo.files.status(rules)) is not None:
                refuse_trap(rules, status)


# -- what git sees --


@frozen
class PathStatus:
    """Git's status of one tracked path that differs from the tree."""

    index: TreeEntry | None
    staged: bool
    """The index differs from the tree."""
    on_disk: str
    """Git's status letter: `.` means same as the index, `D` means missing."""
    unmerged: bool = False


async def _status(state: CheckoutState) -> dict[bytes, PathStatus]:
    """Return the tracked paths that differ from `from_tree`, in the index or on disk."""
    commit = state.bare.write("commit", b"tree " + state.from_tree.encode() + b"\n" + BY)
    with state.bare.over(state.repo, head=commit.encode() + b"\n") as location:
        await copy_checked_index(state.bare, state.repo, location)
        answer = await state.bare.run(*STATUS, at=location, settings=content_settings(state.repo))
    return dict(_record(record) for record in answer.split(b"\0")[:-1])


def _record(record: bytes) -> tuple[bytes, PathStatus]:
    kind, _, rest = record.partition(b" ")
    if kind == b"u":
        return rest.split(b" ", 9)[-1], PathStatus(None, True, "M", unmerged=True)
    letters, _, _, mode, _, _, id, path = rest.split(b" ", 7)
    index = TreeEntry(int(mode, 8), id.decode()) if int(mode, 8) else None
    return path, PathStatus(index, letters[:1] != b".", letters[1:].decode())


def _is_fine(state: CheckoutState, path: bytes, record: PathStatus) -> bool:
    change = state.changes.get(path)
    if record.unmerged:
        return False
    if state.half_way and change is not None:
        return record.index in (change.old, change.new)  # `_refuse_edited` checks the file on disk
    is_modified = record.on_disk == "M" and record.index is not None and not record.staged
    return is_modified and _is_content_of(state, path, record.index)


def _is_content_of(state: CheckoutState, path: bytes, entry: TreeEntry | None) -> bool:
    """Return whether a file on disk is the content of the LFS pointer in the entry."""
    status = state.repo.files.status(path)
    if entry is None or status is None or not stat.S_ISREG(status.st_mode):
        return False
    is_program = bool(status.st_mode & stat.S_IXUSR)
    pointer = object_id(state.bare.object_format, "blob", lfs.pointer_of(state.repo.files, path))
    return entry == TreeEntry(PROGRAM if is_program else FILE, pointer)


async def _hidden(state: CheckoutState) -> list[bytes]:
    """Return the changed paths that the index marks as assume-unchanged or skip-worktree."""
    with state.bare.over(state.repo) as location:
        copy_index(state.repo, location.git_dir)
        answer = await state.bare.run("ls-files", "-v", "-z", at=location)
    marked = [record[2:] for record in answer.split(b"\0")[:-1] if record[:1] == b"S" or record[:1].islower()]
    return [path for path in marked if path in state.changes]


async def _matching(state: CheckoutState, entries: Mapping[bytes, TreeEntry]) -> set[bytes]:
    """Return those paths whose file on disk is exactly the given entry."""
    with state.bare.over(state.repo) as location:
        held = [IndexEntry(path, entry) for path, entry in entries.items()]
        location.index.write_bytes(index_content(held, state.bare.object_format))
        answer = await state.bare.run(*STATUS, at=location, settings=content_settings(state.repo))
    records = dict(_record(record) for record in answer.split(b"\0")[:-1])
    differing = [path for path, record in records.items() if record.on_disk != "."]
    others = {
        path for path in differing if records[path].on_disk == "D" or not _is_content_of(state, path, entries[path])
    }
    return entries.keys() - others


async def _refuse_edited(state: CheckoutState, matching: set[bytes]) -> None:
    """Raise if a file was edited after a crash. A crash leaves the old file, the new file, or none."""
    old = await _matching(state, state.old())
    there = [path for path in state.changes if _kind(state.repo.files, path)]
    edited = [path for path in there if path not in old and path not in matching and path in state.old()]
    above = {above for path in state.new() for above in parents(path)}
    edited = [path for path in edited if path not in above]  # a directory already replaces the old file
    if edited:
        raise NotClean("the checkout was changed after a landing was interrupted", sorted(edited))


# -- what git does not look at --


def _obstacles(state: CheckoutState, matching: set[bytes]) -> Iterator[bytes]:
    """Yield paths that block new files and are not files of the old tree."""
    going = state.old().keys()
    files = state.repo.files
    for path in state.new().keys() - going - matching:
        for above in parents(path):
            if above and above not in going and _kind(files, above) == "other":
                yield above
        if _kind(files, path) == "directory":
            yield from (one for one in files.files_below(path) if one not in going)
        elif _kind(files, path) == "other":
            yield path


def _kind(files: Root, path: bytes) -> str:
    """Return what is at a path; empty for nothing. A path behind a link counts as nothing; a link is `other`."""
    try:
        found = files.status(path)
    except LeavesRoot:
        return ""
    return "" if found is None else "directory" if stat.S_ISDIR(found.st_mode) else "other"
