"""Updates the files and the index of a clean checkout from one tree to another. It does not change HEAD.

Each file is replaced in one step, and the index last. A journal is written before the first of them, so a landing that
was killed is finished by running it again. Git writes the files into a directory of ours, with the user's line ends and
without filters. Links in the checkout are never followed.
"""

import contextlib
import errno
import hashlib
import json
import os
import re
import shutil
import stat
from collections.abc import Generator, Mapping
from pathlib import Path

from donewhen.records import frozen
from donewhen.workspace.beneath import LeavesRoot, Root
from donewhen.workspace.files import remove_tree, write_atomically
from donewhen.workspace.git.index import IndexEntry, index_content
from donewhen.workspace.git.landing import lockfile
from donewhen.workspace.git.landing.cleanness import CheckoutState, content_settings, refuse_unclean
from donewhen.workspace.git.landing.refusals import NotClean, NotLanded, explain_errors
from donewhen.workspace.git.objects import FILE, PROGRAM, TreeEntry, raw, shown, text
from donewhen.workspace.git.repo import Repo
from donewhen.workspace.git.store import Store, lfs
from donewhen.workspace.git.store.checkout import with_filter
from donewhen.workspace.git.store.dirty import copy_checked_index

FILTER = re.compile(rb"(?<=[ \t])filter=(\S+)")
LARGEST_RULES = 4 << 20
NEW_INDEX = "index.donewhen"
STAGE = "donewhen-landing"
"""Directory for new files before they are moved into the checkout. Only the holder of the index lock uses it."""


async def apply_to_checkout(store: Store, repo: Repo, from_tree: str, to_tree: str) -> None:
    """Bring files and index to `to_tree`. They must be those of `from_tree`, or already those of `to_tree`."""
    with explain_errors("the checkout cannot be updated"), lockfile.hold_lock(repo.git, "index.lock"):
        journal = _Journal.of(store, repo, from_tree, to_tree)
        if not journal.is_open and await _is_applied(store, repo, to_tree):
            return
        state = await _checkout_state(store, repo, from_tree, to_tree, journal.is_open)
        await refuse_unclean(state)
        with _stage(repo) as stage:
            await _write_files(store, state, stage)
            journal.open()
            _remove_files(state)
            for path in sorted(state.new()):
                _put_file(repo.files, stage, path)
            await _write_index(state)
        journal.close()


async def refuse_to_apply(store: Store, repo: Repo, from_tree: str, to_tree: str) -> None:
    """Raise if `apply_to_checkout` would be refused now. Nothing is changed."""
    with explain_errors("the checkout cannot be read"):
        journal = _Journal.of(store, repo, from_tree, to_tree)
        if journal.is_open or not await _is_applied(store, repo, to_tree):
            await refuse_unclean(await _checkout_state(store, repo, from_tree, to_tree, journal.is_open))


async def _is_applied(store: Store, repo: Repo, tree: str) -> bool:
    try:
        await refuse_unclean(await _checkout_state(store, repo, tree, tree, half_way=False))
    except NotLanded:
        return False
    return True


async def _checkout_state(store: Store, repo: Repo, from_tree: str, to_tree: str, half_way: bool) -> CheckoutState:
    changes = await store.diff(from_tree, to_tree)
    return CheckoutState(store.bare, repo, from_tree, {raw(change.path): change for change in changes}, half_way)


@frozen
class _Journal:
    """Record in our own directory of a landing that has begun in one checkout."""

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
    """Yield a directory from which files can be moved into the checkout.

    It is used only through its descriptor. If it or the git directory is replaced, the replacement is not touched.
    """
    with repo.git.directory() as above:
        _remove_stage(above)
        os.mkdir(STAGE, 0o700, dir_fd=above)
        replaced = NotLanded(f"{shown(repo.git.full_path(STAGE))} was replaced while it was made")
        try:
            stage = os.open(STAGE, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=above)
        except (FileNotFoundError, NotADirectoryError):
            raise replaced from None
        try:
            if os.fstat(stage).st_uid != os.geteuid() or os.listdir(stage):
                raise replaced
            yield Path(f"/proc/{os.getpid()}/fd/{stage}")
        finally:
            for name in os.listdir(stage):
                remove_tree(Path(f"/proc/self/fd/{stage}", name))
            os.close(stage)
            with contextlib.suppress(OSError):  # replaced by another process
                os.rmdir(STAGE, dir_fd=above)


def _remove_stage(above: int) -> None:
    """Remove what a killed landing left."""
    try:
        mode = os.stat(STAGE, dir_fd=above, follow_symlinks=False).st_mode
    except FileNotFoundError:
        return
    if stat.S_ISDIR(mode):
        shutil.rmtree(STAGE, dir_fd=above)
    else:  # a link to a directory must not even be opened
        os.unlink(STAGE, dir_fd=above)


async def _write_files(store: Store, state: CheckoutState, stage: Path) -> None:
    """Write the new state of every path, as the user's own checkout would, except for filters."""
    base = await store.skeletons.of(state.from_tree)
    rules = base.attributes_after(state.changes.values())
    news = state.new()
    held = {item.path: item for item in (*rules, *(IndexEntry(path, entry) for path, entry in news.items()))}
    bare = state.bare
    if not news:
        return
    with bare.scratch() as location:
        location.index.write_bytes(index_content(held.values(), bare.object_format))
        files = [path for path, entry in news.items() if entry.mode in (FILE, PROGRAM)]
        filtered = await with_filter(bare, location, files) if files else {}
        _refuse_filters(state.repo, filtered)
        options = ("-f", "-q", "-z", "--stdin", f"--prefix={stage}/")
        names = b"".join(path + b"\0" for path in news)
        await bare.run("checkout-index", *options, at=location, stdin=names, settings=content_settings(state.repo))
    lfs.fill(Root(stage), filtered.get("lfs", []), store.lfs_places)
    for path in news:
        _sync(Root(stage), path)


def _refuse_filters(repo: Repo, filtered: Mapping[str, list[bytes]]) -> None:
    for name, paths in filtered.items():
        if _is_filter_used(repo, name):
            raise NotClean(f"these need the filter {shown(name)}, which is never run here", paths)
    directory = Path(os.environ.get("XDG_CONFIG_HOME") or os.path.expanduser("~/.config"), "git")
    named = repo.setting("core.attributesfile")
    users = Path(os.path.expanduser(named)) if named else directory / "attributes"
    rules = {repo.common.full_path("info/attributes"): repo.common.read("info/attributes", LARGEST_RULES) or b""}
    if users.is_file():
        with users.open("rb") as opened:
            rules[str(users)] = opened.read(LARGEST_RULES)
    for file, content in rules.items():
        for name in FILTER.findall(content):
            if _is_filter_used(repo, text(name)):
                raise NotLanded(f"{shown(file)} asks for the filter {shown(name)}, which is never run here")


def _is_filter_used(repo: Repo, name: str) -> bool:
    return name != "lfs" and bool({f"filter.{name}.smudge", f"filter.{name}.process"} & repo.settings.keys())


def _sync(root: Root, path: bytes) -> None:
    with contextlib.suppress(OSError), root.file(path) as file:  # a link has no content to sync
        os.fsync(file.fileno())


# -- the checkout --


def _remove_files(state: CheckoutState) -> None:
    """Remove the deleted files, and directories that become empty."""
    news = state.new()
    files = state.repo.files
    for path in sorted(state.old().keys() - news.keys(), reverse=True):
        _remove(files, path)
    for path in news:
        with contextlib.suppress(LeavesRoot):  # handled by `_put_file`, which makes the directories that it needs
            for directory in files.directories_below(path):
                with files.above(directory) as (above, name):
                    os.rmdir(name, dir_fd=above)


def _remove(files: Root, path: bytes) -> None:
    try:
        with files.above(path) as (above, name):
            os.unlink(name, dir_fd=above)
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError, LeavesRoot):
        return  # already removed by an earlier, unfinished landing
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
    """Copy instead of move, for a checkout on another file system than its git directory."""
    temporary = b".donewhen-" + hashlib.sha256(name).hexdigest()[:16].encode()
    with contextlib.suppress(FileNotFoundError):
        os.unlink(temporary, dir_fd=above)
    if stat.S_ISLNK((status := os.stat(name, dir_fd=staged, follow_symlinks=False)).st_mode):
        os.symlink(os.readlink(name, dir_fd=staged), temporary, dir_fd=above)
    else:
        _copy_file(staged, name, above, temporary, stat.S_IMODE(status.st_mode))
    os.replace(temporary, name, src_dir_fd=above, dst_dir_fd=above)


def _copy_file(staged: int, name: bytes, above: int, temporary: bytes, mode: int) -> None:
    source = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=staged)
    target = os.open(
        temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600, dir_fd=above
    )
    with os.fdopen(source, "rb") as reader, os.fdopen(target, "wb") as writer:
        shutil.copyfileobj(reader, writer, 1 << 20)
        os.fchmod(target, mode)
        writer.flush()
        os.fsync(target)


async def _write_index(state: CheckoutState) -> None:
    """Write the user's index with the changed paths, and refresh its stat data from the files on disk."""
    repo, bare = state.repo, state.bare
    gone = TreeEntry(0, "0" * len(state.from_tree))
    entries = {path: change.new or gone for path, change in state.changes.items()}
    records = b"".join(
        b"%o %s\t%s\0" % (entry.mode, entry.id.encode(), path)
        for path, entry in sorted(entries.items(), key=lambda item: item[1].mode != 0)
    )
    with bare.over(repo) as location:
        await copy_checked_index(bare, repo, location)
        await bare.run("update-index", "-z", "--index-info", at=location, stdin=records)
        await bare.run("update-index", "-q", "--refresh", at=location, settings=content_settings(repo))
        _put_index(repo.git, location.index)


def _put_index(git: Root, index: Path) -> None:
    before = git.status("index")
    with git.directory() as above, index.open("rb") as source:
        with contextlib.suppress(FileNotFoundError):  # remove anything there, also a pipe or a device
            os.unlink(NEW_INDEX, dir_fd=above)
        with os.fdopen(git.open(NEW_INDEX, os.O_WRONLY | os.O_CREAT | os.O_EXCL), "wb") as file:
            shutil.copyfileobj(source, file, 1 << 20)
            file.flush()
            # Git compares this time with those of the files: a later time would hide an edit made just now.
            status = os.fstat(source.fileno())
            os.utime(file.fileno(), ns=(status.st_atime_ns, status.st_mtime_ns))
            os.fchmod(file.fileno(), before.st_mode & 0o777 if before else 0o644)
            git.share(file.fileno())
            os.fsync(file.fileno())
        os.rename(NEW_INDEX, "index", src_dir_fd=above, dst_dir_fd=above)
        os.fsync(above)
