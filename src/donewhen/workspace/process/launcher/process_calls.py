"""Decides on system calls by which a command changes the limits or scheduling of a process, named by its pid.

A command without a pid namespace can name every process of its user. The system-call filter cannot know which of them
belong to the command. So it hands such a call over, and the kernel waits for the answer. A call on a process of the
command continues; any other call fails with EPERM.

The target is a number in a register, so the command cannot change it after the check. The kernel gives a pid to another
process only after the checked process has ended and all other pids were used.
"""

from __future__ import annotations

import errno
import fcntl
import os
import struct

NOTIFICATION, ANSWER = 80, "=QqiI"
RECEIVE, SEND = 0xC0502100, 0xC0182101
"""SECCOMP_IOCTL_NOTIF_RECV and _SEND. Their structures have these sizes on every architecture."""
CONTINUE = 1
FIRST_ARGUMENT = 32
TARGET_SECOND = {"x86_64": (141, 251), "aarch64": (140, 30)}
"""Call numbers of setpriority and ioprio_set: the first argument says what kind of id the second one is."""
MOST_TRIES = 10


class ProcessCalls:
    """The calls of one command that wait for an answer. This process must be an ancestor of all its processes."""

    def __init__(self, listener: int) -> None:
        self.listener = listener

    def answer_one(self) -> None:
        """Answer the next call. Do nothing if the process that made it has been killed meanwhile."""
        notification = bytearray(NOTIFICATION)
        try:
            fcntl.ioctl(self.listener, RECEIVE, notification)
            number = _failure(_target(notification))
            flags = 0 if number else CONTINUE
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
    """Return the error number for a call on `target`; 0 if the target belongs to the command."""
    for _ in range(MOST_TRIES):
        parent = _parent(target)
        if parent is None:
            return errno.ESRCH
        while parent not in (None, 0, os.getpid()):
            parent = _parent(parent)
        if parent is not None:
            return 0 if parent else errno.EPERM
        # An ancestor ended during the walk, so its children have a new parent: walk again.
    return errno.EPERM


def _parent(pid: int) -> int | None:
    """Return the parent of a process, or of the process that a thread belongs to; None if it has ended."""
    try:
        with open(f"/proc/{pid}/status", "rb") as file:
            return int(next(line for line in file if line.startswith(b"PPid:")).split()[1])
    except (OSError, StopIteration):
        return None
