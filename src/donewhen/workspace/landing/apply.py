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
from donewhen.workspace.beneath import LeavesRoot, Root
from donewhen.workspace.files import remove_tree, write_atomically
from donewhen.workspace.index import Held, written
from donewhen.workspace.landing import lockfile
from donewhen.workspace.landing.cleanness import Ground, harmless, refuse_unclean
from donewhen.workspace.landing.refusals import NotClean, NotLanded, telling
from donewhen.workspace.objects import FILE, PROGRAM, Entry, raw, shown, text
from donewhen.workspace.repo import Repo
from donewhen.workspace.store import Store, lfs
from donewhen.workspace.store.checkout import with_filter
from donewhen.workspace.store.dirty import copy_index

FILTER = re.compile(rb"(?<=[ \t])filter=(\S+)")
LARGEST_RULES = 4 << 20
NEW_INDEX = "index.donewhen"
STAGE = "donewhen-landing"
"""Where new files wait for their places; only the holder of the index's lock touches it."""


async def apply_to_checkout(store: Store, repo: Repo, from_tree: str, to_tree: str) -> None:
    """Make files and index those of `to_tree`; they must be those of `from_tree`, or already what they shall be."""
    with telling("the checkout cannot be brought up to date"), lockfile.held(repo.git, "index.lock"):
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
                _put_file(repo.files, stage, path)
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
    with repo.git.directory() as above:
        # Through the descriptor: nothing that is put in the place of the git directory meanwhile is touched.
        stage = Path(f"/proc/{os.getpid()}/fd/{above}", STAGE)
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
    lfs.fill(Root(stage), filtered.get("lfs", []), store.lfs_places)
    for path in news:
        _sync(Root(stage), path)


def _refuse_filters(repo: Repo, filtered: Mapping[str, list[bytes]]) -> None:
    for name, paths in filtered.items():
        if _would_run(repo, name):
            raise NotClean(f"these need the filter {shown(name)}, which is never run here", paths)
    users = _attributes_file(repo)
    rules = {repo.common.place("info/attributes"): repo.common.read("info/attributes", LARGEST_RULES) or b""}
    if users.is_file():
        with users.open("rb") as opened:
            rules[str(users)] = opened.read(LARGEST_RULES)
    for file, content in rules.items():
        for name in FILTER.findall(content):
            if _would_run(repo, text(name)):
                raise NotLanded(f"{shown(file)} asks for the filter {shown(name)}, which is never run here")


def _attributes_file(repo: Repo) -> Path:
    """The user's own attributes for all repositories."""
    directory = Path(os.environ.get("XDG_CONFIG_HOME") or os.path.expanduser("~/.config"), "git")
    named = repo.setting("core.attributesfile")
    return Path(os.path.expanduser(named)) if named else directory / "attributes"


def _would_run(repo: Repo, name: str) -> bool:
    return name != "lfs" and bool({f"filter.{name}.smudge", f"filter.{name}.process"} & repo.settings.keys())


def _sync(root: Root, path: bytes) -> None:
    with contextlib.suppress(OSError), root.file(path) as file:  # a link has no content of its own
        os.fsync(file.fileno())


# -- the checkout --


def _remove_files(ground: Ground) -> None:
    """What goes, and the directories that hold nothing any more."""
    news = ground.new()
    files = ground.repo.files
    for path in sorted(ground.old().keys() - news.keys(), reverse=True):
        _remove(files, path)
    for path in news:
        with contextlib.suppress(LeavesRoot):  # put aside by `_put_file`, which makes the directories that it needs
            for directory in files.directories_below(path):
                with files.above(directory) as (above, name):
                    os.rmdir(name, dir_fd=above)


def _remove(files: Root, path: bytes) -> None:
    try:
        with files.above(path) as (above, name):
            os.unlink(name, dir_fd=above)
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError, LeavesRoot):
        return  # gone already, in a landing that did not end
    while directory := path.rpartition(b"/")[0]:
        path = directory
        try:
            with files.above(directory) as (above, name):
                os.rmdir(name, dir_fd=above)
        except OSError:
            return


def _put_file(files: Root, stage: Path, path: bytes) -> None:
    with files.above(path, make=True) as (above, name), Root(stage).above(path) as (staged, _):
        try:
            os.replace(name, name, src_dir_fd=staged, dst_dir_fd=above)
        except OSError as error:
            if error.errno != errno.EXDEV:
                raise
            _put_copy(staged, name, above)


def _put_copy(staged: int, name: bytes, above: int) -> None:
    """For a checkout on another file system than its git dir."""
    beside = b".donewhen-" + hashlib.sha256(name).hexdigest()[:16].encode()
    with contextlib.suppress(FileNotFoundError):
        os.unlink(beside, dir_fd=above)
    source, target = (f"/proc/self/fd/{fd}".encode() for fd in (staged, above))
    shutil.copy2(os.path.join(source, name), os.path.join(target, beside), follow_symlinks=False)
    _sync(Root(Path(os.fsdecode(target))), beside)
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
        _put_index(repo.git, place.index)


def _put_index(git: Root, index: Path) -> None:
    before = git.status("index")
    with git.directory() as above, index.open("rb") as source:
        with contextlib.suppress(FileNotFoundError):  # whatever it is, a pipe or a device too
            os.unlink(NEW_INDEX, dir_fd=above)
        with os.fdopen(git.open(NEW_INDEX, os.O_WRONLY | os.O_CREAT | os.O_EXCL), "wb") as file:
            shutil.copyfileobj(source, file, 1 << 20)
            file.flush()
            # Git compares this time with those of the files: a younger one would hide an edit made just now.
            status = os.fstat(source.fileno())
            os.utime(file.fileno(), ns=(status.st_atime_ns, status.st_mtime_ns))
            os.fchmod(file.fileno(), before.st_mode & 0o777 if before else 0o644)
            os.fsync(file.fileno())
        os.rename(NEW_INDEX, "index", src_dir_fd=above, dst_dir_fd=above)
        os.fsync(above)
