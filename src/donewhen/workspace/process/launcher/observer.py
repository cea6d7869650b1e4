"""Observer: records which programs a command starts, which files they open and which paths they look for.

A filter on the command hands these system calls over before the kernel makes them. The observer reads the path from the
memory of the caller, looks at the path itself, lets the call continue and records what it saw. It changes no call and
refuses none. The record says what was asked and what was there at that moment, not what the call returned.

One observer process serves one command, because a slow or broken observer must not stop a supervisor. If it dies, every
call that it observes fails: the run is then worthless, and the harness says so. `OBSERVED` lists the calls; the filter
is made by `workspace.sandbox.seccomp`.

The record is bounded. Beyond the bound every call continues and the record is marked as incomplete.
"""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import json
import os
import select
import socket
import stat
import struct

from donewhen.workspace.process.launcher.home_files import HomeFiles
from donewhen.workspace.process.launcher.messages import FOUND, LISTED, MISSED, READ, WRITTEN

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

NOTIFICATION = struct.Struct("=QIIiIQ6Q")
ANSWER = struct.Struct("=QqiI")
RECEIVE, SEND, SET_FLAGS = 0xC0502100, 0xC0182101, 0x40082104
CONTINUE, SYNC_WAKE_UP = 1, 1
SYS_OPENAT2, RESOLVE_IN_ROOT = 437, 0x10
AT_FDCWD, AT_EMPTY_PATH = -100, 0x1000
PATH_BYTES, PAGE = 4096, 4096
FIRST_BYTES = 256
"""Most paths are shorter, so that one read is enough."""
MOST_PATHS = 200_000
"""Paths in one record, over all programs."""
MOST_WORDS, WORD_BYTES = 64, 1024
"""How much of a program's arguments is kept."""
MOST_RUNS = 20_000
NOT_RECORDED = (b"/proc/", b"/dev/", b"/sys/")

WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC

EXECUTE, EXIT, CHANGE_DIRECTORY, OPEN, OPEN_HOW, CREATE, LOOK = range(7)
"""Kinds of calls. OPEN_HOW has its flags in a structure; CREATE always writes."""
OPENS = (OPEN, OPEN_HOW)
NONE = -1
OBSERVED = {
    "x86_64": {
        "execve": (59, EXECUTE, NONE, 0), "execveat": (322, EXECUTE, 0, 1), "exit_group": (231, EXIT, NONE, NONE),
        "chdir": (80, CHANGE_DIRECTORY, NONE, NONE), "fchdir": (81, CHANGE_DIRECTORY, NONE, NONE),
        "open": (2, OPEN, NONE, 0), "openat": (257, OPEN, 0, 1), "openat2": (437, OPEN_HOW, 0, 1),
        "creat": (85, CREATE, NONE, 0), "stat": (4, LOOK, NONE, 0), "lstat": (6, LOOK, NONE, 0),
        "access": (21, LOOK, NONE, 0), "newfstatat": (262, LOOK, 0, 1), "faccessat": (269, LOOK, 0, 1),
        "faccessat2": (439, LOOK, 0, 1), "statx": (332, LOOK, 0, 1),
    },
    "aarch64": {
        "execve": (221, EXECUTE, NONE, 0), "execveat": (281, EXECUTE, 0, 1), "exit_group": (94, EXIT, NONE, NONE),
        "chdir": (49, CHANGE_DIRECTORY, NONE, NONE), "fchdir": (50, CHANGE_DIRECTORY, NONE, NONE),
        "openat": (56, OPEN, 0, 1), "openat2": (437, OPEN_HOW, 0, 1), "newfstatat": (79, LOOK, 0, 1),
        "faccessat": (48, LOOK, 0, 1), "faccessat2": (439, LOOK, 0, 1), "statx": (291, LOOK, 0, 1),
    },
}  # fmt: skip
"""Name → number, kind, the argument with the directory (none: the working directory), the argument with the path."""


Seen = tuple[int, bytes, int]
"""The number of a program's run, a path, and what was done with it."""


class _Memory:
    """Reads the memory of other processes."""

    def __init__(self) -> None:
        self._read = ctypes.CDLL(None, use_errno=True).process_vm_readv
        self._buffer = ctypes.create_string_buffer(PATH_BYTES)
        self._local = (ctypes.c_size_t * 2)(ctypes.addressof(self._buffer), PATH_BYTES)
        self._remote = (ctypes.c_size_t * 2)()
        self._zero, self._one = ctypes.c_ulong(0), ctypes.c_ulong(1)

    def _fill(self, pid: int, address: int, size: int) -> int:
        """Read into the buffer; return the number of bytes, not positive if nothing can be read."""
        self._remote[0] = address
        self._remote[1] = size
        return self._read(pid, self._local, self._one, self._remote, self._one, self._zero)

    def read(self, pid: int, address: int, size: int) -> bytes:
        """Return at most `size` bytes; fewer if the memory ends, none if it cannot be read."""
        count = self._fill(pid, address, size)
        return ctypes.string_at(self._buffer, count) if count > 0 else b""

    def path(self, pid: int, address: int) -> bytes | None:
        """Return a path; None if it cannot be read. Most are short and within one page: that is tried first."""
        if address:
            count = self._fill(pid, address, min(FIRST_BYTES, PAGE - address % PAGE))
            text = self._buffer.value  # ends at the first NUL, which may be behind what was read
            if len(text) < count:
                return text
        return self.text(pid, address)

    def text(self, pid: int, address: int, most: int = PATH_BYTES) -> bytes | None:
        """Return the text that ends with a NUL; None if there is none in `most` bytes."""
        text, size = b"", FIRST_BYTES
        while address and len(text) < most:
            chunk = self.read(pid, address, min(size, PAGE - address % PAGE, most - len(text)))
            end = chunk.find(b"\0")
            if end >= 0:
                return text + chunk[:end]
            if not chunk:
                return None
            text, address, size = text + chunk, address + len(chunk), PAGE
        return None

    def words(self, pid: int, address: int) -> list[bytes]:
        """Return the first words of a list of arguments, each cut to WORD_BYTES."""
        words: list[bytes] = []
        while address and len(words) < MOST_WORDS:
            pointer = self.read(pid, address, 8)
            if len(pointer) < 8 or pointer == bytes(8):
                break
            at = int.from_bytes(pointer, "little")
            text = self.text(pid, at, WORD_BYTES)
            words.append(self.read(pid, at, WORD_BYTES) if text is None else text)
            address += 8
        return words


class _Root:
    """The file system as the command sees it."""

    def __init__(self, pid: int) -> None:
        self._libc = ctypes.CDLL(None, use_errno=True)
        self._descriptor = os.open(f"/proc/{pid}/root", os.O_PATH | os.O_CLOEXEC | os.O_DIRECTORY)
        self._how = struct.pack("QQQ", os.O_PATH | os.O_CLOEXEC, 0, RESOLVE_IN_ROOT)
        self._size = ctypes.c_size_t(len(self._how))
        self._known: dict[bytes, tuple[bytes, int]] = {}

    def look(self, path: bytes) -> tuple[bytes, int]:
        """Return the name without links and the mode of an absolute path; mode 0 if nothing is there.

        What was there once is not looked at again.
        """
        known = self._known.get(path)
        if known is not None:
            return known
        descriptor = self._libc.syscall(SYS_OPENAT2, self._descriptor, path, self._how, self._size)
        if descriptor < 0:
            return self._name_of_missing(path), 0
        try:
            found = os.readlink(f"/proc/self/fd/{descriptor}".encode()), os.fstat(descriptor).st_mode
        finally:
            os.close(descriptor)
        self._known[path] = found
        return found

    def _name_of_missing(self, path: bytes) -> bytes:
        """Return the name that the path would have: its nearest existing directory is resolved, the rest is not."""
        if b"/." in path or b"//" in path or path.endswith(b"/"):
            path = os.path.normpath(path)
        parent, _, last = path.rpartition(b"/")
        if not parent:
            return b"/" + last
        name, _ = self.look(parent)
        return name.rstrip(b"/") + b"/" + last

    def directory(self, path: bytes) -> int:
        """Open a directory. Raise OSError if there is none."""
        descriptor = self._libc.syscall(SYS_OPENAT2, self._descriptor, path, self._how, self._size)
        if descriptor < 0:
            raise OSError(ctypes.get_errno(), "cannot be opened", path)
        return descriptor

    def first_line(self, path: bytes) -> bytes:
        """Return the interpreter that the first line of a script names; empty if it is not a script."""
        descriptor = self._libc.syscall(SYS_OPENAT2, self._descriptor, path, self._how, self._size)
        if descriptor < 0:
            return b""
        try:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                return b""
            with open(f"/proc/self/fd/{descriptor}", "rb", buffering=0) as file:
                start = file.read(FIRST_BYTES)
        except OSError:
            return b""
        finally:
            os.close(descriptor)
        words = start[2:].partition(b"\n")[0].split(None, 1) if start.startswith(b"#!") else []
        return words[0] if words else b""


class _Run:
    """One program, from the call that starts it to its end. Processes that it forks belong to it."""

    __slots__ = ("argv", "directory", "exit_code", "interpreter", "parent", "pid", "program", "seen")

    def __init__(self, pid: int, parent: int, program: bytes, interpreter: bytes) -> None:
        self.pid = pid
        self.parent = parent
        self.program = program
        self.interpreter = interpreter
        self.argv: list[bytes] = []
        self.directory = b""
        self.exit_code: int | None = None
        self.seen: dict[bytes, int] = {}


class _Task:
    """A process or thread of the command."""

    __slots__ = ("directory", "group", "run")

    def __init__(self, group: int, run: int) -> None:
        self.group = group
        self.run = run
        self.directory: bytes | None = None
        """The working directory; None if it must be read again. Only the main thread's is used."""


class Recorder:
    """Turns the calls of one command into a record."""

    def __init__(self, skipped: int, home: bytes = b"") -> None:
        """`skipped` programs start the sandbox. `home` is the home of the command; / and nothing are not private."""
        calls = OBSERVED[os.uname().machine].values()
        self._calls = {number: (kind, at, path) for number, kind, at, path in calls}
        self._skipped = skipped
        self._memory = _Memory()
        self._root: _Root | None = None
        self._home_path = home
        self._home: HomeFiles | None = None
        self._tasks: dict[int, _Task] = {}
        self._runs: list[_Run] = []
        self._paths = 0
        self._unread = 0
        """Calls whose path could not be read."""

    def see(self, pid: int, number: int, arguments: Sequence[int]) -> Seen | None:
        """Look at one call before it continues; return what to record about a path."""
        try:
            return self._see(pid, number, arguments)
        except OSError:  # the process has ended, or its directories in /proc may not be read
            self._unread += 1
            return None

    def _see(self, pid: int, number: int, arguments: Sequence[int]) -> Seen | None:
        kind, at, path = self._calls[number]
        if kind == EXECUTE:
            return self._execute(pid, at, path, arguments)
        if self._root is None or not self._has_room():
            return None
        task = self._task(pid)
        main = self._tasks[task.group]
        if kind == EXIT:
            self._end(pid, task, arguments[0])
            return None
        if kind == CHANGE_DIRECTORY:
            main.directory = None
            return None
        wanted = self._absolute(pid, main, arguments[at] if at != NONE else AT_FDCWD, arguments[path])
        if not wanted or wanted.startswith(NOT_RECORDED) or main.run == NONE:
            return None
        name, mode = self._root.look(wanted)
        return main.run, name, self._deed(pid, kind, arguments[path + 1] if kind in OPENS else 0, mode)

    def record(self, seen: Seen) -> None:
        """Add what `see` returned. The call has continued meanwhile."""
        run, name, deed = seen
        paths = self._runs[run].seen
        before = paths.get(name, 0)
        self._paths += not before
        paths[name] = before | deed

    def result(self) -> dict[str, Any]:
        return {
            "home": self._home.left() if self._home is not None else {},
            "complete": self._root is not None and self._has_room() and not self._unread,
            "runs": [
                {
                    "parent": run.parent,
                    "program": os.fsdecode(run.program),
                    "interpreter": os.fsdecode(run.interpreter),
                    "argv": [os.fsdecode(word) for word in run.argv],
                    "directory": os.fsdecode(run.directory),
                    "exit_code": run.exit_code,
                    "seen": {os.fsdecode(name): deed for name, deed in run.seen.items()},
                }
                for run in self._runs
            ],
        }

    def _has_room(self) -> bool:
        return self._paths < MOST_PATHS and len(self._runs) < MOST_RUNS

    def _execute(self, pid: int, at: int, path: int, arguments: Sequence[int]) -> Seen | None:
        if self._skipped:
            self._skipped -= 1
            return None
        if self._root is None:
            self._root = _Root(pid)
            self._home = self._open_home(self._root)
        task = self._task(pid)
        main = self._tasks[task.group]
        main.directory = None
        wanted = self._absolute(pid, main, arguments[at] if at != NONE else AT_FDCWD, arguments[path])
        if wanted is None or not self._has_room():
            return None
        name, mode = self._root.look(wanted)
        if not mode:
            return (main.run, name, MISSED) if main.run != NONE else None
        if not stat.S_ISREG(mode) or not mode & 0o111:
            return None  # the call fails
        if main.run != NONE and self._runs[main.run].pid == task.group:
            self._runs[main.run].exit_code = 0  # it becomes another program
        run = _Run(task.group, main.run, name, self._root.first_line(wanted))
        run.argv = self._memory.words(pid, arguments[path + 1])
        run.directory = self._directory(pid, main, AT_FDCWD) or b""
        self._runs.append(run)
        main.run = len(self._runs) - 1
        return main.run, name, READ

    def _open_home(self, root: _Root) -> HomeFiles | None:
        try:
            return HomeFiles(root.directory(self._home_path)) if self._home_path.strip(b"/") else None
        except OSError:
            return None  # there is no such directory

    def _task(self, pid: int) -> _Task:
        """Return the task of a process or thread. The first call of each reads where it belongs.

        A parent that has made no observed call is looked up as well: a shell forks itself for a group of commands.
        """
        task = self._tasks.get(pid)
        if task is None:
            group, parent = _family(pid)
            if group not in self._tasks:
                above = self._task(parent) if parent else None
                self._tasks[group] = _Task(group, self._tasks[above.group].run if above else NONE)
            task = self._tasks[pid] = self._tasks[group] if group == pid else _Task(group, NONE)
        return task

    def _end(self, pid: int, task: _Task, status: int) -> None:
        run = self._tasks[task.group].run
        if run != NONE and self._runs[run].pid == task.group:
            self._runs[run].exit_code = status & 0xFF
        self._tasks.pop(pid, None)
        self._tasks.pop(task.group, None)

    def _absolute(self, pid: int, main: _Task, at: int, address: int) -> bytes | None:
        """Return the path of a call as an absolute path; None if it cannot be read."""
        path = self._memory.path(pid, address)
        if path is None:
            self._unread += 1
            return None
        if path.startswith(b"/"):
            return path
        directory = self._directory(pid, main, at)
        if directory is None:
            self._unread += 1
            return None
        return directory + b"/" + path if path else directory

    def _directory(self, pid: int, main: _Task, at: int) -> bytes | None:
        at = ctypes.c_int(at & 0xFFFFFFFF).value
        if at != AT_FDCWD:
            return _link(f"/proc/{pid}/fd/{at}")
        if main.directory is None:
            main.directory = _link(f"/proc/{pid}/cwd")
        return main.directory

    def _deed(self, pid: int, kind: int, how: int, mode: int) -> int:
        if kind == OPEN_HOW:
            how = int.from_bytes(self._memory.read(pid, how, 8), "little")
        if kind == CREATE or (kind in OPENS and how & WRITING):
            return WRITTEN if mode else WRITTEN | MISSED
        if not mode:
            return MISSED
        if kind == LOOK or how & os.O_PATH:
            return FOUND
        return LISTED if stat.S_ISDIR(mode) else READ


def _family(pid: int) -> tuple[int, int]:
    """Return the process of a thread, and the parent of that process."""
    try:
        with open(f"/proc/{pid}/status", "rb") as file:
            status = file.read()
    except OSError:
        return pid, 0
    lines = dict(line.split(b":", 1) for line in status.splitlines() if line.startswith((b"Tgid:", b"PPid:")))
    return int(lines[b"Tgid"]), int(lines[b"PPid"])


def _link(path: str) -> bytes | None:
    try:
        return os.readlink(path.encode())
    except OSError:
        return None


def serve(orders: socket.socket) -> None:
    """Main function of an observer: receive a listener, answer its calls until the harness ends it, send the record."""
    message, fds, _, _ = socket.recv_fds(orders, PATH_BYTES + 64, 1)
    if not message:
        return
    with socket.socket(fileno=fds[0]) as channel:
        _, listeners, _, _ = socket.recv_fds(channel, 1, 1)
    skipped, _, home = message.partition(b" ")
    recorder = Recorder(int(skipped), home)
    if listeners:
        _observe(listeners[0], orders, recorder)
    else:
        orders.recv(64)  # the command runs unobserved; its end is the time for the record
    _send_record(orders, recorder)


def _observe(listener: int, orders: socket.socket, recorder: Recorder) -> None:
    """Answer calls until the harness says that every process is dead, or is gone itself."""
    with contextlib.suppress(OSError):  # older than Linux 6.6: the answers take longer
        fcntl.ioctl(listener, SET_FLAGS, SYNC_WAKE_UP)
    poll = select.poll()
    poll.register(listener, select.POLLIN)
    poll.register(orders, select.POLLIN)
    ends = orders.fileno()
    while True:
        for descriptor, event in poll.poll():
            if descriptor == ends:
                continue
            if not event & select.POLLIN:
                poll.unregister(listener)  # no process is left that could make a call
                break
            _answer_one(listener, recorder)
            break
        else:
            orders.recv(64)  # a message left unread would discard the record
            return


def _answer_one(listener: int, recorder: Recorder) -> None:
    notification = bytearray(NOTIFICATION.size)
    try:
        fcntl.ioctl(listener, RECEIVE, notification)
        id, pid, _, number, _, _, *arguments = NOTIFICATION.unpack(notification)
        seen = recorder.see(pid, number, arguments)
        # This fails if the caller is no longer there. So what was read from its memory was its own.
        fcntl.ioctl(listener, SEND, ANSWER.pack(id, 0, 0, CONTINUE))
    except FileNotFoundError:
        return  # the caller was killed, so the call was never made
    if seen is not None:
        recorder.record(seen)


def _send_record(orders: socket.socket, recorder: Recorder) -> None:
    content = json.dumps(recorder.result()).encode()
    descriptor = os.memfd_create("donewhen", os.MFD_CLOEXEC)
    with open(descriptor, "wb") as file:
        file.write(content)
        file.flush()
        try:
            socket.send_fds(orders, [b"record"], [descriptor])
        except OSError:
            return  # the harness is gone
