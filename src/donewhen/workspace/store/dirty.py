"""What the user has not committed, and a commit of it in our store. The user's own index is only ever copied.

Git compares with that copy and looks at the user's files with the few harmless settings that decide what counts as a
change: line ends, modes, ignored files. Submodules are not entered, and no filter program runs: a change that would
need one cannot be put into a snapshot, and says so.
"""

import contextlib
import os
import shutil
import stat
import tempfile
from collections.abc import Generator, Sequence
from dataclasses import replace
from pathlib import Path

from donewhen.errors import BadInput
from donewhen.workspace.beneath import LeavesRoot, Root
from donewhen.workspace.git import Place, Settings
from donewhen.workspace.objects import FILE, GITLINK, LINK, PROGRAM, Change, Entry, date_in, object_id, raw, shown, text
from donewhen.workspace.repo import Repo
from donewhen.workspace.store import lfs
from donewhen.workspace.store.bare import Bare
from donewhen.workspace.store.checkout import with_filter

STATUS = ("status", "--porcelain=v2", "-z", "--no-renames", "--untracked-files=all", "--ignore-submodules=dirty")
HARMLESS = ("filemode", "symlinks", "ignorecase", "autocrlf", "eol", "trustctime", "checkstat")
VALUES = ("true", "false", "input", "lf", "crlf", "native", "minimal", "default")


async def uncommitted(bare: Bare, repo: Repo) -> list[Change]:
    with _work_tree(bare, repo) as place:
        changes = await _changes(bare, repo, place)
        return [change for change in changes if change.old is not None or change.new is not None]


async def snapshot(bare: Bare, repo: Repo) -> str:
    """A commit on top of HEAD that holds everything uncommitted; HEAD itself when there is nothing."""
    with _work_tree(bare, repo) as place:
        changes = await _changes(bare, repo, place)
        taken = [change for change in changes if change.kind != "nested"]
        unmerged = [shown(change.path) for change in changes if change.kind == "unmerged"]
        if unmerged:
            raise BadInput(f"{unmerged[0]} is unmerged: resolve it first, or leave uncommitted changes out")
        if not taken:
            return repo.head
        await _stage(bare, repo, place, taken)
        tree = (await bare.run("write-tree", at=place)).decode().strip()
        (head,) = await bare.contents([repo.head])
        # HEAD's date, so that the same changes give the same commit, and its checkout is already there.
        commit = await bare.run(
            "commit-tree", tree, "-p", repo.head, at=place, stdin=b"Uncommitted changes\n", date=date_in(head)
        )
        return commit.decode().strip()


@contextlib.contextmanager
def _work_tree(bare: Bare, repo: Repo) -> Generator[Place]:
    """The user's files, seen with a copy of the user's index."""
    with bare.scratch(repo.root, head=repo.head.encode() + b"\n") as place:
        copy_index(repo, place.git_dir)
        yield place


def copy_index(repo: Repo, git_dir: Path) -> None:
    """The user's index in a git dir of ours, with its time: git compares that with the times of the files."""
    names = [name for name in repo.git.names() if name.startswith("sharedindex.")]
    for name in ["index", *names]:
        if repo.git.is_file(name):
            with repo.git.file(name) as source, (git_dir / name).open("wb") as target:
                shutil.copyfileobj(source, target, 1 << 20)
                target.flush()
                status = os.fstat(source.fileno())
                os.utime(target.fileno(), ns=(status.st_atime_ns, status.st_mtime_ns))


def _settings(repo: Repo) -> Settings:
    pairs = [(f"core.{name}", repo.setting(f"core.{name}").lower()) for name in HARMLESS]
    kept = [(key, value) for key, value in pairs if value in VALUES]
    if repo.ignore_file is not None:
        kept.append(("core.excludesFile", str(repo.ignore_file)))
    return kept


# -- what changed --


async def _changes(bare: Bare, repo: Repo, place: Place) -> list[Change]:
    """What git's status tells. A path that is neither in HEAD nor on disk, only in the index, has no state at all."""
    answer = await bare.run(*STATUS, at=place, settings=_settings(repo))
    found: dict[str, Change] = {}
    for record in answer.split(b"\0")[:-1]:
        change = _change(record, repo.files)
        before = found.get(change.path)
        if before is not None and before.old is not None:  # taken out of the index, and there all the same
            change = Change(change.path, "modified", before.old, change.new)
        found[change.path] = change
    same = await _unchanged_lfs(bare, repo, place, list(found.values()))
    return [change for path, change in sorted(found.items()) if path not in same]


def _change(record: bytes, files: Root) -> Change:
    kind, _, rest = record.partition(b" ")
    if kind == b"?" and rest.endswith(b"/"):
        return Change(text(rest[:-1]), "nested", None, Entry(GITLINK, ""))
    if kind == b"?":
        return Change(text(rest), "added", None, Entry(_mode(files, rest), ""))
    if kind == b"u":
        *about, path = rest.decode("utf-8", "surrogateescape").split(" ", 9)
        return Change(path, "unmerged", Entry(int(about[2], 8), about[6]), Entry(int(about[5], 8), ""))
    *about, path = rest.decode("utf-8", "surrogateescape").split(" ", 7)
    old, new = int(about[2], 8), int(about[4], 8)
    before = Entry(old, about[5]) if old else None
    after = Entry(new, about[6] if about[0][1] == "." else "") if new else None
    return Change(path, "added" if not old else "modified" if new else "deleted", before, after)


def _mode(files: Root, path: bytes) -> int:
    status = files.status(path)
    if status is None:
        raise BadInput(f"{shown(path)} was removed while it was looked at: try again")
    mode = status.st_mode
    return LINK if stat.S_ISLNK(mode) else PROGRAM if mode & stat.S_IXUSR else FILE


async def _unchanged_lfs(bare: Bare, repo: Repo, place: Place, changes: Sequence[Change]) -> set[str]:
    """LFS files that only look changed: the pointer of what is on disk is what HEAD has."""
    modified = [change for change in changes if change.kind == "modified" and _is_file(change)]
    if not modified or not repo.lfs.is_directory():
        return set()
    paths = (await with_filter(bare, place, [raw(change.path) for change in modified])).get("lfs", [])
    return {change.path for change in modified if raw(change.path) in paths and _is_same(bare, repo, change)}


def _is_file(change: Change) -> bool:
    return change.new is not None and change.new.mode in (FILE, PROGRAM)


def _is_same(bare: Bare, repo: Repo, change: Change) -> bool:
    pointer = lfs.pointer_of(repo.files, raw(change.path))
    id = object_id(bare.object_format, "blob", pointer)
    return change.old is not None and change.new is not None and change.old == Entry(change.new.mode, id)


# -- the snapshot --


async def _stage(bare: Bare, repo: Repo, place: Place, changes: Sequence[Change]) -> None:
    gone = b"".join(raw(change.path) + b"\0" for change in changes if change.new is None)
    paths = [raw(change.path) for change in changes if change.new is not None]
    files = [raw(change.path) for change in changes if _is_file(change)]
    filtered = await with_filter(bare, place, files) if files else {}
    pointers = filtered.pop("lfs", [])
    for name, needing in filtered.items():
        if {f"filter.{name}.clean", f"filter.{name}.process"} & repo.settings.keys():
            raise BadInput(f"{shown(needing[0])} needs the filter {shown(name)}, which is never run: commit it first")
    if gone:  # by name alone: where a link now stands for their directory, git refuses to look for them
        await bare.run("update-index", "--force-remove", "-z", "--stdin", at=place, stdin=gone)
    modules = [raw(change.path) for change in changes if change.new is not None and change.new.mode == GITLINK]
    await _add(bare, repo, place, modules)
    with tempfile.TemporaryDirectory(dir=place.git_dir) as copied:
        taken = [path for path in paths if path not in pointers and path not in modules]
        _copy_files(repo.files, taken, Root(Path(copied)))
        await _add(bare, repo, replace(place, work_tree=Path(copied)), taken)
    if pointers:
        records = b"".join(_record(bare, repo, path) for path in pointers)
        await bare.run("update-index", "--replace", "-z", "--index-info", at=place, stdin=records)


async def _add(bare: Bare, repo: Repo, place: Place, paths: Sequence[bytes]) -> None:
    if paths:
        names = b"".join(path + b"\0" for path in paths)
        options = ("--add", "--remove", "--replace", "-z", "--stdin")
        await bare.run("update-index", *options, at=place, stdin=names, settings=_settings(repo))


def _copy_files(source: Root, paths: Sequence[bytes], target: Root) -> None:
    """Copy the user's files and links to a directory of ours, where nobody can exchange one while git reads it."""
    for path in paths:
        try:
            _copy_file(source, path, target)
        except (FileNotFoundError, LeavesRoot):
            continue  # it was removed, or its directory replaced, after git had looked: as if it were not there
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
    pointer = lfs.take_in(repo.files, path, bare.lfs_places(repo))
    return b"%o %s\t%s\0" % (_mode(repo.files, path), bare.write("blob", pointer).encode(), path)
