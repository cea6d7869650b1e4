"""Whether a checkout is clean enough for a landing to change its files, and the paths that say no.

Git answers from a copy of the user's index, with the few harmless settings that decide what counts as a change. What
git would not look at (ignored files, paths that were declared unchanged, files in the way of a directory) is looked at
here. A checkout in which an earlier landing of the same two trees stopped half-way may be anything between them.
"""

import stat
from collections.abc import Iterator, Mapping

from donewhen.records import frozen
from donewhen.workspace.beneath import LeavesRoot, Root
from donewhen.workspace.index import Held, written
from donewhen.workspace.landing.refusals import NotClean, NotLanded
from donewhen.workspace.objects import FILE, GITLINK, PROGRAM, Change, Entry, object_id, parents
from donewhen.workspace.repo import UNDER_WAY, Repo, is_true
from donewhen.workspace.store import lfs
from donewhen.workspace.store.bare import Bare
from donewhen.workspace.store.dirty import HARMLESS, VALUES, copy_index

STATUS = ("status", "--porcelain=v2", "-z", "--no-renames", "--untracked-files=no", "--ignore-submodules=dirty")
BY = b"author donewhen <donewhen@localhost> 0 +0000\ncommitter donewhen <donewhen@localhost> 0 +0000\n\n\n"


@frozen
class Ground:
    """A checkout that is to go from one tree to another one."""

    bare: Bare
    repo: Repo
    from_tree: str
    changes: Mapping[bytes, Change]
    half_way: bool
    """An earlier landing of the same kind began here and did not end."""

    def old(self) -> dict[bytes, Entry]:
        return {path: change.old for path, change in self.changes.items() if change.old is not None}

    def new(self) -> dict[bytes, Entry]:
        return {path: change.new for path, change in self.changes.items() if change.new is not None}


def harmless(repo: Repo) -> list[tuple[str, str]]:
    """The user's settings that say what a file on disk looks like."""
    pairs = [(f"core.{name}", repo.setting(f"core.{name}").lower()) for name in HARMLESS]
    return [(key, value) for key, value in pairs if value in VALUES]


async def refuse_unclean(ground: Ground) -> None:
    """Raise what stands against the change; the caller holds the lock of the index."""
    _refuse_unfit(ground)
    changed = [path for path, record in (await _status(ground)).items() if not _is_fine(ground, path, record)]
    if changed:
        raise NotClean("the checkout has changes that are not committed", sorted(changed))
    hidden = await _hidden(ground)
    if hidden:
        raise NotClean(
            "git was told not to look at these (git update-index --no-assume-unchanged --no-skip-worktree)", hidden
        )
    matching = await _matching(ground, ground.new()) if ground.half_way else set[bytes]()
    obstacles = sorted(set(_obstacles(ground, matching)))
    if obstacles:
        raise NotClean("files that are not tracked would be overwritten", obstacles)
    if ground.half_way:
        await _refuse_edited(ground, matching)


def _refuse_unfit(ground: Ground) -> None:
    for name, line in UNDER_WAY.items():
        if ground.repo.git.status(name):
            raise NotLanded(f"{line} in the checkout")
    if is_true(ground.repo.setting("core.sparsecheckout")):
        raise NotLanded("the checkout is sparse, so its files cannot be brought up to date here")
    modules = [path for path, entry in (*ground.old().items(), *ground.new().items()) if entry.mode == GITLINK]
    if modules:
        raise NotClean("submodules are not brought up to date here", sorted(set(modules)))


# -- what git sees --


@frozen
class Record:
    """What git's status says about one tracked path that is not as the tree has it."""

    index: Entry | None
    staged: bool
    """The index says something else than the tree."""
    on_disk: str
    """As git's letter: `.` is the same as the index, `D` is missing."""
    unmerged: bool = False


async def _status(ground: Ground) -> dict[bytes, Record]:
    """Tracked paths that are not what the first tree says, in the index or on disk."""
    commit = ground.bare.write("commit", b"tree " + ground.from_tree.encode() + b"\n" + BY)
    with ground.bare.scratch(ground.repo.root, head=commit.encode() + b"\n") as place:
        copy_index(ground.repo, place.git_dir)
        answer = await ground.bare.run(*STATUS, at=place, settings=harmless(ground.repo))
    return dict(_record(record) for record in answer.split(b"\0")[:-1])


def _record(record: bytes) -> tuple[bytes, Record]:
    kind, _, rest = record.partition(b" ")
    if kind == b"u":
        return rest.split(b" ", 9)[-1], Record(None, True, "M", unmerged=True)
    letters, _, _, mode, _, _, id, path = rest.split(b" ", 7)
    index = Entry(int(mode, 8), id.decode()) if int(mode, 8) else None
    return path, Record(index, letters[:1] != b".", letters[1:].decode())


def _is_fine(ground: Ground, path: bytes, record: Record) -> bool:
    change = ground.changes.get(path)
    if record.unmerged:
        return False
    if ground.half_way and change is not None:
        return record.index in (change.old, change.new)  # what is on disk is looked at apart
    is_modified = record.on_disk == "M" and record.index is not None and not record.staged
    return is_modified and _is_content_of(ground, path, record.index)


def _is_content_of(ground: Ground, path: bytes, entry: Entry | None) -> bool:
    """Whether a file on disk is the content of the LFS pointer that git has for it."""
    status = ground.repo.files.status(path)
    if entry is None or status is None or not stat.S_ISREG(status.st_mode):
        return False
    is_program = bool(status.st_mode & stat.S_IXUSR)
    pointer = object_id(ground.bare.object_format, "blob", lfs.pointer_of(ground.repo.files, path))
    return entry == Entry(PROGRAM if is_program else FILE, pointer)


async def _hidden(ground: Ground) -> list[bytes]:
    """Paths of the change for which the index says that nobody should look at the file."""
    with ground.bare.scratch(ground.repo.root) as place:
        copy_index(ground.repo, place.git_dir)
        answer = await ground.bare.run("ls-files", "-v", "-z", at=place)
    marked = [record[2:] for record in answer.split(b"\0")[:-1] if record[:1] == b"S" or record[:1].islower()]
    return [path for path in marked if path in ground.changes]


async def _matching(ground: Ground, entries: Mapping[bytes, Entry]) -> set[bytes]:
    """Those of the paths that are on disk exactly what is given for them."""
    with ground.bare.scratch(ground.repo.root) as place:
        held = [Held(path, entry) for path, entry in entries.items()]
        place.index.write_bytes(written(held, ground.bare.object_format))
        answer = await ground.bare.run(*STATUS, at=place, settings=harmless(ground.repo))
    records = dict(_record(record) for record in answer.split(b"\0")[:-1])
    differing = [path for path, record in records.items() if record.on_disk != "."]
    others = {
        path for path in differing if records[path].on_disk == "D" or not _is_content_of(ground, path, entries[path])
    }
    return entries.keys() - others


async def _refuse_edited(ground: Ground, matching: set[bytes]) -> None:
    """After a crash, a file is the old one, the new one, or not there; anything else is the user's own work since."""
    old = await _matching(ground, ground.old())
    there = [path for path in ground.changes if _kind(ground.repo.files, path)]
    edited = [path for path in there if path not in old and path not in matching and path in ground.old()]
    above = {above for path in ground.new() for above in parents(path)}
    edited = [path for path in edited if path not in above]  # a directory stands for the old file already
    if edited:
        raise NotClean("the checkout was changed after a landing stopped half-way", sorted(edited))


# -- what git does not look at --


def _obstacles(ground: Ground, matching: set[bytes]) -> Iterator[bytes]:
    """What is in the way of the new files and is no file of the tree that goes."""
    going = ground.old().keys()
    files = ground.repo.files
    for path in ground.new().keys() - going - matching:
        for above in parents(path):
            if above and above not in going and _kind(files, above) == "other":
                yield above
        if _kind(files, path) == "directory":
            yield from (one for one in files.files_below(path) if one not in going)
        elif _kind(files, path) == "other":
            yield path


def _kind(files: Root, path: bytes) -> str:
    """What is at a path; behind a link there is nothing, and the link itself is found by its own path."""
    try:
        found = files.status(path)
    except LeavesRoot:
        return ""
    return "" if found is None else "directory" if stat.S_ISDIR(found.st_mode) else "other"
