"""What our store holds of the user's repository: hard links of its objects, its references as data, a few files.

A hard link costs nothing and outlives a `gc --prune=now` of the original; the content of an object never changes, so
sharing the file is safe as long as nobody can write to the link. That is why no sandbox ever sees the store. Where a
link cannot be made (another file system, another owner) the file is copied.

References come first and objects after them, so that everything that a reference names is there. Loose objects come
before packs: an object that moves from one to the other meanwhile is then met at least once. Nothing is ever deleted
here, and nothing of the user's is written.
"""

import contextlib
import errno
import hashlib
import json
import os
import re
import shutil
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import anyio.to_thread

from donewhen.workspace import refs
from donewhen.workspace.files import locked
from donewhen.workspace.repo import Repo
from donewhen.workspace.store.bare import Bare, replace

OURS = b"refs/donewhen/"
NOT_MIRRORED = (OURS, b"refs/replace/")
PACK_PARTS = (".pack", ".rev", ".bitmap", ".idx")
"""In the order to link them: git takes a pack for complete when it sees the `.idx`."""
MOST_ALTERNATES = 5
MOST_LOOKS = 5
FRESH_NS = 2_000_000_000
"""A directory that changed this recently may change again without its time changing, so it is looked at again."""
NO_LINK = {errno.EXDEV, errno.EPERM, errno.EACCES, errno.EMLINK, errno.ENOTSUP}

State = dict[str, Any]


async def refresh(bare: Bare, repo: Repo, everything: bool = False) -> None:
    """Bring the store up to date with the repository; a few milliseconds when nothing changed. One at a time.

    `everything` looks at each loose object again, for when some of ours may be gone.
    """
    bare.directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    async with locked(bare.directory / "lock"):
        await anyio.to_thread.run_sync(_refresh, bare, repo, everything)


def _refresh(bare: Bare, repo: Repo, everything: bool) -> None:
    bare.lay_out()
    before = _state(bare)
    state: State = {} if everything else _state(bare)
    _copy_refs(bare, repo, state)
    for directory in _object_directories(repo.common_dir / "objects"):
        _link_loose(bare, directory, state)
        _link_packs(bare, directory)
    for name in ("shallow", "info/exclude"):
        copy(repo.common_dir / name, bare.git_dir / name)
    if state != before:
        replace(bare.directory / "mirror.json", json.dumps(state).encode())


def copy_logs(bare: Bare, repo: Repo, git_dir: Path) -> None:
    """The history of references, for expressions such as `main@{yesterday}`."""
    if (repo.common_dir / "logs").is_dir():
        shutil.copytree(repo.common_dir / "logs", bare.git_dir / "logs", dirs_exist_ok=True)
    (git_dir / "logs").mkdir()
    copy(repo.git_dir / "logs" / "HEAD", git_dir / "logs" / "HEAD")


def pack_names(repo: Repo) -> set[str]:
    """The packs that the user's repository has now."""
    directories = _object_directories(repo.common_dir / "objects")
    return {name[:-5] for place in directories for name in _names(place / "pack") if name.endswith(".pack")}


def _state(bare: Bare) -> State:
    try:
        return cast(State, json.loads((bare.directory / "mirror.json").read_bytes()))
    except (FileNotFoundError, ValueError):
        return {}


def copy(source: Path, target: Path) -> None:
    """Make a file of ours what a file of the user's is, missing ones included."""
    content = source.read_bytes() if source.is_file() else None
    if content is None:
        target.unlink(missing_ok=True)
    elif not target.is_file() or target.read_bytes() != content:
        replace(target, content)


# -- references --


def _copy_refs(bare: Bare, repo: Repo, state: State) -> None:
    saying = refs.loose(repo.common_dir)
    seen = [*_signature(repo.common_dir / "packed-refs"), _digest(saying)]
    if state.get("refs") == seen:
        return
    known = refs.every(repo.common_dir, saying)
    lines = [f"{id} ".encode() + name for name, id in sorted(known.items()) if not name.startswith(NOT_MIRRORED)]
    replace(bare.git_dir / "packed-refs", b"# pack-refs with: sorted \n" + b"".join(line + b"\n" for line in lines))
    state["refs"] = seen


def _signature(path: Path) -> tuple[int, ...]:
    """Changes with the file: git replaces it as a whole."""
    try:
        status = path.stat()
    except FileNotFoundError:
        return (0, 0, 0)
    fresh = time.time_ns() - status.st_mtime_ns < FRESH_NS
    return (status.st_ino, status.st_size, time.time_ns() if fresh else status.st_mtime_ns)


def _digest(saying: dict[bytes, bytes]) -> str:
    return hashlib.sha256(b"\0".join(name + b" " + said for name, said in sorted(saying.items()))).hexdigest()


# -- objects --


def _object_directories(first: Path) -> list[Path]:
    """The repository's own object directory and those it borrows from."""
    found = [Path(os.path.realpath(first))]
    for _ in range(MOST_ALTERNATES):
        borrowed = [path for directory in found for path in _alternates(directory) if path not in found]
        found += dict.fromkeys(borrowed)
    return found


def _alternates(directory: Path) -> Iterator[Path]:
    listed = directory / "info" / "alternates"
    for line in listed.read_bytes().split(b"\n") if listed.is_file() else ():
        path = Path(os.path.realpath(os.path.join(directory, os.fsdecode(line))))
        if line and not line.startswith(b"#") and path.is_dir():
            yield path


def _link_loose(bare: Bare, source: Path, state: State) -> None:
    known: dict[str, int] = state.setdefault("loose", {}).setdefault(str(source), {})
    with os.scandir(source) as fans:
        for fan in fans:
            if not re.fullmatch(r"[0-9a-f]{2}", fan.name):
                continue
            with contextlib.suppress(FileNotFoundError):  # packed meanwhile, all of it; the pack comes after this
                changed = fan.stat().st_mtime_ns
                if known.get(fan.name) == changed:
                    continue
                fresh = time.time_ns() - changed < FRESH_NS
                _link_fan(Path(fan.path), bare.git_dir / "objects" / fan.name)
                known[fan.name] = 0 if fresh else changed


def _link_fan(source: Path, target: Path) -> None:
    target.mkdir(exist_ok=True)
    have = set(os.listdir(target))
    for name in os.listdir(source):
        if name not in have and re.fullmatch(r"[0-9a-f]{38}|[0-9a-f]{62}", name):
            with contextlib.suppress(FileNotFoundError):  # packed meanwhile; the pack comes after this
                _link(source / name, target / name)


def _link_packs(bare: Bare, source: Path) -> None:
    target = bare.git_dir / "objects" / "pack"
    for _ in range(MOST_LOOKS):
        there, have = _names(source / "pack"), _names(target)
        whole = {name[:-4] for name in there if name.endswith(".idx") and f"{name[:-4]}.pack" in there}
        try:
            for pack in whole:
                if f"{pack}.idx" not in have:
                    _link_pack(source / "pack" / pack, target)
            return
        except FileNotFoundError:
            continue  # a repack put another one in its place


def _names(directory: Path) -> set[str]:
    return set(os.listdir(directory)) if directory.is_dir() else set()


def _link_pack(pack: Path, target: Path) -> None:
    for part in PACK_PARTS:
        path = Path(f"{pack}{part}")
        if part in (".pack", ".idx") or path.exists():
            _link(path, target / path.name)


def _link(source: Path, target: Path) -> None:
    try:
        if source.is_symlink():
            raise OSError(errno.EPERM, "a link to a link is not a file")
        os.link(source, target)
    except FileExistsError:
        return
    except OSError as error:
        if error.errno not in NO_LINK:
            raise
        _copy_object(source, target)


def _copy_object(source: Path, target: Path) -> None:
    with tempfile.NamedTemporaryFile(dir=target.parent, prefix="tmp_donewhen_", delete=False) as file:
        try:
            with source.open("rb") as original:
                shutil.copyfileobj(original, file, 1 << 20)
        except OSError:
            Path(file.name).unlink()
            raise
    Path(file.name).chmod(0o444)
    Path(file.name).replace(target)
