"""The user's uncommitted changes, and a commit of them in our store. The user's index is only copied, never changed.

Git compares the user's files with that copy, using the few harmless settings that decide what counts as a change: line
ends, modes, ignored files. Submodules are not entered, and no filter program runs. A change that needs a filter cannot
be part of a snapshot and raises BadInput.

Git accepts any path in an index, also one outside the working tree. So the paths of the copy are listed and checked,
which opens no file, before git compares anything with it.
"""

import contextlib
import os
import re
import shutil
import stat
import tempfile
from collections.abc import AsyncGenerator, Sequence
from dataclasses import replace
from pathlib import Path

from donewhen.errors import BadInput
from donewhen.workspace.beneath import LeavesRoot, Root
from donewhen.workspace.git.index import named_parts, unsafe_path
from donewhen.workspace.git.objects import (
    FILE,
    GITLINK,
    LINK,
    PROGRAM,
    Change,
    TreeEntry,
    date_in,
    object_id,
    raw,
    shown,
    text,
)
from donewhen.workspace.git.repo import Repo
from donewhen.workspace.git.run_git import GitFailed, GitLocation, Settings
from donewhen.workspace.git.store import lfs
from donewhen.workspace.git.store.bare import Bare
from donewhen.workspace.git.store.checkout import with_filter

STATUS = ("status", "--porcelain=v2", "-z", "--no-renames", "--untracked-files=all", "--ignore-submodules=dirty")
HARMLESS = ("filemode", "symlinks", "ignorecase", "autocrlf", "eol", "trustctime", "checkstat")
VALUES = ("true", "false", "input", "lf", "crlf", "native", "minimal", "default")
SHARED = re.compile(r"sharedindex\.([0-9a-f]{40}|[0-9a-f]{64})")
LARGEST_INDEX = 512 << 20
"""Size limit of an index with all its parts; enough for five million files. Git maps a whole index into memory."""


async def uncommitted(bare: Bare, repo: Repo) -> list[Change]:
    async with _work_tree(bare, repo) as location:
        changes = await _changes(bare, repo, location)
        return [change for change in changes if change.old is not None or change.new is not None]


async def snapshot(bare: Bare, repo: Repo) -> str:
    """Return a commit on top of HEAD with everything uncommitted; HEAD itself if there is nothing."""
    async with _work_tree(bare, repo) as location:
        changes = await _changes(bare, repo, location)
        included = [change for change in changes if change.kind != "nested"]
        unmerged = [shown(change.path) for change in changes if change.kind == "unmerged"]
        if unmerged:
            raise BadInput(f"{unmerged[0]} is unmerged: resolve it first, or leave out uncommitted changes")
        if not included:
            return repo.head
        await _stage(bare, repo, location, included)
        tree = (await bare.run("write-tree", at=location)).decode().strip()
        (head,) = await bare.contents([repo.head])
        # HEAD's date, so that the same changes give the same commit, whose checkout can be reused.
        commit = await bare.run(
            "commit-tree", tree, "-p", repo.head, at=location, stdin=b"Uncommitted changes\n", date=date_in(head)
        )
        return commit.decode().strip()


@contextlib.asynccontextmanager
async def _work_tree(bare: Bare, repo: Repo) -> AsyncGenerator[GitLocation]:
    """Yield a location with the user's files and a copy of the user's index."""
    with bare.over(repo, head=repo.head.encode() + b"\n") as location:
        await copy_checked_index(bare, repo, location)
        yield location


async def copy_checked_index(bare: Bare, repo: Repo, location: GitLocation) -> None:
    """Copy the user's index to our location. Raise BadInput for paths that cannot be in a working tree."""
    copy_index(repo, location.git_dir)
    try:
        listed = await bare.run("ls-files", "-z", at=location)
    except GitFailed as error:
        raise BadInput(f"{shown(repo.git.full_path('index'))} cannot be read: {error}") from error
    path = unsafe_path(listed)
    if path is not None:
        where = shown(repo.git.full_path("index"))
        raise BadInput(f"{where} names {shown(path) or 'an empty path'}, which is not a path of a working tree")


def copy_index(repo: Repo, git_dir: Path) -> None:
    """Copy the user's index into our git directory, with its time: git compares that with the times of the files."""
    if not repo.git.is_file("index"):
        return
    left = _copy_part(repo, "index", git_dir, LARGEST_INDEX)
    names = [name for name in repo.git.names() if SHARED.fullmatch(name)]
    for name in sorted(named_parts((git_dir / "index").read_bytes(), names)) if names else ():
        try:
            left = _copy_part(repo, name, git_dir, left)
        except IsADirectoryError as error:
            raise BadInput(f"{shown(repo.git.full_path(name))} {error.strerror}") from error


def _copy_part(repo: Repo, name: str, git_dir: Path, most: int) -> int:
    """Copy one file and return how many bytes of the limit are left."""
    with repo.git.file(name) as source, (git_dir / name).open("wb") as target:
        size = os.fstat(source.fileno()).st_size
        if size > most:
            limit = f"{LARGEST_INDEX >> 20} MiB"
            raise BadInput(f"{shown(repo.git.full_path(name))}: an index with more than {limit} is not read here")
        while size > 0 and (piece := source.read(min(size, 1 << 20))):  # no more than the reported size
            size -= target.write(piece)
            most -= len(piece)
        target.flush()
        status = os.fstat(source.fileno())
        os.utime(target.fileno(), ns=(status.st_atime_ns, status.st_mtime_ns))
    return most


def _settings(repo: Repo) -> Settings:
    pairs = [(f"core.{name}", repo.setting(f"core.{name}").lower()) for name in HARMLESS]
    kept = [(key, value) for key, value in pairs if value in VALUES]
    if repo.ignore_file is not None:
        kept.append(("core.excludesFile", str(repo.ignore_file)))
    return kept


# -- what changed --


async def _changes(bare: Bare, repo: Repo, location: GitLocation) -> list[Change]:
    """Parse git's status. A path that is only in the index, not in HEAD or on disk, has neither old nor new entry."""
    answer = await bare.run(*STATUS, at=location, settings=_settings(repo))
    found: dict[str, Change] = {}
    for record in answer.split(b"\0")[:-1]:
        change = _change(record, repo.files)
        before = found.get(change.path)
        if before is not None and before.old is not None:  # removed from the index, but still on disk
            change = Change(change.path, "modified", before.old, change.new)
        found[change.path] = change
    same = await _unchanged_lfs(bare, repo, location, list(found.values()))
    return [change for path, change in sorted(found.items()) if path not in same]


def _change(record: bytes, files: Root) -> Change:
    kind, _, rest = record.partition(b" ")
    if kind == b"?" and rest.endswith(b"/"):
        return Change(text(rest[:-1]), "nested", None, TreeEntry(GITLINK, ""))
    if kind == b"?":
        return Change(text(rest), "added", None, TreeEntry(_mode(files, rest), ""))
    if kind == b"u":
        *about, path = rest.decode("utf-8", "surrogateescape").split(" ", 9)
        return Change(path, "unmerged", TreeEntry(int(about[2], 8), about[6]), TreeEntry(int(about[5], 8), ""))
    *about, path = rest.decode("utf-8", "surrogateescape").split(" ", 7)
    old, new = int(about[2], 8), int(about[4], 8)
    before = TreeEntry(old, about[5]) if old else None
    after = TreeEntry(new, about[6] if about[0][1] == "." else "") if new else None
    return Change(path, "added" if not old else "modified" if new else "deleted", before, after)


def _mode(files: Root, path: bytes) -> int:
    status = files.status(path)
    if status is None:
        raise BadInput(f"{shown(path)} was removed while it was read; try again")
    mode = status.st_mode
    return LINK if stat.S_ISLNK(mode) else PROGRAM if mode & stat.S_IXUSR else FILE


async def _unchanged_lfs(bare: Bare, repo: Repo, location: GitLocation, changes: Sequence[Change]) -> set[str]:
    """Return LFS files that only look changed: the pointer of the file on disk is the one in HEAD."""
    modified = [change for change in changes if change.kind == "modified" and _is_file(change)]
    if not modified or not repo.lfs.is_directory():
        return set()
    paths = (await with_filter(bare, location, [raw(change.path) for change in modified])).get("lfs", [])
    return {change.path for change in modified if raw(change.path) in paths and _is_same(bare, repo, change)}


def _is_file(change: Change) -> bool:
    return change.new is not None and change.new.mode in (FILE, PROGRAM)


def _is_same(bare: Bare, repo: Repo, change: Change) -> bool:
    pointer = lfs.pointer_of(repo.files, raw(change.path))
    id = object_id(bare.object_format, "blob", pointer)
    return change.old is not None and change.new is not None and change.old == TreeEntry(change.new.mode, id)


# -- the snapshot --


async def _stage(bare: Bare, repo: Repo, location: GitLocation, changes: Sequence[Change]) -> None:
    gone = b"".join(raw(change.path) + b"\0" for change in changes if change.new is None)
    paths = [raw(change.path) for change in changes if change.new is not None]
    files = [raw(change.path) for change in changes if _is_file(change)]
    filtered = await with_filter(bare, location, files) if files else {}
    pointers = filtered.pop("lfs", [])
    for name, needing in filtered.items():
        if {f"filter.{name}.clean", f"filter.{name}.process"} & repo.settings.keys():
            raise BadInput(f"{shown(needing[0])} needs the filter {shown(name)}, which is never run: commit it first")
    if gone:  # by name only: if a link replaced their directory, git refuses to look for them
        await bare.run("update-index", "--force-remove", "-z", "--stdin", at=location, stdin=gone)
    modules = [raw(change.path) for change in changes if change.new is not None and change.new.mode == GITLINK]
    await _add(bare, repo, location, modules)
    with tempfile.TemporaryDirectory(dir=location.git_dir) as copied:
        regular = [path for path in paths if path not in pointers and path not in modules]
        _copy_files(repo.files, regular, Root(Path(copied)))
        await _add(bare, repo, replace(location, work_tree=Path(copied), check=None), regular)
    if pointers:
        records = b"".join(_record(bare, repo, path) for path in pointers)
        await bare.run("update-index", "--replace", "-z", "--index-info", at=location, stdin=records)


async def _add(bare: Bare, repo: Repo, location: GitLocation, paths: Sequence[bytes]) -> None:
    if paths:
        names = b"".join(path + b"\0" for path in paths)
        options = ("--add", "--remove", "--replace", "-z", "--stdin")
        await bare.run("update-index", *options, at=location, stdin=names, settings=_settings(repo))


def _copy_files(source: Root, paths: Sequence[bytes], target: Root) -> None:
    """Copy the user's files and links to our directory, where no other process can replace one while git reads it."""
    for path in paths:
        try:
            _copy_file(source, path, target)
        except (FileNotFoundError, LeavesRoot):
            continue  # removed, or its directory was replaced, after git's status: counts as missing
        except OSError as error:
            raise BadInput(f"{shown(path)} cannot be read: {error.strerror}") from error


def _copy_file(source: Root, path: bytes, target: Root) -> None:
    with target.above(path, make=True) as (above, name):
        link = source.target(path)
        if link is not None:
            os.symlink(link, name, dir_fd=above)
            return
        with source.file(path) as file:
            mode = 0o755 if os.fstat(file.fileno()).st_mode & stat.S_IXUSR else 0o644
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
            with os.fdopen(os.open(name, flags, mode, dir_fd=above), "wb") as copy:
                shutil.copyfileobj(file, copy, 1 << 20)


def _record(bare: Bare, repo: Repo, path: bytes) -> bytes:
    pointer = lfs.store_content(repo.files, path, bare.lfs_places(repo))
    return b"%o %s\t%s\0" % (_mode(repo.files, path), bare.write("blob", pointer).encode(), path)
