"""Mirror of the user's repository in our store: hard links to its objects, its references as data, a few files.

A hard link costs nothing and survives `gc --prune=now` in the original. The content of an object never changes, so
sharing the file is safe as long as no untrusted process can write to the link. Therefore no sandbox sees the store. If
a link is not possible (another file system, another owner), the file is copied.

References are copied before objects, so that every object that a reference names is present. Loose objects are linked
before packs: an object that moves from one to the other meanwhile is then found at least once. No object is deleted
here, and nothing is written to the user's repository.
"""

import contextlib
import errno
import hashlib
import json
import os
import re
import shutil
import stat
import tempfile
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, cast

import anyio.to_thread

from donewhen.errors import BadInput
from donewhen.workspace.beneath import LINK, AnyPath, LeavesRoot, Root
from donewhen.workspace.files import NO_HARD_LINKS, locked, remove_tree
from donewhen.workspace.git import refs
from donewhen.workspace.git.objects import shown
from donewhen.workspace.git.repo import Repo
from donewhen.workspace.git.store import alternates
from donewhen.workspace.git.store.bare import Bare, replace

OURS = b"refs/donewhen/"
NOT_MIRRORED = (OURS, b"refs/replace/")
PACK_PARTS = (".pack", ".rev", ".bitmap", ".idx")
"""In the order of linking: git considers a pack complete when it sees the `.idx`."""
DEEPEST_ALTERNATES = 6
"""Same as git: a repository's own list, and the lists of five directories in a row."""
MOST_LOOKS = 5
FRESH_NS = 2_000_000_000
"""A directory that changed this recently may change again without a new time, so it is read again."""
MOST_COPIED = 64 << 20
"""Size limit of a copied file, such as a reflog. Git does not keep a larger one for long."""
FAN = re.compile(r"[0-9a-f]{2}")
LOOSE = re.compile(r"[0-9a-f]{38}|[0-9a-f]{62}")

State = dict[str, Any]


async def refresh(bare: Bare, repo: Repo, everything: bool = False) -> None:
    """Bring the store up to date with the repository. Takes a few milliseconds if nothing changed. Runs under a lock.

    `everything` reads every loose object directory again, for the case that some of our objects were removed.
    """
    bare.directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    async with locked(bare.directory / "lock"):
        await anyio.to_thread.run_sync(_refresh, bare, repo, everything)


def _refresh(bare: Bare, repo: Repo, everything: bool) -> None:
    bare.create_files()
    before = _state(bare)
    state: State = {} if everything else _state(bare)
    _copy_refs(bare, repo, state)
    for directory in object_directories(repo.common):
        _link_loose(bare, directory, state)
        _link_packs(bare, directory)
    for name in ("shallow", "info/exclude"):
        copy_or_remove(repo.common, name, bare.git_dir / name)
    if state != before:
        replace(bare.directory / "mirror.json", json.dumps(state).encode())


def copy_logs(bare: Bare, repo: Repo, git_dir: Path) -> None:
    """Copy the reflogs, for expressions such as `main@{yesterday}`."""
    if refs.has_tables(repo.common):
        _write_logs(bare, repo, git_dir)
        return
    for name in repo.common.files_below("logs"):
        if refs.is_name(name.removeprefix(b"logs/")):
            target = bare.git_dir / os.fsdecode(name)
            _make_directory_for(target)
            copy_or_remove(repo.common, name, target)
    (git_dir / "logs").mkdir()
    copy_or_remove(repo.git, "logs/HEAD", git_dir / "logs" / "HEAD")


def _write_logs(bare: Bare, repo: Repo, git_dir: Path) -> None:
    """Write the reflogs that are in tables as files."""
    from donewhen.workspace.git import reftable  # few repositories need it

    logs: dict[Path, list[bytes]] = {}
    records = [(bare.git_dir, record) for record in reftable.logs_in(repo.common) if refs.is_name(record.ref)]
    records += [(git_dir, record) for record in reftable.logs_in(repo.git) if record.ref == b"HEAD"]
    for directory, record in records:
        if int(record.old + record.new, 16):  # else it only marks that a reflog exists
            logs.setdefault(directory / "logs" / os.fsdecode(record.ref), []).append(record.line())
    for path, lines in logs.items():
        _make_directory_for(path)
        replace(path, b"".join(lines))


def _make_directory_for(log: Path) -> None:
    """Make the directory of a reflog. Remove the reflog of an earlier branch that is in the way: `a` for `a/b`."""
    if log.is_dir():
        remove_tree(log)
    for above in log.parents:
        if above.is_file():
            above.unlink()
    log.parent.mkdir(parents=True, exist_ok=True)


def pack_names(repo: Repo) -> set[str]:
    """Return the names of the packs that the user's repository has now."""
    directories = object_directories(repo.common)
    return {name[:-5] for place in directories for name in place.names("pack") if name.endswith(".pack")}


def _state(bare: Bare) -> State:
    try:
        return cast(State, json.loads((bare.directory / "mirror.json").read_bytes()))
    except (FileNotFoundError, ValueError):
        return {}


def copy_or_remove(root: Root, name: AnyPath, target: Path) -> None:
    """Copy a file of the user to a file of ours; remove ours if the user's is missing."""
    content = root.read(name, MOST_COPIED)
    if content is None:
        target.unlink(missing_ok=True)
    elif not target.is_file() or target.read_bytes() != content:
        replace(target, content)


# -- references --


def _copy_refs(bare: Bare, repo: Repo, state: State) -> None:
    contents = refs.loose_refs(repo.common)
    loose = b"\0".join(name + b" " + content for name, content in sorted(contents.items()))
    seen = [*_signature(repo.common.status("packed-refs")), hashlib.sha256(loose).hexdigest()]
    if state.get("refs") == seen:
        return
    known = refs.all_refs(repo.common, contents)
    lines = [f"{id} ".encode() + name for name, id in sorted(known.items()) if not name.startswith(NOT_MIRRORED)]
    replace(bare.git_dir / "packed-refs", b"# pack-refs with: sorted \n" + b"".join(line + b"\n" for line in lines))
    state["refs"] = seen


def _signature(status: os.stat_result | None) -> tuple[int, ...]:
    """Return a value that changes with the file: git always replaces the whole file."""
    if status is None:
        return (0, 0, 0)
    fresh = time.time_ns() - status.st_mtime_ns < FRESH_NS
    return (status.st_ino, status.st_size, time.time_ns() if fresh else status.st_mtime_ns)


# -- objects --


def object_directories(common: Root) -> list[Root]:
    """Return the repository's object directory and those that it borrows from, each as a separate root.

    It covers every list that git reads. A link in place of a list is refused, so git follows none.
    """
    found = {common.full_path("objects"): common.below("objects")}
    last = dict(found)
    for _ in range(DEEPEST_ALTERNATES):
        borrowed = {str(path): Root(path) for directory in last.values() for path in _alternates(directory)}
        last = {place: root for place, root in borrowed.items() if place not in found}
        found |= last
    return list(found.values())


def _alternates(directory: Root) -> Iterator[Path]:
    """Yield the listed directories. Git versions differ in whether links are resolved before `..`; both count."""
    listed = directory.read("info/alternates", alternates.LONGEST + 1) or b""
    if len(listed) > alternates.LONGEST:
        where = shown(directory.full_path("info/alternates"))
        raise BadInput(f"{where} is larger than {alternates.LONGEST >> 20} MiB")
    for named in alternates.listed_paths(listed):
        path = os.path.join(directory.location, os.fsdecode(named))
        for place in {os.path.realpath(path), os.path.realpath(os.path.normpath(path))}:
            if os.path.isdir(place):
                yield Path(place)


def _link_loose(bare: Bare, source: Root, state: State) -> None:
    known: dict[str, int] = state.setdefault("loose", {}).setdefault(str(source.location), {})
    for fan in source.names():
        status = source.status(fan) if FAN.fullmatch(fan) else None
        if status is None:  # another name, or all its objects were packed meanwhile; packs are linked next
            continue
        changed = status.st_mtime_ns
        if known.get(fan) != changed:
            fresh = time.time_ns() - changed < FRESH_NS
            _link_fan(source.below(fan), bare.git_dir / "objects" / fan)
            known[fan] = 0 if fresh else changed


def _link_fan(source: Root, target: Path) -> None:
    target.mkdir(exist_ok=True)
    have = set(os.listdir(target))
    wanted = [name for name in source.names() if name not in have and LOOSE.fullmatch(name)]
    if wanted:
        with contextlib.suppress(FileNotFoundError), source.directory() as above:
            for name in wanted:
                with contextlib.suppress(FileNotFoundError):  # packed meanwhile; packs are linked next
                    _link(above, name, target, source.full_path(name))


def _link_packs(bare: Bare, source: Root) -> None:
    target = bare.git_dir / "objects" / "pack"
    for _ in range(MOST_LOOKS):
        there, have = set(source.names("pack")), set(os.listdir(target))
        _refuse_links(source, there)
        whole = {name[:-4] for name in there if name.endswith(".idx") and f"{name[:-4]}.pack" in there}
        try:
            for pack in whole:
                if f"{pack}.idx" not in have:
                    with source.directory("pack") as above:
                        for name in [f"{pack}{part}" for part in PACK_PARTS if f"{pack}{part}" in there]:
                            _link(above, name, target, source.full_path(f"pack/{name}"))
            return
        except FileNotFoundError:
            continue  # a repack replaced it


def _refuse_links(source: Root, names: Iterable[str]) -> None:
    """Refuse links, also of files that are not mirrored: git reads them when it borrows the directory."""
    for name in names:
        if source.target(f"pack/{name}") is not None:
            raise LeavesRoot(errno.ELOOP, LINK, source.full_path(f"pack/{name}"))


def _link(above: int, name: str, into: Path, shown: str) -> None:
    """Link or copy one file: exactly the opened one, even if its name is reused a moment later."""
    opened = os.open(name, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=above)
    try:
        if not stat.S_ISREG(os.fstat(opened).st_mode):
            raise LeavesRoot(errno.ELOOP, "is not a regular file", shown)
        # Python follows the /proc link only if src_dir_fd is given. The absolute path ignores it.
        os.link(f"/proc/self/fd/{opened}", into / name, src_dir_fd=opened, follow_symlinks=True)
    except FileExistsError:
        return
    except OSError as error:
        if error.errno not in NO_HARD_LINKS:
            raise
        _copy_object(opened, into / name)
    finally:
        os.close(opened)


def _copy_object(opened: int, target: Path) -> None:
    with tempfile.NamedTemporaryFile(dir=target.parent, prefix="tmp_donewhen_", delete=False) as file:
        try:
            with open(f"/proc/self/fd/{opened}", "rb") as original:
                shutil.copyfileobj(original, file, 1 << 20)
        except OSError:
            Path(file.name).unlink()
            raise
    Path(file.name).chmod(0o444)
    Path(file.name).replace(target)
