"""Detection of changes in an upper directory since its last capture, without reading a file or calling git.

A process in a tree cannot set change times. But they are only as precise as the kernel's clock, so a file that changed
just before it was read is not trusted. Also, not every file system updates them when a file is written through a memory
mapping, so only file systems known to do so are trusted. This is used for checkpoints only. What is judged is always
captured in full.
"""

import os
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from donewhen.records import frozen
from donewhen.workspace.beneath import Root
from donewhen.workspace.trees.capture.read_layer import TICK_NS, FileStamp, LayerListing, stamp_of

TRUSTED = frozenset({"ext2", "ext3", "ext4", "xfs", "btrfs"})
"""File systems whose change time moves with the first write through a mapping. On others every capture is full."""


@frozen
class Fingerprint:
    """The file stamps of everything that a candidate was made of. Directories that do not count were not entered."""

    root: Root
    seen: Mapping[bytes, Mapping[bytes, FileStamp]]

    def is_current(self) -> bool:
        try:
            return all(_stamps(self.root, directory) == stamps for directory, stamps in self.seen.items())
        except OSError:
            return False


def fingerprint_of(layer: LayerListing, at_ns: int) -> Fingerprint | None:
    """Return the fingerprint of a layer read since `at_ns`; None if later comparisons would prove nothing."""
    moment_ago = at_ns - TICK_NS
    recent = any(stamp.changed_ns >= moment_ago for stamps in layer.seen.values() for stamp in stamps.values())
    root = layer.root.status()
    if recent or not layer.overlay or root is None or _file_system(root.st_dev) not in TRUSTED:
        return None
    return Fingerprint(layer.root, layer.seen)


def _stamps(root: Root, directory: bytes) -> dict[bytes, FileStamp]:
    with root.directory(directory) as fd, os.scandir(fd) as entries:
        return {
            os.fsencode(entry.name): stamp_of(entry.stat(follow_symlinks=False))
            for entry in entries
            if directory or entry.name != ".git"
        }


@cache
def _file_system(device: int) -> str:
    """Return the type of the file system on a device; empty if the kernel does not list it."""
    number = f"{os.major(device)}:{os.minor(device)}"
    for line in Path("/proc/self/mountinfo").read_text(errors="replace").splitlines():
        before, _, after = line.partition(" - ")
        if before.split()[2] == number:
            return after.split()[0]
    return ""
