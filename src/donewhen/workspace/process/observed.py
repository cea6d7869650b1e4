"""What an observer saw while a command ran: its programs, and the paths that each of them opened or looked for.

Plain data. `launcher.observer` makes the record; `Observer` is the handle of one such process.
"""

import contextlib
import json
import os
import socket
from collections.abc import Mapping
from dataclasses import field
from typing import Any

import anyio

from donewhen.errors import MachineryBroke
from donewhen.records import frozen
from donewhen.workspace.process.launcher import messages

ANSWER_SECS = 10.0
"""An observer that has not sent its record this long after the end of the command is considered broken."""
NO_PARENT = -1


@frozen(kw_only=True)
class ProgramRun:
    """One program, from the call that starts it to its end, with the processes that it forks."""

    parent: int
    """The number of the run that started it; NO_PARENT for the command itself, and if the starter is not known."""
    program: str
    """The path of the program without links, as the command sees it. Of a script, the path of the script."""
    interpreter: str
    """The interpreter that the first line of a script names; empty for other programs."""
    argv: tuple[str, ...]
    directory: str
    """The working directory in which it was started."""
    exit_code: int | None
    """None if it did not end by itself; 0 also if it became another program."""
    seen: Mapping[str, int]
    """Path without links → what was done with it, as the flags of `launcher.messages`."""


@frozen
class Observed:
    is_complete: bool
    """False if a call could not be read, or if there were too many."""
    runs: tuple[ProgramRun, ...]
    home: Mapping[str, int] = field(default_factory=dict[str, int])
    """Path below the private home → mode of every file that the command left there, as `launcher.home_files` says."""


class Observer:
    """Our end of the sockets of an observer."""

    def __init__(self, orders: socket.socket, channel: socket.socket) -> None:
        self._orders = orders
        self.channel = channel
        """Through this the command's process sends the listener of its filter."""

    def fileno(self) -> int:
        """Return a descriptor that is readable before the end of the command only if the observer has died."""
        return self._orders.fileno()

    def died(self) -> MachineryBroke:
        return MachineryBroke("the observer of a command died; the result of the command is unknown")

    def close(self) -> None:
        self._orders.close()
        self.channel.close()

    async def record(self) -> Observed:
        """Return the record. Call this after every process of the command is dead."""
        self.channel.close()
        try:
            self._orders.send(messages.END)
            with anyio.fail_after(ANSWER_SECS):
                await anyio.wait_readable(self._orders)
                _, fds, _, _ = socket.recv_fds(self._orders, 64, 1)
        except (OSError, TimeoutError) as error:
            raise self.died() from error
        if not fds:
            raise self.died()
        with contextlib.closing(open(fds[0], "rb")) as file:
            os.lseek(fds[0], 0, os.SEEK_SET)
            return read_record(json.loads(file.read()))


def read_record(record: Mapping[str, Any]) -> Observed:
    runs: list[dict[str, Any]] = record["runs"]
    for run in runs:
        run["argv"] = tuple(run["argv"])
    return Observed(record["complete"], tuple(ProgramRun(**run) for run in runs), record["home"])
