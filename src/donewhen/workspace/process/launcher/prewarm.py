"""Prewarmed sandbox: complete except for the tree and the command, which it gets later.

A supervisor that ran a sandboxed command starts another sandbox of the same kind, because the next command probably
needs one. What is not known in advance comes later: the layers of the tree, the orders of the first program, and the
input. A sandbox is used once, by one command, and only while the machine is unchanged since the sandbox was made.

Not here: how it is built (`child`, `mounts`), when, and how long it is kept (`supervisor`).
"""

from __future__ import annotations

import fcntl
import json
import os
import select
import socket
import time

from donewhen.workspace.process.launcher import child, mounts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    HostStamp = tuple[int, int, int] | None

SEALS = fcntl.F_SEAL_WRITE | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_SEAL
CHUNK_BYTES = 1 << 20


class Kind:
    """What a sandbox is made from: a specification and the memory files that come with it."""

    def __init__(self, fds: list[int]) -> None:
        self.fds = fds
        self.text = text_of(fds[0])
        spec: dict[str, Any] = json.loads(self.text)
        self.can_wait = not spec["private_net"] and not spec["observe"]
        """False if a harness must serve it from the start: listeners for relayed services, or its observed calls."""
        self._sources = [path for path in map(mounts.source, spec["mounts"]) if path]

    def host_stamps(self) -> list[HostStamp]:
        """Return device, inode and modification time of each host path that such a sandbox shows.

        The sandbox keeps using entries that its first program has looked up. The modification time of the directory
        shows that an entry was replaced since.
        """
        return [_host_stamp(path) for path in self._sources]

    def close(self) -> None:
        for fd in self.fds:
            os.close(fd)


def text_of(fd: int) -> bytes:
    return os.pread(fd, os.fstat(fd).st_size, 0)


def _host_stamp(path: str) -> HostStamp:
    try:
        status = os.stat(path.encode("utf-8", "surrogateescape"))
    except OSError:
        return None
    return status.st_dev, status.st_ino, status.st_mtime_ns


class PrewarmedSandbox:
    """The supervisor's side of one sandbox."""

    def __init__(self, child: child.PreforkedChild, kind: Kind) -> None:
        self.child = child
        self.kind = kind
        self.is_ready = False
        """True once the first program in the sandbox has started and waits."""
        self.has_tree = False
        self.started_at = 0.0
        self._has_command = False
        self._layers = -1
        self._mount_table = -1
        self._stamps: list[HostStamp] = []
        flags = os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING
        self._input, self._orders = (os.memfd_create("donewhen", flags) for _ in range(2))
        (out, self._out), (err, self._err) = os.pipe(), os.pipe()
        self.outputs = [out, err]

    def start(self, layers: int | None = None, observer: int = -1) -> None:
        """Start the sandbox, with the layers of its tree if they are known already, and the channel to its observer."""
        self.has_tree = layers is not None
        self._stamps = self.kind.host_stamps()
        self.started_at = time.monotonic()
        specification, *files = self.kind.fds
        # Reopened, because an earlier reader has moved the shared offset to the end.
        extra = [os.open(f"/proc/self/fd/{fd}", os.O_RDONLY | os.O_CLOEXEC) for fd in files]
        fds = [specification, self._input, self._out, self._err, self._orders, *extra]
        if layers is None:
            self.child.send(child.RUN_PREWARMED, fds)
        else:
            self.child.send(child.RUN, [*fds, layers, *([observer] if observer >= 0 else [])])
        for fd in (self._out, self._err, *extra):
            os.close(fd)

    def is_current(self) -> bool:
        """Return whether a sandbox made now would show the same as this one."""
        poll = select.poll()
        # When a file below one of our mounts is replaced, the kernel removes the mount and signals a mount change.
        if self._mount_table >= 0:
            poll.register(self._mount_table, select.POLLERR | select.POLLPRI)
        elif self.is_ready:
            return False
        poll.register(self.child.channel, 0)  # closed when no process is left that could mount the tree
        return not poll.poll(0) and self._stamps == self.kind.host_stamps()

    def give(self, layers: int, orders: int, stdin: int) -> None:
        """Pass the layers, the orders of the first program and the input. Let it go on as soon as it is ready."""
        self._has_command = True
        if not self.has_tree:
            self._layers = os.dup(layers)
        _fill(self._orders, orders)
        _fill(self._input, stdin)
        self._forget([*self.outputs, self._mount_table])  # the mount table would keep the tree in use after the end
        if self.is_ready:
            self._continue()

    def read_message(self) -> bool:
        """Read a message of the pre-forked child or the mount helper; return False if none of them is left."""
        try:
            message, fds, _, _ = socket.recv_fds(self.child.channel, 1, 1)
        except ConnectionError:
            return False  # it was killed before it received what was sent
        for fd in fds:
            if not self._has_command:
                self._mount_table = fd
            else:
                os.close(fd)
        if message == child.MOUNTED:
            self.has_tree = True
            self.child.allow_start()
        return bool(message)

    def read_ready(self) -> None:
        """Read from the first program in the sandbox that it is ready, or that it is gone."""
        self.is_ready = os.read(self.child.ready, 1) == child.IS_READY
        if self.is_ready and self._has_command:
            self._continue()

    def has_become_command(self) -> bool:
        """Return whether the first program became the command. Call this after the end."""
        return child.BECOMES_COMMAND in child.read_now(self.child.ready, 2)

    def _continue(self) -> None:
        """Let the first program go on; if the tree is missing, have it mounted first.

        Not earlier: by now the kernel ends everything inside with the supervisor, and only the tree is missing.
        """
        if self.has_tree:
            self.child.allow_start()
            return
        try:
            socket.send_fds(self.child.channel, [child.MOUNT], [self._layers])
        except ConnectionError:
            return  # it was killed meanwhile; its end is the next event

    def close(self) -> None:
        self._forget([self._mount_table, self._layers, self._input, self._orders, *self.outputs])

    def _forget(self, fds: list[int]) -> None:
        for fd in fds:
            if fd >= 0:
                os.close(fd)
        self._mount_table, self.outputs = -1, []


def _fill(fd: int, source: int) -> None:
    """Copy without moving the offset of the reader, then seal: no process inside can change or extend the file."""
    size, done = os.fstat(source).st_size, 0
    while done < size:
        done += os.pwrite(fd, os.pread(source, CHUNK_BYTES, done), done)
    fcntl.fcntl(fd, fcntl.F_ADD_SEALS, SEALS)
