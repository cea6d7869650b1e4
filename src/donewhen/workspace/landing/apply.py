"""The files and the index of a clean checkout, brought from one tree to another one. HEAD is not touched.

Each file appears in one step, the index last, and what is under way is written down before the first of them: a
landing that was killed in between is finished by doing it again. Git writes the files into a directory of ours, with
the user's line ends and without filters; the links and directories of the checkout are never followed.
"""

import contextlib
import errno
import hashlib
import json
import os
import re
import shutil
from collections.abc import Generator, Mapping
from pathlib import Path

from donewhen.records import frozen
from donewhen.workspace.files import beneath, remove_tree, write_atomically
from donewhen.workspace.index import Held, written
from donewhen.workspace.landing import lockfile
from donewhen.workspace.landing.cleanness import Ground, copy_index, harmless, refuse_unclean
from donewhen.workspace.landing.refusals import NotClean, NotLanded, telling
from donewhen.workspace.objects import FILE, PROGRAM, Entry, raw, shown, text
from donewhen.workspace.repo import Repo
from donewhen.workspace.store import Store, lfs
from donewhen.workspace.store.checkout import with_filter

FILTER = re.compile(rb"(?<=[ \t])filter=(\S+)")
STAGE = "donewhen-landing"
"""Where new files wait for their places; only the holder of the index's lock touches it."""


async def apply_to_checkout(store: Store, repo: Repo, from_tree: str, to_tree: str) -> None:
    """Make files and index those of `to_tree`; they must be those of `from_tree`, or already what they shall be."""
    with telling("the checkout cannot be brought up to date"), lockfile.held(repo.git_dir / "index.lock"):
        journal = _Journal.of(store, repo, from_tree, to_tree)
        if not journal.is_open and await _is_there(store, repo, to_tree):
            return
        ground = await _ground(store, repo, from_tree, to_tree, journal.is_open)
        await refuse_unclean(ground)
        with _stage(repo) as stage:
            await _write_files(store, ground, stage)
            journal.open()
            _remove_files(ground)
            for path in sorted(ground.new()):
                _put_file(repo.root, stage, path)
            await _write_index(ground)
        journal.close()


async def refuse_to_apply(store: Store, repo: Repo, from_tree: str, to_tree: str) -> None:
    """Raise what would stand against it now; nothing is changed."""
    with telling("the checkout cannot be looked at"):
        journal = _Journal.of(store, repo, from_tree, to_tree)
        if journal.is_open or not await _is_there(store, repo, to_tree):
            await refuse_unclean(await _ground(store, repo, from_tree, to_tree, journal.is_open))


async def _is_there(store: Store, repo: Repo, tree: str) -> bool:
    try:
        await refuse_unclean(await _ground(store, repo, tree, tree, half_way=False))
    except NotLanded:
        return False
    return True


async def _ground(store: Store, repo: Repo, from_tree: str, to_tree: str, half_way: bool) -> Ground:
    changes = await store.diff(from_tree, to_tree)
    return Ground(store.bare, repo, from_tree, {raw(change.path): change for change in changes}, half_way)


@frozen
class _Journal:
    """What is under way in one checkout, in our own directory."""

    path: Path
    words: str

    @classmethod
    def of(cls, store: Store, repo: Repo, from_tree: str, to_tree: str) -> "_Journal":
        key = hashlib.sha256(os.fsencode(repo.git_dir)).hexdigest()[:16]
        words = json.dumps({"git_dir": os.fsencode(repo.git_dir).hex(), "from": from_tree, "to": to_tree})
        return cls(store.bare.directory / "applying" / key, words)

    @property
    def is_open(self) -> bool:
        return self.path.is_file() and self.path.read_text() == self.words

    def open(self) -> None:
        self.path.parent.mkdir(exist_ok=True)
        write_atomically(self.path, self.words)
        lockfile.sync_directory(self.path.parent)

    def close(self) -> None:
        self.path.unlink(missing_ok=True)


@contextlib.contextmanager
def _stage(repo: Repo) -> Generator[Path]:
    """A directory from which files can be moved into the checkout."""
    stage = repo.git_dir / STAGE
    remove_tree(stage)
    stage.mkdir(mode=0o700)
    try:
        yield stage
    finally:
        remove_tree(stage)


async def _write_files(store: Store, ground: Ground, stage: Path) -> None:
    """The new state of every path, as a checkout by the user would have it, but for filters."""
    base = await store.skeletons.of(ground.from_tree)
    rules = base.attributes_after(ground.changes.values())
    news = ground.new()
    held = {item.path: item for item in (*rules, *(Held(path, entry) for path, entry in news.items()))}
    bare = ground.bare
    if not news:
        return
    with bare.scratch() as place:
        place.index.write_bytes(written(held.values(), bare.object_format))
        files = [path for path, entry in news.items() if entry.mode in (FILE, PROGRAM)]
        filtered = await with_filter(bare, place, files) if files else {}
        _refuse_filters(ground.repo, filtered)
        options = ("-f", "-q", "-z", "--stdin", f"--prefix={stage}/")
        names = b"".join(path + b"\0" for path in news)
        await bare.run("checkout-index", *options, at=place, stdin=names, settings=harmless(ground.repo))
    lfs.fill([os.path.join(bytes(stage), path) for path in filtered.get("lfs", [])], store.lfs_places)
    for path in news:
        _sync(os.path.join(bytes(stage), path))


def _refuse_filters(repo: Repo, filtered: Mapping[str, list[bytes]]) -> None:
    for name, paths in filtered.items():
        if _would_run(repo, name):
            raise NotClean(f"these need the filter {shown(name)}, which is never run here", paths)
    for file in (repo.common_dir / "info" / "attributes", _attributes_file(repo)):
        for name in FILTER.findall(file.read_bytes()) if file.is_file() else ():
            if _would_run(repo, text(name)):
                raise NotLanded(f"{shown(str(file))} asks for the filter {shown(name)}, which is never run here")


def _attributes_file(repo: Repo) -> Path:
    """The user's own attributes for all repositories."""
    directory = Path(os.environ.get("XDG_CONFIG_HOME") or os.path.expanduser("~/.config"), "git")
    named = repo.setting("core.attributesfile")
    return Path(os.path.expanduser(named)) if named else directory / "attributes"


def _would_run(repo: Repo, name: str) -> bool:
    return name != "lfs" and bool({f"filter.{name}.smudge", f"filter.{name}.process"} & repo.settings.keys())


def _sync(path: bytes) -> None:
    with contextlib.suppress(OSError):  # a link has no content of its own
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


# -- the checkout --


def _remove_files(ground: Ground) -> None:
    """What goes, and the directories that hold nothing any more."""
    news = ground.new()
    for path in sorted(ground.old().keys() - news.keys(), reverse=True):
        _remove(ground.repo.root, path)
    for path in news:
        full = os.path.join(bytes(ground.repo.root), path)
        if os.path.isdir(full) and not os.path.islink(full):
            for directory, _, _ in os.walk(full, topdown=False):
                os.rmdir(directory)


def _remove(root: Path, path: bytes) -> None:
    directory, _, name = path.rpartition(b"/")
    try:
        with beneath(root, directory) as above:
            os.unlink(name, dir_fd=above)
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
        return  # gone already, in a landing that did not end
    while directory:
        directory, _, name = directory.rpartition(b"/")
        try:
            with beneath(root, directory) as above:
                os.rmdir(name, dir_fd=above)
        except OSError:
            return


def _put_file(root: Path, stage: Path, path: bytes) -> None:
    directory, _, name = path.rpartition(b"/")
    staged = os.path.join(bytes(stage), path)
    with beneath(root, directory, make=True) as above:
        try:
            os.replace(staged, name, dst_dir_fd=above)
        except OSError as error:
            if error.errno != errno.EXDEV:
                raise
            _put_copy(staged, name, above)


def _put_copy(staged: bytes, name: bytes, above: int) -> None:
    """For a checkout on another file system than its git dir."""
    beside = b".donewhen-" + hashlib.sha256(name).hexdigest()[:16].encode()
    target = os.path.join(f"/proc/self/fd/{above}".encode(), beside)
    with contextlib.suppress(FileNotFoundError):
        os.unlink(beside, dir_fd=above)
    shutil.copy2(staged, target, follow_symlinks=False)
    _sync(target)
    os.replace(beside, name, src_dir_fd=above, dst_dir_fd=above)


async def _write_index(ground: Ground) -> None:
    """The user's index with the changed paths in it, and what their files look like on disk."""
    repo, bare = ground.repo, ground.bare
    gone = Entry(0, "0" * len(ground.from_tree))
    entries = {path: change.new or gone for path, change in ground.changes.items()}
    records = b"".join(
        b"%o %s\t%s\0" % (entry.mode, entry.id.encode(), path)
        for path, entry in sorted(entries.items(), key=lambda item: item[1].mode != 0)
    )
    with bare.scratch(repo.root) as place:
        copy_index(repo, place.git_dir)
        await bare.run("update-index", "-z", "--index-info", at=place, stdin=records)
        await bare.run("update-index", "-q", "--refresh", at=place, settings=harmless(repo))
        target = Path(os.path.realpath(repo.git_dir / "index"))
        beside = target.with_name("index.donewhen")
        shutil.copyfile(place.index, beside)
        # Git compares this time with those of the files: a younger one would hide an edit made just now.
        shutil.copystat(place.index, beside)
        beside.chmod(target.stat().st_mode & 0o777 if target.exists() else 0o644)
        _sync(bytes(beside))
        os.rename(beside, target)
        lockfile.sync_directory(target.parent)
