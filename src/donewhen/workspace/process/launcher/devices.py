"""A private /dev: the harmless devices, plus pseudo-terminals and shared memory of the command's own; nothing else.

Built here instead of by bubblewrap, because bubblewrap reads the whole mount table once per device.
"""

from __future__ import annotations

import os

from donewhen.workspace.process.launcher import kernel

DEVICES = ("null", "zero", "full", "random", "urandom", "tty")
LINKS = {
    "fd": "/proc/self/fd",
    "stdin": "/proc/self/fd/0",
    "stdout": "/proc/self/fd/1",
    "stderr": "/proc/self/fd/2",
    "core": "/proc/kcore",
    "ptmx": "pts/ptmx",
}
BYTES = 1 << 16
"""Size of /dev itself: enough for its names. It is read-only afterwards, so no more are added."""


def open_all(directory: str) -> dict[str, int]:
    """Open the host's devices. Call this before anything covers them."""
    names = [name for name in DEVICES if os.path.exists(f"{directory}/{name}")]
    return {name: os.open(f"{directory}/{name}", os.O_PATH | os.O_CLOEXEC) for name in names}


def make(directory: str, devices: dict[str, int], shared_memory: int) -> None:
    """Cover `directory` with a /dev of these devices; `shared_memory` limits its /dev/shm, 0 sets no limit."""
    place = os.fsencode(directory)
    plain = kernel.MS_NOSUID | kernel.MS_NODEV
    kernel.mount(b"tmpfs", place, b"tmpfs", plain | kernel.MS_NOEXEC, b"mode=755,size=%d" % BYTES)
    for name in devices:
        os.close(os.open(f"{directory}/{name}", os.O_CREAT | os.O_WRONLY | os.O_CLOEXEC, 0o666))
    for name, target in LINKS.items():
        os.symlink(target, f"{directory}/{name}")
    for name in ("pts", "shm"):
        os.mkdir(f"{directory}/{name}")
    kernel.make_read_only(place)
    for name, fd in devices.items():
        at = os.fsencode(f"{directory}/{name}")
        kernel.mount(b"/proc/self/fd/%d" % fd, at, b"none", kernel.MS_BIND)
        kernel.make_device(at)
    terminals = b"newinstance,ptmxmode=0666,mode=620"
    kernel.mount(b"devpts", place + b"/pts", b"devpts", kernel.MS_NOSUID | kernel.MS_NOEXEC, terminals)
    size = b",size=%d" % shared_memory if shared_memory else b""
    kernel.mount(b"tmpfs", place + b"/shm", b"tmpfs", plain, b"mode=1777" + size)
