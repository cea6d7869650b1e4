"""The single place that starts anything. A command runs to its end, or all of it is killed; nothing survives it.

`Launcher` is the handle on the launcher program (see the package `launcher`); open one per program and hand it down.
`run` gives back how the command ended: judged by its exit status, never by the end of its output. Cancelling the
surrounding anyio scope kills everything the command started before `run` returns.

What is not here: what a sandbox looks like. `Confinement` is plain data that `workspace.sandbox` fills in.
"""

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import Any

import anyio

from donewhen.errors import MachineryBroke
from donewhen.workspace.output import KEEP_BYTES, SPOOL_BYTES, Output, Recorder

READ_BYTES = 1 << 20
F_SETPIPE_SZ = 1031
BOOT = "import sys; sys.path.insert(0, sys.argv[1]); from donewhen.workspace.launcher.server import serve; serve({fd})"
IDLE_WARDENS = 4
KILL_SECS = 10.0
"""A warden that has not told the end this long after it was asked to kill is itself broken."""


class End(Enum):
    EXITED = "exited"
    SIGNALLED = "signalled"
    TIMED_OUT = "timed_out"
    COULD_NOT_START = "could_not_start"
    LIMIT = "limit"


@dataclass(frozen=True, slots=True, kw_only=True)
class Confinement:
    """How a command's process is held, as data for the launcher. The defaults hold nothing."""

    handshake: bool = False
    """The first program inside reports ready on descriptor 4 and waits for a line on 5 (design: the go byte)."""
    mounts: tuple[Mapping[str, Any], ...] = ()
    """Steps of `launcher.mounts`, in order; any at all mean a private user and mount namespace."""
    shelf: str = "/run"
    private_net: bool = False
    addresses: tuple[str, ...] = ()
    listen: tuple[tuple[str, int], ...] = ()
    landlock: Mapping[str, Any] | None = None
    seccomp: bytes = b""
    """A BPF program the launcher itself loads."""
    memory_files: tuple[bytes, ...] = ()
    """Contents that the command finds on descriptors 6, 7, …; only with `handshake`."""
    rlimits: Mapping[str, int] = field(default_factory=dict[str, int])
    oom_score_adj: int = 0
    watch: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """What the warden's watcher may see at most (`sandbox.limits`)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    argv: Sequence[str]
    """The program by absolute path, and its arguments. Bytes that are no UTF-8 come as surrogate escapes."""
    cwd: str | Path
    env: Mapping[str, str]
    stdin: bytes = b""
    timeout_secs: float | None = None
    merge_stderr: bool = False
    keep_bytes: int = KEEP_BYTES
    spool: Path | None = None
    spool_bytes: int = SPOOL_BYTES
    confinement: Confinement = Confinement()


@dataclass(frozen=True, slots=True, kw_only=True)
class Finished:
    end: End
    exit_code: int | None
    """The exit status as a shell would give it: 128 + N for a signal; None when nothing ran or it was killed by us."""
    signal: int | None
    reason: str
    """Why it could not start, or which limit it broke."""
    stdout: Output
    stderr: Output
    duration_secs: float
    swept: int
    """How many processes were still there when the command itself had ended."""

    @property
    def ok(self) -> bool:
        return self.end is End.EXITED and self.exit_code == 0


Listeners = Callable[[list[socket.socket]], None]
Watch = Callable[[bytes], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Ears:
    """Who is told while a command runs."""

    stdout: Watch | None = None
    stderr: Watch | None = None
    listeners: Listeners | None = None
    started: Callable[[int], None] | None = None


NOBODY = Ears()


class Launcher:
    """One launcher program. Use `Launcher.open()`: the program starts at once, beside whatever the caller does next."""

    def __init__(self) -> None:
        self._idle: list[socket.socket] = []
        self._requests: socket.socket | None = None
        self._program: subprocess.Popen[bytes] | None = None

    @classmethod
    @contextlib.asynccontextmanager
    async def open(cls) -> AsyncGenerator["Launcher"]:
        launcher = cls()
        launcher._idle.append(launcher._new_warden())
        try:
            yield launcher
        finally:
            launcher.close()

    def close(self) -> None:
        for warden in self._idle:
            warden.close()
        self._idle.clear()
        if self._requests is not None and self._program is not None:
            self._requests.close()
            self._program.wait()
        self._requests = self._program = None

    async def run(self, command: Command, ears: Ears = NOBODY) -> Finished:
        """Run a command to its end. See the module for what cancelling does."""
        began = time.monotonic()
        streams = [_Stream(command, ears.stdout, "out")]
        if not command.merge_stderr:
            streams.append(_Stream(command, ears.stderr, "err"))
        warden = self._idle.pop() if self._idle else self._new_warden()
        last: dict[str, Any] = {}
        try:
            _order(warden, command, streams)
            async with anyio.create_task_group() as tasks:
                for stream in streams:
                    tasks.start_soon(stream.read)
                last = await _listen_to(warden, ears)
                # Everything that could write is dead; what is in the pipes is all there will be.
                for stream in streams:
                    stream.drain()
                tasks.cancel_scope.cancel()
        finally:
            if last and last["why"] != "died" and len(self._idle) < IDLE_WARDENS:
                self._idle.append(warden)
            else:
                if not last:
                    with anyio.CancelScope(shield=True):
                        last = await _kill(warden)
                warden.close()
            for stream in streams:
                stream.close()
        return _finished(last, command.confinement.handshake, streams, time.monotonic() - began)

    def _new_warden(self) -> socket.socket:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        ours.setblocking(False)
        try:
            socket.send_fds(self._connected(), [b"w"], [theirs.fileno()])
        except OSError as error:
            ours.close()
            raise MachineryBroke(f"the launcher is gone: {error.strerror}") from error
        finally:
            theirs.close()
        return ours

    def _connected(self) -> socket.socket:
        if self._requests is None:
            ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            source = str(Path(__file__).parents[2])
            argv = [sys.executable, "-I", "-S", "-B", "-c", BOOT.format(fd=theirs.fileno()), source]
            try:
                self._program = subprocess.Popen(
                    argv,
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                    pass_fds=[theirs.fileno()],
                    start_new_session=True,
                    env={"PATH": os.defpath, "LC_ALL": "C.UTF-8"},
                    cwd="/",
                )
            except OSError as error:
                ours.close()
                raise MachineryBroke(f"cannot start the launcher: {error.strerror}") from error
            finally:
                theirs.close()
            self._requests = ours
        return self._requests


class _Stream:
    """One of a command's output pipes, read without blocking into a recorder."""

    def __init__(self, command: Command, ear: Watch | None, name: str) -> None:
        self._reader, self.writer = os.pipe()
        os.set_blocking(self._reader, False)
        with contextlib.suppress(OSError):  # an ordinary user may be over the quota for big pipes
            import fcntl

            fcntl.fcntl(self._reader, F_SETPIPE_SZ, READ_BYTES)
        self._ear = ear
        spool = command.spool
        if spool is not None and not command.merge_stderr:
            spool = spool.with_name(f"{spool.name}.{name}")
        self.recorder = Recorder(command.keep_bytes, spool, command.spool_bytes)

    async def read(self) -> None:
        while True:
            await anyio.wait_readable(self._reader)
            if not self._take():
                return

    def drain(self) -> None:
        with contextlib.suppress(BlockingIOError):
            while self._take():
                pass

    def _take(self) -> bool:
        chunk = os.read(self._reader, READ_BYTES)
        if chunk:
            self.recorder.add(chunk)
            if self._ear is not None:
                self._ear(chunk)
        return bool(chunk)

    def close_writer(self) -> None:
        os.close(self.writer)

    def close(self) -> None:
        os.close(self._reader)


def _order(warden: socket.socket, command: Command, streams: list[_Stream]) -> None:
    confinement = command.confinement
    files = [_memory_file(json.dumps(_specification(command)).encode()), _memory_file(command.stdin)]
    extra = [_memory_file(content) for content in confinement.memory_files]
    if confinement.seccomp:
        extra.append(_memory_file(confinement.seccomp))
    writers = [streams[0].writer, streams[-1].writer]
    try:
        socket.send_fds(warden, [b"run"], [*files, *writers, *extra])
    except OSError as error:
        raise MachineryBroke(f"the launcher is gone: {error.strerror}") from error
    finally:
        for fd in (*files, *extra):
            os.close(fd)
        for stream in streams:
            stream.close_writer()


async def _listen_to(control: socket.socket, ears: Ears) -> dict[str, Any]:
    """Until the warden says that everything is over: its last message."""
    while True:
        await anyio.wait_readable(control)
        message, fds, _, _ = socket.recv_fds(control, 1 << 16, 64)
        if not message:
            return {
                "say": "ended",
                "why": "failed",
                "detail": "the warden died",
                "status": 0,
                "swept": 0,
                "note": "",
            }
        said = json.loads(message)
        if said["say"] == "listening" and ears.listeners is not None:
            ears.listeners([socket.socket(fileno=fd) for fd in fds])
        elif said["say"] == "started" and ears.started is not None:
            ears.started(said["pid"])
        elif said["say"] == "ended":
            return said


async def _kill(control: socket.socket) -> dict[str, Any]:
    with contextlib.suppress(OSError):
        control.send(b"kill")
    with anyio.move_on_after(KILL_SECS):
        return await _listen_to(control, NOBODY)
    raise MachineryBroke("a command could not be killed: its warden does not answer")


def _memory_file(content: bytes) -> int:
    fd = os.memfd_create("donewhen", os.MFD_CLOEXEC)
    os.write(fd, content) if content else None
    os.lseek(fd, 0, os.SEEK_SET)
    return fd


def _specification(command: Command) -> dict[str, Any]:
    held = command.confinement
    return {
        "argv": list(command.argv),
        "cwd": str(command.cwd),
        # PWD is what some programs trust over the real directory, so it must tell the truth.
        "env": {**command.env, "PWD": str(command.cwd)},
        "timeout": command.timeout_secs,
        "handshake": held.handshake,
        "mounts": [dict(step) for step in held.mounts],
        "shelf": held.shelf,
        "private_net": held.private_net,
        "addresses": list(held.addresses),
        "listen": [list(address) for address in held.listen],
        "landlock": held.landlock,
        "seccomp": len(held.memory_files) if held.seccomp else -1,
        "rlimits": dict(held.rlimits),
        "processes": held.watch.get("processes", 0),
        "oom_score_adj": held.oom_score_adj,
        "limits": dict(held.watch),
    }


def _finished(last: dict[str, Any], behind: bool, streams: list[_Stream], duration: float) -> Finished:
    outputs = [stream.recorder.finish() for stream in streams]
    end, code, number, reason = _how_it_ended(last, behind)
    return Finished(
        end=end,
        exit_code=code,
        signal=number,
        reason=reason,
        stdout=outputs[0],
        stderr=outputs[1] if len(outputs) > 1 else Output(),
        duration_secs=duration,
        swept=last["swept"],
    )


def _how_it_ended(last: dict[str, Any], behind: bool) -> tuple[End, int | None, int | None, str]:
    if last["why"] == "timeout":
        return End.TIMED_OUT, None, None, ""
    if last["why"] == "limit":
        return End.LIMIT, None, None, last["detail"]
    if last["why"] != "exit":
        return End.COULD_NOT_START, None, None, last["detail"]
    code = os.waitstatus_to_exitcode(last["status"])
    if not last["ready"]:
        return End.COULD_NOT_START, None, None, last["note"].strip() or f"the sandbox ended with {code}"
    if code < 0:
        return End.SIGNALLED, 128 - code, -code, ""
    if behind and 128 < code <= 128 + signal.NSIG:  # bubblewrap tells a death by signal in the way of a shell
        return End.SIGNALLED, code, code - 128, ""
    return End.EXITED, code, None, ""


def signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
