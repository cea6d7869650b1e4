"""Decides the system calls by which a command changes the limits or the scheduling of a process, named by its number.

A command without a pid namespace can name every process of its user. The system-call filter cannot know which of them
belong to the command, so it hands such a call over, and the kernel waits for the answer. A call on the command's own
processes goes on; any other fails with EPERM.

The target is a plain number in a register, so the command cannot exchange it after it was checked. A number can be
given to another process only after the checked one has ended and all other numbers were used.
"""

from __future__ import annotations

import errno
import fcntl
import os
import struct

NOTIFICATION, ANSWER = 80, "=QqiI"
RECEIVE, SEND = 0xC0502100, 0xC0182101
"""SECCOMP_IOCTL_NOTIF_RECV and _SEND, whose structures have these sizes on every architecture."""
GO_ON = 1
FIRST_ARGUMENT = 32
TARGET_SECOND = {"x86_64": (141, 251), "aarch64": (140, 30)}
"""setpriority and ioprio_set: their first argument says what kind of number the second is."""
MOST_WALKS = 10


class ProcessCalls:
    """The calls of one command that wait for an answer; the caller is the ancestor of everything it started."""

    def __init__(self, listener: int) -> None:
        self.listener = listener

    def answer_one(self) -> None:
        """Answer the next call. The caller may have been killed meanwhile; then nobody waits for the answer."""
        notification = bytearray(NOTIFICATION)
        try:
            fcntl.ioctl(self.listener, RECEIVE, notification)
            number = _failure(_target(notification))
            flags = 0 if number else GO_ON
            fcntl.ioctl(
                self.listener, SEND, struct.pack(ANSWER, *struct.unpack_from("=Q", notification), 0, -number, flags)
            )
        except FileNotFoundError:
            return

    def close(self) -> None:
        os.close(self.listener)


def _target(notification: bytearray) -> int:
    (call,) = struct.unpack_from("=i", notification, 16)
    position = 1 if call in TARGET_SECOND[os.uname().machine] else 0
    return struct.unpack_from("=i", notification, FIRST_ARGUMENT + 8 * position)[0]


def _failure(target: int) -> int:
    """Why the call fails; 0 when the target belongs to the command."""
    for _ in range(MOST_WALKS):
        parent = _parent(target)
        if parent is None:
            return errno.ESRCH
        while parent not in (None, 0, os.getpid()):
            parent = _parent(parent)
        if parent is not None:
            return 0 if parent else errno.EPERM
        # An ancestor ended during the walk, and its children have got another parent.
    return errno.EPERM


def _parent(pid: int) -> int | None:
    """The parent of a process, or of the process of a thread; None when it has ended."""
    try:
        with open(f"/proc/{pid}/status", "rb") as file:
            return int(next(line for line in file if line.startswith(b"PPid:")).split()[1])
    except (OSError, StopIteration):
        return None
