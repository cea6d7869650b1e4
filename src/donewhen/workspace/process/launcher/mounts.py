"""Builds a private view of the machine, mount by mount, in the command's own mount namespace.

The whole host is read-only from the first step on; only what is mounted here can be writable. Sources are opened
before the first mount, because later mounts cover them. The steps arrive as data and are done in order:

    {"kind": "tmpfs",   "at": …, "mode": …, "size": bytes}        a separate tmpfs; the first one is our own directory
    {"kind": "empty",   "at": …, "mode": …}                       an empty directory; all share the size of the first
    {"kind": "snapshot", "at": …, "sockets": […]}                 a host directory as a snapshot overlay (see below)
    {"kind": "blank",   "at": …}                                  a file or socket covered by /dev/null
    {"kind": "devices", "at": …, "shm": bytes}                    a private /dev
    {"kind": "bind",    "at": …, "source": …, "writable": bool}   a path of the host
    {"kind": "file",    "at": …, "content": text}                 a file of ours over a file of the host

The layers of the tree come last:

    {"kind": "bind",    …}                                        as above
    {"kind": "overlay", "at": …, "beside": …, "lower": […], "upper": …, "work": …, "borrowed": [directory, path],
     "read_only": bool}

In a layer, `within` is the tree that the layer appears in. The sources of layers are opened in a view where nothing is
covered: an emptied home directory would hide the layers of a tree that appears in it. Layers may come long after the
other steps. Bubblewrap may be running on the view by then, and layers that are attached here appear inside it as well.

A read-only mount still allows connecting to sockets, writing to pipes and taking locks. A snapshot overlay does not: it
is a separate overlay mount whose files are different inodes from the host's. For root it is also read with the rights
of nobody, so that only files readable by every user can be read through it.
"""

from __future__ import annotations

import errno
import os
import stat

from donewhen.workspace.beneath import Root
from donewhen.workspace.process.launcher import devices, kernel

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    Step = dict[str, Any]

OWN_MOUNTS = "/proc/self/ns/mnt"

BYTES_PER_FILE = 4096
"""A tmpfs of limited size may hold one file per this many bytes: a file costs memory that the size omits."""
NOBODY = 1
"""Id of the host's nobody in a user namespace made by root (see `child`). Other users have no such id there."""


def mount_view(steps: list[Step], own_directory: str, layers: list[Step]) -> None:
    """Do every mount. `own_directory` is where our own directories and files are: the first step's tmpfs, if any."""
    kernel.mount(b"none", b"/", b"none", kernel.MS_REC | kernel.MS_PRIVATE)
    copied = [_layer(layer) for layer in layers]
    _mount_without_tree(steps, own_directory)
    _attach(layers, copied)


class MountTarget:
    """The view without its tree. The process that creates one moves into the view."""

    def __init__(self, steps: list[Step], own_directory: str) -> None:
        kernel.mount(b"none", b"/", b"none", kernel.MS_REC | kernel.MS_PRIVATE)
        self._host_mounts = os.open(OWN_MOUNTS, os.O_RDONLY | os.O_CLOEXEC)
        kernel.unshare(kernel.CLONE_NEWNS)
        _mount_without_tree(steps, own_directory)
        # Shared, so that later mounts reach the namespaces that are made from this one.
        kernel.mount(b"none", b"/", b"none", kernel.MS_REC | kernel.MS_SHARED)
        self._view_mounts = os.open(OWN_MOUNTS, os.O_RDONLY | os.O_CLOEXEC)

    def mount_tree(self, layers: list[Step]) -> None:
        """Mount the tree here and in every namespace that was made from this one."""
        kernel.enter_mounts(self._host_mounts)
        copied = [_layer(layer) for layer in layers]
        kernel.enter_mounts(self._view_mounts)
        _attach(layers, copied)


def _layer(step: Step) -> int:
    """Return a layer as detached mounts. An overlay is first mounted over its own upper directory."""
    if step["kind"] == "bind":
        copied = kernel.copy_mounts(_bytes(step["source"]))
        kernel.make_read_only(copied)
        if step["writable"]:
            kernel.make_writable(copied)
        return copied
    # Paths in the options are relative to the directory of the layers, so that none of them needs escaping.
    os.chdir(_bytes(step["beside"]))
    upper, borrowed = _bytes(step["upper"]), step["borrowed"]
    source = Root(borrowed[0]).open_directory(borrowed[1]) if borrowed else -1
    lower = f"/proc/self/fd/{source}" if borrowed else ":".join(step["lower"])
    options = f"userxattr,lowerdir={lower},upperdir={step['upper']},workdir={step['work']}"
    kernel.mount(b"overlay", upper, b"overlay", kernel.MS_NOSUID | kernel.MS_NODEV, _bytes(options))
    if borrowed:
        os.close(source)
    return kernel.copy_mounts(upper)


def _attach(layers: list[Step], copied: list[int]) -> None:
    for layer, mounts in zip(layers, copied, strict=True):
        directory = stat.S_ISDIR(os.fstat(mounts).st_mode)
        if layer["within"]:
            target = _mount_point_within(layer["within"], layer["at"], directory)
            kernel.attach_mounts(mounts, target)
            os.close(target)
        else:
            _make_mount_point(layer["at"], directory)
            kernel.attach_mounts(mounts, _bytes(layer["at"]))
    for layer in layers:  # last: the mount points of other layers are made in a tree
        if layer.get("read_only"):
            kernel.make_read_only(_bytes(layer["at"]))


def _mount_point_within(tree: str, path: str, directory: bool) -> int:
    """Open a mount point in the tree; create it if missing. A link in the tree must not redirect it."""
    with Root(tree).above(_bytes(path)[len(_bytes(tree)) :].strip(b"/"), make=True) as (above, name):
        try:
            os.stat(name, dir_fd=above, follow_symlinks=False)
        except FileNotFoundError:
            if directory:
                os.mkdir(name, 0o755, dir_fd=above)
            else:
                os.close(os.open(name, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o600, dir_fd=above))
        return os.open(name, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=above)


def _mount_without_tree(steps: list[Step], own_directory: str) -> None:
    """Mount the whole view except the tree."""
    sources = [_open(step) if step["kind"] in ("bind", "snapshot") else -1 for step in steps]
    nodes = devices.open_all("/dev")
    kernel.make_read_only(b"/")
    kernel.make_writable(b"/proc")  # bubblewrap writes the map of its own user namespace there
    actions: dict[str, Callable[[Step, int], None]] = {
        "tmpfs": lambda step, _: _tmpfs(step),
        "empty": lambda step, _: _empty(step, own_directory),
        "snapshot": lambda step, source: _snapshot_overlay(step, source, own_directory),
        "blank": lambda step, _: _blank(step),
        "file": lambda step, _: _file(step, own_directory),
        "devices": lambda step, _: devices.make(step["at"], nodes, step["shm"]),
        "bind": _bind,
    }
    for step, source in zip(steps, sources, strict=True):
        actions[step["kind"]](step, source)


def _open(step: Step) -> int:
    """Open what a step shows; return -1 for a `snapshot` directory that has disappeared."""
    try:
        return os.open(_bytes(source(step)), os.O_PATH | os.O_CLOEXEC)
    except FileNotFoundError:
        if step["kind"] == "bind":
            raise
        return -1


def source(step: Step) -> str:
    """Return the host path that a step shows; empty if it shows nothing of the host."""
    found: str = {"bind": step.get("source"), "snapshot": step["at"]}.get(step["kind"]) or ""
    return found


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def _tmpfs(step: Step) -> None:
    os.makedirs(step["at"], exist_ok=True)
    size = step["size"]
    limits = f",size={size},nr_inodes={max(size // BYTES_PER_FILE, 1)}" if size else ""
    options = f"mode={step['mode']}{limits}"
    flags = kernel.MS_NOSUID | kernel.MS_NODEV
    kernel.mount(b"tmpfs", _bytes(step["at"]), b"tmpfs", flags, options.encode())


def _empty(step: Step, own_directory: str) -> None:
    ours = os.path.join(own_directory, f"{len(os.listdir(own_directory))}")
    try:
        os.makedirs(step["at"], exist_ok=True)
    except OSError as error:
        if error.errno not in (errno.EACCES, errno.EROFS):
            raise
        return  # below a directory that is inaccessible inside too, or has disappeared: nothing to hide
    os.mkdir(ours)
    os.chmod(ours, int(step["mode"], 8))
    kernel.mount(_bytes(ours), _bytes(step["at"]), b"none", kernel.MS_BIND)


def _snapshot_overlay(step: Step, source: int, own_directory: str) -> None:
    if source < 0:
        return
    nothing = os.path.join(own_directory, "nothing")
    os.makedirs(nothing, exist_ok=True)
    # No `userxattr`: it would read attributes of host directories, and a private directory refuses that to the user
    # nobody.
    options = f"lowerdir=.:{nothing}"
    flags = kernel.MS_RDONLY | kernel.MS_NOSUID | kernel.MS_NODEV
    try:
        os.fchdir(source)
        kernel.read_as(NOBODY)
        kernel.mount(b"overlay", _bytes(step["at"]), b"overlay", flags, _bytes(options))
        return
    except OSError:
        pass  # some file systems cannot be a layer, some directories cannot be entered
    finally:
        kernel.read_as(0)
        os.chdir("/")
    for path in step["sockets"]:
        _blank({"at": path})


def _blank(step: Step) -> None:
    try:
        kernel.mount(b"/dev/null", _bytes(step["at"]), b"none", kernel.MS_BIND)
    except FileNotFoundError:
        return  # it has disappeared


def _bind(step: Step, fd: int) -> None:
    at = _bytes(step["at"])
    _make_mount_point(step["at"], stat.S_ISDIR(os.fstat(fd).st_mode))
    kernel.mount(b"/proc/self/fd/%d" % fd, at, b"none", kernel.MS_BIND | kernel.MS_REC)
    if step["writable"]:
        kernel.make_writable(at)


def _file(step: Step, own_directory: str) -> None:
    if not os.path.isfile(step["at"]):
        return
    ours = os.path.join(own_directory, os.path.basename(step["at"]))
    with open(ours, "w", encoding="utf-8", errors="surrogateescape") as file:
        file.write(step["content"])
    kernel.mount(_bytes(ours), _bytes(step["at"]), b"none", kernel.MS_BIND)


def _make_mount_point(path: str, directory: bool) -> None:
    if os.path.lexists(path):
        return
    os.makedirs(path if directory else os.path.dirname(path), exist_ok=True)
    if not directory:
        os.close(os.open(path, os.O_CREAT | os.O_WRONLY | os.O_CLOEXEC, 0o600))
