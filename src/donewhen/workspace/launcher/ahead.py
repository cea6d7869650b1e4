"""A sandbox that is put up ahead: everything of it but the tree and the command, which are given to it later.

A warden that guarded a sandboxed command puts up another one of the same kind, for the next command is likely to want
it. What nobody may know ahead comes late: the layers of the tree, the first program's orders and the input. A sandbox
is used once, by one command, and only while the machine it shows is the one it was made from.

What is not here: how it is put up (`child`, `mounts`), when, and for how long it is kept (`warden`).
"""

from __future__ import annotations

import fcntl
import json
import os
import select
import socket
import time

from donewhen.workspace.launcher import child, mounts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Look = tuple[int, int, int] | None

SEALS = fcntl.F_SEAL_WRITE | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_SEAL
CHUNK_BYTES = 1 << 20


class Kind:
    """What sandboxes are made from: a specification, and the memory files that come with it."""

    def __init__(self, fds: list[int]) -> None:
        self.fds = fds
        self.text = text_of(fds[0])
        spec: dict[str, Any] = json.loads(self.text)
        self.can_wait = not spec["private_net"]
        """Where services are relayed, somebody must be there to accept on their behalf."""
        self._sources = [path for path in map(mounts.source, spec["mounts"]) if path]

    def looks(self) -> list[Look]:
        """How the directories of the host look that such a sandbox shows, as far as the first program looks into them.

        An entry that was looked up there stays what it was: one that was replaced since is noticed by the time of its
        directory.
        """
        return [_look(path) for path in self._sources]

    def close(self) -> None:
        for fd in self.fds:
            os.close(fd)


def text_of(fd: int) -> bytes:
    return os.pread(fd, os.fstat(fd).st_size, 0)


def _look(path: str) -> Look:
    try:
        status = os.stat(path.encode("utf-8", "surrogateescape"))
    except OSError:
        return None
    return status.st_dev, status.st_ino, status.st_mtime_ns


class Sandbox:
    """One sandbox, as its warden sees it."""

    def __init__(self, recruit: child.Recruit, kind: Kind) -> None:
        self.recruit = recruit
        self.kind = kind
        self.stands = False
        """The first program inside is up and waits."""
        self.has_tree = False
        self.put_up_at = 0.0
        self._is_given = False
        self._layers = -1
        self._mount_table = -1
        self._seen: list[Look] = []
        self._input, self._orders = (_memory_file() for _ in range(2))
        (out, self._out), (err, self._err) = os.pipe(), os.pipe()
        self.outputs = [out, err]

    def put_up(self, layers: int | None = None) -> None:
        """With the layers of its tree, where they are known already."""
        self.has_tree = layers is not None
        self._seen = self.kind.looks()
        self.put_up_at = time.monotonic()
        specification, *files = self.kind.fds
        # Opened anew: whoever read one before was at its end then.
        extra = [os.open(f"/proc/self/fd/{fd}", os.O_RDONLY | os.O_CLOEXEC) for fd in files]
        fds = [specification, self._input, self._out, self._err, self._orders, *extra]
        self.recruit.send(*(child.RUN_AHEAD, fds) if layers is None else (child.RUN, [*fds, layers]))
        for fd in (self._out, self._err, *extra):
            os.close(fd)

    def is_true(self) -> bool:
        """Whether it still shows what one that is made now would show."""
        poll = select.poll()
        # The kernel takes away a mask when the file under it is replaced, and says that mounts have changed.
        if self._mount_table >= 0:
            poll.register(self._mount_table, select.POLLERR | select.POLLPRI)
        elif self.stands:
            return False
        poll.register(self.recruit.channel, 0)  # it hangs up when nobody is left who could hang up a tree
        return not poll.poll(0) and self._seen == self.kind.looks()

    def give(self, layers: int, orders: int, given: int) -> None:
        """Its tree, what the first program shall do, and the input of that; once it stands, it may go."""
        self._is_given = True
        if not self.has_tree:
            self._layers = os.dup(layers)
        _fill(self._orders, orders)
        _fill(self._input, given)
        self._forget([*self.outputs, self._mount_table])  # which would hold on to the tree when all else is gone
        if self.stands:
            self._go_on()

    def hear(self) -> bool:
        """The recruit on its way, or the stagehand, says something; whether there is somebody left who could."""
        try:
            message, fds, _, _ = socket.recv_fds(self.recruit.channel, 1, 1)
        except ConnectionError:
            return False  # killed before it could take what was sent
        for fd in fds:
            if not self._is_given:
                self._mount_table = fd
            else:
                os.close(fd)
        if message == child.HUNG:
            self.has_tree = True
            self.recruit.let_go()
        return bool(message)

    def hear_inside(self) -> None:
        """The first program inside says that it stands, or is gone."""
        self.stands = os.read(self.recruit.ready, 1) == child.STANDS
        if self.stands and self._is_given:
            self._go_on()

    def became(self) -> bool:
        """Whether the first program has become the command; asked when all is over."""
        return child.BECOMES in child.read_now(self.recruit.ready, 2)

    def _go_on(self) -> None:
        """Only now: the kernel has tied everything inside to the warden, and the view is complete but for the tree."""
        if self.has_tree:
            self.recruit.let_go()
            return
        try:
            socket.send_fds(self.recruit.channel, [child.HANG], [self._layers])
        except ConnectionError:
            return  # it was killed in between; its end is the next thing we see

    def close(self) -> None:
        self._forget([self._mount_table, self._layers, self._input, self._orders, *self.outputs])

    def _forget(self, fds: list[int]) -> None:
        for fd in fds:
            if fd >= 0:
                os.close(fd)
        self._mount_table, self.outputs = -1, []


def _memory_file() -> int:
    return os.memfd_create("donewhen", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)


def _fill(fd: int, source: int) -> None:
    """Without moving the place where the reader will begin. Sealed then: nobody inside can change it or let it grow."""
    size, done = os.fstat(source).st_size, 0
    while done < size:
        done += os.pwrite(fd, os.pread(source, CHUNK_BYTES, done), done)
    fcntl.fcntl(fd, fcntl.F_ADD_SEALS, SEALS)
