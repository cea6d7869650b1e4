"""Putting a private view of the machine together, mount by mount, in the command's own mount namespace.

Everything of the host is read-only from the first step on; only what is mounted here can be written. Sources are opened
before the first mount, because later ones cover them. What to mount arrives as data, in the order to do it:

    {"kind": "tmpfs",   "at": …, "mode": …, "size": bytes}        a file system of its own; the first one is the shelf
    {"kind": "empty",   "at": …, "mode": …}                       an empty directory; all of them share the shelf's size
    {"kind": "still",   "at": …, "sockets": […]}                  a directory of the host as a picture of itself
    {"kind": "blank",   "at": …}                                  a file or socket with nothing in it or behind it
    {"kind": "devices", "at": …, "shm": bytes}                    a /dev of its own
    {"kind": "bind",    "at": …, "source": …, "writable": bool}   a path of the host
    {"kind": "file",    "at": …, "content": text}                 a file of ours over a file of the host

The layers of the tree come last. They are

    {"kind": "bind",    …}                                        as above
    {"kind": "overlay", "at": …, "beside": …, "lower": […], "upper": …, "work": …, "borrowed": [directory, path]}

where `within` names the tree that a layer appears in,

and are looked up where nothing is covered: an emptied home hides the layers of the tree that is about to appear in it.
They may even come long after the rest: bubblewrap may stand on the stage by then, and what is hung up there appears
inside as well.

A read-only mount still lets sockets be connected, pipes be written and locks be taken. A still does not: it is a layer
of its own, whose files are other inodes than the host's. For root it is also read with the eyes of nobody, so that
nothing can be read through it that not everybody may read.
"""

from __future__ import annotations

import os
import stat

from donewhen.workspace.beneath import Root
from donewhen.workspace.launcher import devices, kernel

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    Step = dict[str, Any]

OWN_MOUNTS = "/proc/self/ns/mnt"

BYTES_PER_FILE = 4096
"""A tmpfs of limited size holds one file for so many bytes: each costs memory that the size does not count."""
NOBODY = 1
"""What the host's nobody is called in a user namespace that root made (see `child`); for others there is no such id."""


def put_together(steps: list[Step], shelf: str, layers: list[Step]) -> None:
    """Do every mount. `shelf` is where directories and files of ours lie: the tmpfs of the first step, if any."""
    kernel.mount(b"none", b"/", b"none", kernel.MS_REC | kernel.MS_PRIVATE)
    copied = [_layer(layer) for layer in layers]
    _thin_out(steps, shelf)
    _attach(layers, copied)


class Stage:
    """The view without its tree; the process that makes one stands on it."""

    def __init__(self, steps: list[Step], shelf: str) -> None:
        kernel.mount(b"none", b"/", b"none", kernel.MS_REC | kernel.MS_PRIVATE)
        self._behind = os.open(OWN_MOUNTS, os.O_RDONLY | os.O_CLOEXEC)
        kernel.unshare(kernel.CLONE_NEWNS)
        _thin_out(steps, shelf)
        kernel.mount(b"none", b"/", b"none", kernel.MS_REC | kernel.MS_SHARED)  # with namespaces made on top of this
        self._here = os.open(OWN_MOUNTS, os.O_RDONLY | os.O_CLOEXEC)

    def hang(self, layers: list[Step]) -> None:
        """Make the tree appear, here and in every namespace that was made from this one."""
        kernel.enter_mounts(self._behind)
        copied = [_layer(layer) for layer in layers]
        kernel.enter_mounts(self._here)
        _attach(layers, copied)


def _layer(step: Step) -> int:
    """A layer as mounts that are nowhere yet. An overlay is mounted over its own upper directory for that."""
    if step["kind"] == "bind":
        copied = kernel.copy_mounts(_bytes(step["source"]))
        kernel.make_read_only(copied)
        if step["writable"]:
            kernel.make_writable(copied)
        return copied
    # Paths in the options are relative to the layers' own directory, so that none of them needs escaping.
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


def _mount_point_within(tree: str, path: str, directory: bool) -> int:
    """A descriptor of a place in the tree, made if need be. A link of the tree must not move it elsewhere."""
    with Root(tree).above(_bytes(path)[len(_bytes(tree)) :].strip(b"/"), make=True) as (above, name):
        try:
            os.stat(name, dir_fd=above, follow_symlinks=False)
        except FileNotFoundError:
            if directory:
                os.mkdir(name, 0o755, dir_fd=above)
            else:
                os.close(os.open(name, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o600, dir_fd=above))
        return os.open(name, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=above)


def _thin_out(steps: list[Step], shelf: str) -> None:
    """All of the view but the tree."""
    sources = [_open(step) if step["kind"] in ("bind", "still") else -1 for step in steps]
    nodes = devices.open_all("/dev")
    kernel.make_read_only(b"/")
    kernel.make_writable(b"/proc")  # where bubblewrap writes the map of its own user namespace
    actions: dict[str, Callable[[Step, int], None]] = {
        "tmpfs": lambda step, _: _tmpfs(step),
        "empty": lambda step, _: _empty(step, shelf),
        "still": lambda step, source: _still(step, source, shelf),
        "blank": lambda step, _: _blank(step),
        "file": lambda step, _: _file(step, shelf),
        "devices": lambda step, _: devices.make(step["at"], nodes, step["shm"]),
        "bind": _bind,
    }
    for step, source in zip(steps, sources, strict=True):
        actions[step["kind"]](step, source)


def _open(step: Step) -> int:
    """A descriptor of what will be shown."""
    return os.open(_bytes(source(step)), os.O_PATH | os.O_CLOEXEC)


def source(step: Step) -> str:
    """Where on the host that is which a step shows; empty when it shows nothing of the host."""
    found: str = {"bind": step.get("source"), "still": step["at"]}.get(step["kind"]) or ""
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


def _empty(step: Step, shelf: str) -> None:
    ours = os.path.join(shelf, f"{len(os.listdir(shelf))}")
    try:
        os.makedirs(step["at"], exist_ok=True)
    except PermissionError:
        return  # behind a directory that is closed inside as well: there is nothing to hide
    os.mkdir(ours)
    os.chmod(ours, int(step["mode"], 8))
    kernel.mount(_bytes(ours), _bytes(step["at"]), b"none", kernel.MS_BIND)


def _still(step: Step, source: int, shelf: str) -> None:
    nothing = os.path.join(shelf, "nothing")
    os.makedirs(nothing, exist_ok=True)
    options = f"userxattr,lowerdir=.:{nothing}"
    flags = kernel.MS_RDONLY | kernel.MS_NOSUID | kernel.MS_NODEV
    try:
        os.fchdir(source)
        kernel.look_as(NOBODY)
        kernel.mount(b"overlay", _bytes(step["at"]), b"overlay", flags, _bytes(options))
        return
    except OSError:
        pass  # not every file system can be a layer, and not every directory be entered
    finally:
        kernel.look_as(0)
        os.chdir("/")
    for path in step["sockets"]:
        _blank({"at": path})


def _blank(step: Step) -> None:
    try:
        kernel.mount(b"/dev/null", _bytes(step["at"]), b"none", kernel.MS_BIND)
    except FileNotFoundError:
        return  # gone in the meantime


def _bind(step: Step, fd: int) -> None:
    at = _bytes(step["at"])
    _make_mount_point(step["at"], stat.S_ISDIR(os.fstat(fd).st_mode))
    kernel.mount(b"/proc/self/fd/%d" % fd, at, b"none", kernel.MS_BIND | kernel.MS_REC)
    if step["writable"]:
        kernel.make_writable(at)


def _file(step: Step, shelf: str) -> None:
    if not os.path.isfile(step["at"]):
        return
    ours = os.path.join(shelf, os.path.basename(step["at"]))
    with open(ours, "w", encoding="utf-8", errors="surrogateescape") as file:
        file.write(step["content"])
    kernel.mount(_bytes(ours), _bytes(step["at"]), b"none", kernel.MS_BIND)


def _make_mount_point(path: str, directory: bool) -> None:
    if os.path.lexists(path):
        return
    os.makedirs(path if directory else os.path.dirname(path), exist_ok=True)
    if not directory:
        os.close(os.open(path, os.O_CREAT | os.O_WRONLY | os.O_CLOEXEC, 0o600))
