"""Writes the objects that the user's repository lacks into it, before any reference there names them.

They are written as loose objects, which `repack -a -d` by the user does not remove. An existing file is never
overwritten, and each object is compared with its id first. Git reports the missing objects, in a git directory of ours
that borrows the user's object directory. LFS content goes to the directory where the user's git-lfs looks for it.

Delivery can be repeated without harm. A caller that is about to name a commit delivers it again, in case a garbage
collection ran in between.
"""

import errno
import hashlib
import os
import secrets
import shutil
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

import anyio.to_thread

from donewhen.errors import MachineryBroke
from donewhen.workspace.beneath import LINK, LeavesRoot, Root
from donewhen.workspace.files import NO_HARD_LINKS
from donewhen.workspace.git import refs
from donewhen.workspace.git.landing.refusals import explain_errors
from donewhen.workspace.git.objects import frame, object_id, raw
from donewhen.workspace.git.repo import Repo
from donewhen.workspace.git.store import Store, lfs, object_mirror
from donewhen.workspace.git.store.bare import LARGEST_READ, Bare
from donewhen.workspace.git.store.traps import refuse_trap

MOST_TRIES = 3
MOST_AT_ONCE = 64 * 1024 * 1024
"""Bytes of content held in memory at the same time."""
MOST_SYNCED_ALONE = 64
"""More files than this are flushed by one `sync` for all instead of one `fsync` each."""


class StoredObject(NamedTuple):
    kind: str
    size: int


async def deliver(store: Store, repo: Repo, commit: str) -> None:
    """Make sure that the user's repository has a commit of our store and everything reachable from it."""
    bare = store.bare
    missing: list[str] = []
    with explain_errors("the objects of the work cannot be written to the repository"):
        await object_mirror.refresh(bare, repo)
        ids = await _unreachable_ids(bare, repo, commit)
        answer = await bare.run("cat-file", "--batch-check", "--buffer", stdin=_lines(ids))
        lines = [line.split() for line in answer.decode().splitlines()]
        wanted = {fields[0]: StoredObject(fields[1], int(fields[2])) for fields in lines if len(fields) == 3}
        await _bring_lfs_content(bare, repo, wanted)
        for _ in range(MOST_TRIES):
            missing = await _missing(bare, repo, wanted)
            if not missing:
                return
            for id in [id for id in missing if wanted[id].size > LARGEST_READ]:
                async with bare.blob_file(id) as file:
                    await anyio.to_thread.run_sync(_write_large, bare, repo.common.below("objects"), id, file)
            for some in _portions([id for id in missing if wanted[id].size <= LARGEST_READ], wanted):
                contents = await bare.contents(some)
                objects = [(id, wanted[id].kind, content) for id, content in zip(some, contents, strict=True)]
                await anyio.to_thread.run_sync(_write, bare, repo.common.below("objects"), objects)
    raise MachineryBroke(f"object {missing[0]} is damaged in the repository; see: git fsck")


# -- what is missing --


async def _unreachable_ids(bare: Bare, repo: Repo, commit: str) -> list[str]:
    """Return ids of objects that are reachable from the commit but not from any reference of the user."""
    tips = {id for id in (*_tips(repo.common), *_heads(repo.common)) if id not in ("", commit)}
    revisions = "\n".join([commit, *(f"^{id}" for id in sorted(tips)), ""])
    options = ("--objects", "--no-object-names", "--ignore-missing", "--stdin")
    lenient = ("--missing=allow-any",) if repo.partial else ()
    answer = await bare.run("rev-list", *options, *lenient, stdin=revisions.encode())
    return answer.decode().split()


def _tips(common: Root) -> Iterator[str]:
    yield from refs.all_refs(common, refs.loose_refs(common)).values()


def _heads(common: Root) -> Iterator[str]:
    for git in git_dirs(common):
        yield refs.follow(refs.read(git, "HEAD"), common)


def git_dirs(common: Root) -> list[Root]:
    """Return the git directory of every working tree of a repository. Entries that are not directories are skipped."""
    linked = [f"worktrees/{name}" for name in common.names("worktrees")]
    return [common, *(common.below(path) for path in linked if common.is_directory(path))]


async def _missing(bare: Bare, repo: Repo, wanted: Mapping[str, StoredObject]) -> list[str]:
    """Return those objects that are currently missing in the user's repository."""
    directories = object_mirror.object_directories(repo.common)
    for directory in directories:
        for id in wanted:  # git would follow a link there
            if directory.target(f"{id[:2]}/{id[2:]}") is not None:
                raise LeavesRoot(errno.ELOOP, LINK, directory.full_path(f"{id[:2]}/{id[2:]}"))
    with bare.scratch() as location:
        git_dir = location.git_dir / "theirs"
        for part in ("objects/info", "refs"):
            (git_dir / part).mkdir(parents=True)
        shutil.copyfile(bare.git_dir / "config", git_dir / "config")
        shutil.copyfile(bare.git_dir / "HEAD", git_dir / "HEAD")
        (git_dir / "objects" / "info" / "alternates").write_bytes(_quoted(repo.common.full_path("objects")))
        at = bare.location(git_dir, check=partial(_refuse_traps, directories))
        answer = await bare.run("cat-file", "--batch-check", "--buffer", at=at, stdin=_lines(list(wanted)))
    return [line.split()[0].decode() for line in answer.splitlines() if line.endswith(b" missing")]


def _refuse_traps(directories: Sequence[Root]) -> None:
    for directory in directories:
        for path in directory.files_below():
            if (status := directory.status(path)) is not None:
                refuse_trap(raw(directory.full_path(path)), status)


def _lines(ids: Sequence[str]) -> bytes:
    return "".join(f"{id}\n" for id in ids).encode()


def _quoted(path: str) -> bytes:
    """Return a quoted path for a list of alternates. Inside quotes, no character has a special meaning."""
    plain = os.fsencode(path)
    odd = b'\\"' + bytes(range(32)) + bytes(range(127, 256))
    return b'"' + b"".join(b"\\%03o" % byte if byte in odd else bytes([byte]) for byte in plain) + b'"\n'


def _portions(ids: Sequence[str], wanted: Mapping[str, StoredObject]) -> Iterator[list[str]]:
    some: list[str] = []
    size = 0
    for id in ids:
        if some and size + wanted[id].size > MOST_AT_ONCE:
            yield some
            some, size = [], 0
        some.append(id)
        size += wanted[id].size
    if some:
        yield some


# -- writing --


def _write_large(bare: Bare, directory: Root, id: str, file: Path) -> None:
    """Write a blob that is too large to hold in memory."""
    digest = hashlib.new(bare.object_format, usedforsecurity=False)
    fan = _object_directory(directory, id)
    temporary = _write_temporary(directory, fan, _deflate(file, digest.update), 1)
    if digest.hexdigest() != id:
        with directory.directory(fan) as fd:
            os.unlink(temporary, dir_fd=fd)
        raise MachineryBroke(f"object {id} is damaged in the store; nothing was landed")
    _rename_into_place(directory, temporary, f"{fan}/{id[2:]}")
    _sync(directory, [fan, ""])


def _deflate(file: Path, hashing: Callable[[bytes], None]) -> Iterator[bytes]:
    """Yield a blob in git's storage format, piece by piece."""
    compressing = zlib.compressobj(1)
    with file.open("rb") as content:
        piece = b"blob %d\0" % os.fstat(content.fileno()).st_size
        while piece:
            hashing(piece)
            yield compressing.compress(piece)
            piece = content.read(1 << 20)
    yield compressing.flush()


def _object_directory(directory: Root, id: str) -> str:
    """Return the name of an object's directory; create the directory if it is missing."""
    with directory.directory(id[:2], make=True):
        return id[:2]


def _write(bare: Bare, directory: Root, objects: Sequence[tuple[str, str, bytes]]) -> None:
    written: dict[str, str] = {}
    for id, kind, content in objects:
        if object_id(bare.object_format, kind, content) != id:
            raise MachineryBroke(f"object {id} is damaged in the store; nothing was landed")
        fan = _object_directory(directory, id)
        written[f"{fan}/{id[2:]}"] = _write_temporary(
            directory, fan, [zlib.compress(frame(kind, content), 1)], len(objects)
        )
    if len(objects) > MOST_SYNCED_ALONE:
        os.sync()
    for target, temporary in written.items():
        _rename_into_place(directory, temporary, target)
    _sync(directory, [*{target.partition("/")[0] for target in written}, ""])


def _sync(directory: Root, paths: Sequence[str]) -> None:
    for path in paths:
        with directory.directory(path) as fd:
            os.fsync(fd)


def _write_temporary(directory: Root, fan: str, pieces: Iterable[bytes], among: int) -> str:
    """Write a file under a temporary name that git's own clean-up recognises and removes."""
    temporary = f"tmp_obj_{secrets.token_hex(6)}"
    descriptor = directory.open(f"{fan}/{temporary}", os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o444)
    with os.fdopen(descriptor, "wb") as file:
        file.writelines(pieces)
        file.flush()
        directory.share(file.fileno())
        if among <= MOST_SYNCED_ALONE:
            os.fsync(file.fileno())
    return temporary


def _rename_into_place(root: Root, temporary: str, target: str) -> None:
    """Rename a finished temporary file in the same directory, unless the target exists."""
    with root.above(target) as (above, name):
        try:
            os.link(temporary, name, src_dir_fd=above, dst_dir_fd=above, follow_symlinks=False)
        except FileExistsError:
            pass
        except OSError as error:
            if error.errno not in NO_HARD_LINKS:
                raise
            if root.status(target) is None:
                os.rename(temporary, name, src_dir_fd=above, dst_dir_fd=above)
                return
        os.unlink(temporary, dir_fd=above)


# -- LFS --


async def _bring_lfs_content(bare: Bare, repo: Repo, wanted: Mapping[str, StoredObject]) -> None:
    ours, theirs = bare.lfs_places(repo)
    if not ours.names():
        return
    short = [id for id, kept in wanted.items() if kept.kind == "blob" and kept.size <= lfs.LONGEST_POINTER]
    for content in await bare.contents(short):
        pointer = lfs.pointer_in(content)
        if pointer is not None and ours.is_file(pointer.path) and theirs.status(pointer.path) is None:
            await anyio.to_thread.run_sync(_copy, ours, theirs, pointer.path)


def _copy(ours: Root, theirs: Root, path: str) -> None:
    folder, temporary = path.rpartition("/")[0], f"tmp_donewhen_{secrets.token_hex(6)}"
    with theirs.directory(folder, make=True) as above:
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        with ours.file(path) as content, os.fdopen(os.open(temporary, flags, 0o666, dir_fd=above), "wb") as file:
            shutil.copyfileobj(content, file, 1 << 20)
            file.flush()
            os.fchmod(file.fileno(), 0o444)
            os.fsync(file.fileno())
        _rename_into_place(theirs, temporary, path)
        os.fsync(above)
