"""Whether an upper directory is still as it was at its last capture, told without reading a file or asking git.

What runs in a tree cannot set change times. But they are only as fine as the kernel's clock, so what changed a moment
before it was looked at is not vouched for; and not every file system moves them when a file is written through a
mapping, so only those are trusted that are known to. This is for points to come back to. What is judged is always
captured in full.
"""

import os
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from donewhen.records import frozen
from donewhen.workspace.beneath import Root
from donewhen.workspace.capture.walk import TICK_NS, Layer, Look, look_of

TRUSTED = frozenset({"ext2", "ext3", "ext4", "xfs", "btrfs"})
"""The change time moves with the first write through a mapping. Anywhere else, every capture is a full one."""


@frozen
class Sighting:
    """How everything looked that a candidate was made of. Directories that do not count were not entered."""

    root: Root
    seen: Mapping[bytes, Mapping[bytes, Look]]

    def still_holds(self) -> bool:
        try:
            return all(_looks(self.root, directory) == looks for directory, looks in self.seen.items())
        except OSError:
            return False


def sighting_of(layer: Layer, at_ns: int) -> Sighting | None:
    """What was seen of a layer from that time on; None where nothing can be concluded from it later."""
    moment_ago = at_ns - TICK_NS
    recent = any(look.changed_ns >= moment_ago for looks in layer.seen.values() for look in looks.values())
    root = layer.root.status()
    if recent or not layer.overlay or root is None or _file_system(root.st_dev) not in TRUSTED:
        return None
    return Sighting(layer.root, layer.seen)


def _looks(root: Root, directory: bytes) -> dict[bytes, Look]:
    with root.directory(directory) as fd, os.scandir(fd) as entries:
        return {
            os.fsencode(entry.name): look_of(entry.stat(follow_symlinks=False))
            for entry in entries
            if directory or entry.name != ".git"
        }


@cache
def _file_system(device: int) -> str:
    """The type of the file system on a device; empty when the kernel lists none."""
    number = f"{os.major(device)}:{os.minor(device)}"
    for line in Path("/proc/self/mountinfo").read_text(errors="replace").splitlines():
        before, _, after = line.partition(" - ")
        if before.split()[2] == number:
            return after.split()[0]
    return ""
