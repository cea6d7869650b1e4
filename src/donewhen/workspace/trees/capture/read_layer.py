"""The content of a tree, read from disk as a layer over its base. No link is followed and nothing is judged.

From an overlay's upper directory only what was written is read. In a full copy everything is compared with a stamp made
when the copy was new: change time, inode and size, never the modification time, which any process may set. Both give
the same form of result. All processes that could write must be dead.

Directories that the base does not have are not entered at once: that depends on whether git ignores them.
"""

import os
import stat
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, NamedTuple

from donewhen.records import frozen
from donewhen.workspace.beneath import Root
from donewhen.workspace.git.objects import parents
from donewhen.workspace.git.store.traps import read_by_git

OPAQUE = "user.overlay.opaque"
TICK_NS = 20_000_000
"""The kernel's clock for change times is no finer than two ticks of the slowest kernels."""

Kind = Literal["file", "link", "directory", "gone", "other", "unreadable"]


@frozen
class LayerItem:
    kind: Kind
    size: int = 0
    target: bytes = b""
    program: bool = False
    """True if a file is executable."""


class FileStamp(NamedTuple):
    """The facts that show whether a path was changed."""

    mode: int
    inode: int
    changed_ns: int
    size: int


def stamp_of(status: os.stat_result) -> FileStamp:
    return FileStamp(status.st_mode, status.st_ino, status.st_ctime_ns, status.st_size)


@dataclass(slots=True)
class LayerListing:
    """Directory → name → what is there now. A path that is not listed is as in the base."""

    root: Root
    overlay: bool
    """True if a device with number 0 marks a deletion (whiteout); in a copy it is a real device."""
    listing: dict[bytes, dict[bytes, LayerItem]] = field(default_factory=dict[bytes, dict[bytes, LayerItem]])
    opaque: set[bytes] = field(default_factory=set[bytes])
    """Directories that hide everything of the base."""
    unseen: list[bytes] = field(default_factory=list[bytes])
    """New directories, which the base does not have; see `enter`."""
    seen: dict[bytes, dict[bytes, FileStamp]] = field(default_factory=dict[bytes, dict[bytes, FileStamp]])
    """For an overlay: the stamps of everything that is listed."""
    unchanged: Callable[[bytes, os.stat_result], bool] = field(default=lambda _path, _status: False)

    def items(self) -> Iterator[tuple[bytes, LayerItem]]:
        for directory, names in self.listing.items():
            yield from ((join(directory, name), item) for name, item in names.items())

    def is_empty(self) -> bool:
        """Return True if there are only directories of the base, none of them hiding anything."""
        only_directories = all(item.kind == "directory" for _, item in self.items())
        return only_directories and not self.unseen and not self.opaque

    def at(self, path: bytes) -> LayerItem | None:
        directory, _, name = path.rpartition(b"/")
        return self.listing.get(directory, {}).get(name)

    def is_unchanged(self, path: bytes) -> bool:
        """Return True if a path of the base is unchanged."""
        above = [directory for directory in parents(path) if directory]
        replaced = any((item := self.at(directory)) and item.kind != "directory" for directory in above)
        return self.at(path) is None and not replaced and not self.opaque.intersection(above)

    def is_hiding(self, directory: bytes) -> bool:
        """Return True if a directory hides everything of the base."""
        return directory in self.opaque or not self.opaque.isdisjoint(parents(directory))


def join(directory: bytes, name: bytes) -> bytes:
    return directory + b"/" + name if directory else name


def read_upper(upper: Path, base_directories: Collection[bytes]) -> LayerListing:
    """Read the upper directory of an overlay whose base has these directories."""
    layer = LayerListing(Root(upper), overlay=True)
    waiting = [b""]
    while waiting:
        waiting += _read(layer, waiting.pop(), base_directories)
    return layer


def enter(layer: LayerListing, may_enter: Callable[[bytes], bool]) -> None:
    """Read the new directories, as far as `may_enter` allows."""
    waiting = [directory for directory in layer.unseen if may_enter(directory)]
    while waiting:
        layer.unseen = []
        _read(layer, waiting.pop(), ())
        waiting += [directory for directory in layer.unseen if may_enter(directory)]


def _read(layer: LayerListing, directory: bytes, base_directories: Collection[bytes]) -> list[bytes]:
    """Read one directory. Return the directories in it that the base has too."""
    names = layer.listing.setdefault(directory, {})
    stamps = layer.seen.setdefault(directory, {}) if layer.overlay else {}
    found: list[bytes] = []
    try:
        with layer.root.directory(directory) as fd, os.scandir(fd) as entries:
            for entry in entries:
                name = os.fsencode(entry.name)
                path = join(directory, name)
                status = entry.stat(follow_symlinks=False)
                if path == b".git" or layer.unchanged(path, status):
                    continue
                stamps[name] = stamp_of(status)
                names[name] = item = _item(fd, name, status, layer.overlay)
                if item.kind == "directory":
                    (found if path in base_directories else layer.unseen).append(path)
                    if path in base_directories and is_opaque(layer.root, path):
                        layer.opaque.add(path)
    except OSError:
        above, _, name = directory.rpartition(b"/")
        layer.listing.setdefault(above, {})[name] = LayerItem("unreadable")
    return found


def _item(above: int, name: bytes, status: os.stat_result, overlay: bool) -> LayerItem:
    mode = status.st_mode
    if stat.S_ISREG(mode):
        readable = os.access(name, os.R_OK, dir_fd=above, effective_ids=True, follow_symlinks=False)
        kind: Kind = "file" if readable else "unreadable"
        return LayerItem(kind, status.st_size, program=bool(mode & stat.S_IXUSR))
    if stat.S_ISDIR(mode):
        return LayerItem("directory")
    if stat.S_ISLNK(mode):
        return LayerItem("link", status.st_size, os.readlink(name, dir_fd=above))
    return LayerItem("gone" if overlay and stat.S_ISCHR(mode) and status.st_rdev == 0 else "other")


def find_traps(layer: LayerListing) -> Iterator[tuple[bytes, LayerItem]]:
    """Yield rule files, and special files in git directories, in the directories that are not entered yet."""
    for directory in layer.unseen:
        for path, status in read_by_git(layer.root, directory):
            with layer.root.above(path) as (above, name):
                item = _item(above, name, status, layer.overlay)
            if item.kind == "other" or b".git" not in path.split(b"/")[:-1]:
                yield path, item


def is_opaque(root: Root, path: bytes) -> bool:
    with suppress(OSError), root.directory(path) as fd:
        return os.getxattr(fd, OPAQUE) == b"y"
    return False


# -- full copies --


@frozen
class Stamp:
    """The state of every file of a new copy. A file that changed in the clock's last tick is not trusted."""

    files: dict[bytes, tuple[int, int, int]]

    def is_unchanged(self, path: bytes, status: os.stat_result) -> bool:
        return self.files.get(path) == (status.st_ino, status.st_ctime_ns, status.st_size)

    def content(self) -> bytes:
        return b"\0".join(b"%d %d %d\0%s" % (*seen, path) for path, seen in self.files.items())

    @classmethod
    def of(cls, content: bytes) -> "Stamp":
        fields = content.split(b"\0") if content else []
        files = zip(fields[1::2], fields[::2], strict=True)
        return cls({path: _numbers(seen) for path, seen in files})


def _numbers(seen: bytes) -> tuple[int, int, int]:
    inode, changed, size = map(int, seen.split(b" "))
    return inode, changed, size


def take_stamp(directory: Path) -> Stamp:
    limit = time.time_ns() - TICK_NS
    files: dict[bytes, tuple[int, int, int]] = {}
    waiting = [b""]
    root = Root(directory)
    while waiting:
        above = waiting.pop()
        with root.directory(above) as fd, os.scandir(fd) as entries:
            for entry in entries:
                path = join(above, os.fsencode(entry.name))
                status = entry.stat(follow_symlinks=False)
                if path == b".git":
                    continue
                if stat.S_ISDIR(status.st_mode):
                    waiting.append(path)
                else:
                    trusted_ns = status.st_ctime_ns if status.st_ctime_ns < limit else 0
                    files[path] = (status.st_ino, trusted_ns, status.st_size)
    return Stamp(files)


def read_copy(directory: Path, stamp: Stamp, base_directories: Collection[bytes]) -> LayerListing:
    """Read a full copy of a base that has these directories, as the layer that its changes would have made."""
    seen: set[bytes] = set()

    def unchanged(path: bytes, status: os.stat_result) -> bool:
        seen.add(path)
        return stamp.is_unchanged(path, status)

    layer = LayerListing(Root(directory), overlay=False, unchanged=unchanged)
    waiting = [b""]
    while waiting:
        waiting += _read(layer, waiting.pop(), base_directories)
    for path in (path for path in stamp.files if path not in seen):
        _add_deleted(layer, path, seen, base_directories)
    _leave_out_untouched(layer, base_directories)
    return layer


def _add_deleted(layer: LayerListing, path: bytes, seen: set[bytes], base_directories: Collection[bytes]) -> None:
    """Record that a path is deleted, by the topmost directory that was deleted with it."""
    for above in parents(path):
        if above in layer.listing and (not above or above in base_directories):
            if path not in seen:
                layer.listing[above][path.rpartition(b"/")[2]] = LayerItem("gone")
            return
        path = above


def _leave_out_untouched(layer: LayerListing, base_directories: Collection[bytes]) -> None:
    """Remove the directories of the base in which nothing changed."""
    for directory in sorted(layer.listing, key=len, reverse=True):
        if directory and directory in base_directories and not layer.listing[directory]:
            del layer.listing[directory]
            above, _, name = directory.rpartition(b"/")
            del layer.listing[above][name]
