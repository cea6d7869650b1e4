"""Putting a private view of the machine together, mount by mount, in the command's own mount namespace.

Everything of the host is read-only from the first step on; only what is mounted here can be written. Sources are
before the first mount, because later ones cover them: an emptied home hides the layers of the tree that is about to
appear in it. What to mount arrives as data, in the order to do it:

    {"kind": "tmpfs",   "at": …, "mode": …, "size": bytes}        an empty directory
    {"kind": "blank",   "at": …}                                  a file or socket that cannot be opened
    {"kind": "bind",    "at": …, "source": …, "writable": bool}   a path of the host
    {"kind": "file",    "at": …, "content": text}                 a file of ours over a file of the host
    {"kind": "overlay", "at": …, "beside": …, "lower": […], "upper": …, "work": …,
     "writable": bool}
"""

from __future__ import annotations

import os
import stat

from donewhen.workspace.launcher import kernel

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    Step = dict[str, Any]


def put_together(steps: list[Step], shelf: str) -> None:
    """Do every mount. `shelf` is an emptied directory where files of ours may lie; it is one of the tmpfs steps."""
    kernel.mount(b"none", b"/", b"none", kernel.MS_REC | kernel.MS_PRIVATE)
    sources = {step["at"]: _open(step) for step in steps if step["kind"] in ("bind", "overlay")}
    os.chdir("/")
    kernel.make_read_only(b"/")
    kernel.make_writable(b"/proc")  # where bubblewrap writes the map of its own user namespace
    actions: dict[str, Callable[[Step], None]] = {
        "tmpfs": _tmpfs,
        "blank": _blank,
        "file": lambda step: _file(step, shelf),
        "bind": lambda step: _bind(step, sources),
        "overlay": lambda step: _bind(step, sources),
    }
    for step in steps:
        actions[step["kind"]](step)


def _open(step: Step) -> int:
    """A descriptor of what will be bound. An overlay is mounted first, over its own upper directory."""
    if step["kind"] == "bind":
        return os.open(_bytes(step["source"]), os.O_PATH | os.O_CLOEXEC)
    # Paths in the options are relative to the layers' own directory, so that none of them needs escaping.
    os.chdir(_bytes(step["beside"]))
    upper = _bytes(step["upper"])
    options = f"userxattr,lowerdir={':'.join(step['lower'])},upperdir={step['upper']},workdir={step['work']}"
    kernel.mount(b"overlay", upper, b"overlay", kernel.MS_NOSUID | kernel.MS_NODEV, _bytes(options))
    return os.open(upper, os.O_PATH | os.O_CLOEXEC)


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def _tmpfs(step: Step) -> None:
    os.makedirs(step["at"], exist_ok=True)
    options = f"mode={step['mode']}" + (f",size={step['size']}" if step["size"] else "")
    flags = kernel.MS_NOSUID | kernel.MS_NODEV
    kernel.mount(b"tmpfs", _bytes(step["at"]), b"tmpfs", flags, options.encode())


def _blank(step: Step) -> None:
    if os.path.lexists(step["at"]):
        kernel.mount(b"/dev/null", _bytes(step["at"]), b"none", kernel.MS_BIND)


def _bind(step: Step, sources: dict[str, int]) -> None:
    fd, at = sources[step["at"]], _bytes(step["at"])
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
