"""The single place that starts anything. A command runs to its end, or all of it is killed; nothing survives it.

`Launcher` is the handle on the launcher program (see the package `launcher`); open one per program and hand it down.
`run` gives back how the command ended: judged by its exit status, never by the end of its output. Cancelling the
surrounding anyio scope kills everything the command started before `run` returns.

What is not here: what a command is and how one ends, which is data (`workspace.command`), and what a sandbox looks like
(`workspace.sandbox` fills in a `Confinement`).
"""

import contextlib
import fcntl
import json
import os
import select
import signal
import socket
import subprocess
import sys
import time
from collections.abc import AsyncGenerator, Generator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel

from donewhen.errors import MachineryBroke
from donewhen.workspace.command import NOBODY, Command, Ears, End, Finished, orders, specification, unfit
from donewhen.workspace.output import Output, Recorder, Stream

BOOT = "import sys; sys.path.insert(0, sys.argv[1]); from donewhen.workspace.launcher.server import serve; serve({fd})"
IDLE_WARDENS = 4
KEEP_SECS = 60.0
"""A sandbox that waits holds on to every file system of the machine: it must not do so for ever."""
KILL_SECS = 10.0
"""A warden that has not told the end this long after it was asked to kill is itself broken."""
CLOSE_SECS = 2.0
MESSAGE_BYTES = 1 << 16
DESCRIPTORS = 64
SEALS = fcntl.F_SEAL_WRITE | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_SEAL


Said = dict[str, Any]
"""A message of a warden."""


@dataclass(eq=False, slots=True)
class _Warden:
    """Our end of a warden's socket, and what we know about what it has ready."""

    socket: socket.socket
    kind: bytes = b""
    """Of the sandbox that it puts up ahead: the one that its last command had."""
    ready: bool = False

    def is_alive(self) -> bool:
        """Hears what an idle warden has said meanwhile."""
        try:
            while said := _heard(self.socket)[0]:
                self.ready = self.ready or said.get("say") == "ready"
        except _Gone:
            return False
        return True


class Launcher:
    """One launcher program. Use `Launcher.open()`: the program starts at once, beside whatever the caller does next."""

    def __init__(self, keep_secs: float = KEEP_SECS) -> None:
        self._keep_secs = keep_secs
        self._idle: list[_Warden] = []
        self._busy: set[_Warden] = set()
        self._requests: socket.socket | None = None
        self._program: subprocess.Popen[bytes] | None = None
        self._closed = False

    @classmethod
    @contextlib.asynccontextmanager
    async def open(cls, keep_secs: float = KEEP_SECS) -> AsyncGenerator["Launcher"]:
        """`keep_secs` is how long a sandbox waits for the next command that wants one like it."""
        launcher = cls(keep_secs)
        try:
            with _machinery("cannot start the launcher"):
                launcher._idle.append(launcher._new_warden())
            yield launcher
        finally:
            launcher.close()

    def close(self) -> None:
        """End the program and everything that still runs; a `run` in another task is told that the launcher died."""
        self._closed = True
        for warden in self._idle:
            warden.socket.close()
        self._idle.clear()
        for warden in self._busy:
            with contextlib.suppress(OSError):
                warden.socket.shutdown(socket.SHUT_RDWR)
        self._end_program()

    async def run(self, command: Command, ears: Ears = NOBODY) -> Finished:
        """Run a command to its end. See the module for what cancelling does."""
        began = time.monotonic()
        await anyio.lowlevel.checkpoint_if_cancelled()
        problem = unfit(command)
        if problem:
            return _finished({"why": "failed", "detail": problem, "swept": 0}, command, [], began)
        with contextlib.ExitStack() as held:
            with _machinery("cannot start a command"):
                streams = _open_streams(command, ears, held)
                order = held.enter_context(contextlib.closing(_Order(command, streams, self._keep_secs)))
                hearing = held.enter_context(contextlib.closing(_Hearing(order, streams, ears)))
            last = await self._by_a_warden(hearing, command.timeout_secs)
            # Everything that could write is dead; what is in the pipes is all there will be.
            for stream in streams:
                stream.drain()
        return _finished(last, command, streams, began)

    async def _by_a_warden(self, hearing: "_Hearing", timeout_secs: float | None) -> Said:
        """The last word of whichever warden took the order. One that died while it was idle is no reason to fail."""
        while warden := self._most_suitable(hearing.order.kind):
            last = await self._to_its_end(warden, hearing, timeout_secs)
            if last:
                return last
        with _machinery("cannot start a command"):
            warden = self._new_warden()
        last = await self._to_its_end(warden, hearing, timeout_secs)
        if not last:
            raise MachineryBroke("the launcher died before it could start a command")
        return last

    def _most_suitable(self, kind: bytes) -> _Warden | None:
        """An idle warden that has a sandbox of this kind ready, or none at all; any where there must be no more."""
        for warden in [warden for warden in self._idle if not warden.is_alive()]:
            self._idle.remove(warden)
            warden.socket.close()
        fit = [warden for warden in self._idle if kind and warden.ready and warden.kind == kind]
        fit += [warden for warden in reversed(self._idle) if not warden.kind]
        if not fit and len(self._idle) == IDLE_WARDENS:
            fit = sorted(self._idle, key=lambda warden: warden.kind != kind)
        if not fit:
            return None
        self._idle.remove(fit[0])
        return fit[0]

    async def _to_its_end(self, warden: _Warden, hearing: "_Hearing", timeout_secs: float | None) -> Said:
        """The warden's last word, empty when it started nothing. After this the command is dead, come what may."""
        last: Said = {}
        self._busy.add(warden)
        try:
            # The warden keeps the time; this is for one that cannot.
            with anyio.move_on_after(timeout_secs + KILL_SECS if timeout_secs is not None else None):
                last = await hearing.last_word(warden.socket)
        except _Gone:
            if not hearing.order.taken:
                return {}
        finally:
            try:
                with anyio.CancelScope(shield=True):
                    last = last or await _kill(warden.socket)
            finally:
                warden.kind, warden.ready = hearing.order.kind, False
                self._take_back(warden, last)
        if not last:
            raise MachineryBroke("the launcher died while a command ran; how far the command came is not known")
        return last

    def _take_back(self, warden: _Warden, last: Said) -> None:
        self._busy.discard(warden)
        if last and last["why"] != "stuck" and len(self._idle) < IDLE_WARDENS and not self._closed:
            self._idle.append(warden)
        else:
            warden.socket.close()

    def _new_warden(self) -> _Warden:
        if self._closed:
            raise MachineryBroke("the launcher is closed")
        with _pair() as (ours, theirs):
            ours.setblocking(False)
            if not _sent(self._connected(), b"w", [theirs.fileno()]):
                self._end_program()  # somebody killed it
                _sent(self._connected(), b"w", [theirs.fileno()])
            return _Warden(ours)

    def _connected(self) -> socket.socket:
        if self._requests is None:
            with _machinery("cannot start the launcher"), _pair() as (ours, theirs):
                source = str(Path(__file__).parents[2])
                quiet = ["-B"] if sys.dont_write_bytecode else []  # isolated, it does not see the variable that says so
                self._program = subprocess.Popen(
                    [sys.executable, "-I", "-S", *quiet, "-c", BOOT.format(fd=theirs.fileno()), source],
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                    pass_fds=[theirs.fileno()],
                    start_new_session=True,
                    env={"PATH": os.defpath, "LC_ALL": "C.UTF-8"},
                    cwd="/",
                )
                self._requests = ours
        return self._requests

    def _end_program(self) -> None:
        if self._requests is not None and self._program is not None:
            self._requests.close()
            try:
                self._program.wait(CLOSE_SECS)
            except subprocess.TimeoutExpired:
                self._program.kill()
                self._program.wait()
        self._requests = self._program = None


@contextlib.contextmanager
def _machinery(what: str) -> Generator[None]:
    """Too many open files, no memory, no more processes: ours to report, in one line."""
    try:
        yield
    except OSError as error:
        raise MachineryBroke(f"{what}: {error.strerror}") from error


@contextlib.contextmanager
def _pair() -> Generator[tuple[socket.socket, socket.socket]]:
    """Our end, which stays open when all goes well, and the one to give away."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with theirs, contextlib.ExitStack() as unless_well:
        unless_well.enter_context(ours)
        yield ours, theirs
        unless_well.pop_all()


def _sent(to: socket.socket, message: bytes, fds: list[int]) -> bool:
    """Whether somebody was there to receive it."""
    try:
        socket.send_fds(to, [message], fds)
    except ConnectionError:
        return False
    return True


class _Gone(Exception):
    """A warden has died."""


class _Order:
    """A command as the descriptors that `launcher.child` expects, open until a warden has taken them."""

    def __init__(self, command: Command, streams: list[Stream], keep_secs: float) -> None:
        held = command.confinement
        text = json.dumps(specification(command)).encode()
        self.kind = text if held.wall else b""
        """Of the sandbox it needs; empty when it needs none."""
        contents = [text, command.stdin]
        if held.wall:
            layers = json.dumps([dict(layer) for layer in held.layers]).encode()
            contents = [text, layers, orders(command), command.stdin, *held.memory_files]
        elif held.seccomp:
            contents.append(held.seccomp)
        self.message = json.dumps(
            {
                "timeout": command.timeout_secs,
                "handshake": bool(held.wall),
                "limits": dict(held.watch),
                "keep": keep_secs,
            }
        ).encode()
        self.taken = False
        with contextlib.ExitStack() as ours:
            files = [_memory_file(content, ours) for content in contents]
            self.fds = files
            if not held.wall:  # a sandbox brings its own
                for stream in streams:
                    stream.open()
                    ours.callback(stream.close_writer)
                self.fds = [*files[:2], streams[0].writer, streams[-1].writer, *files[2:]]
            self._ours = ours.pop_all()

    def take(self) -> None:
        self.taken = True
        self.close()

    def close(self) -> None:
        self._ours.close()


class _Hearing:
    """A warden and the output of its command, heard through one descriptor by one task."""

    def __init__(self, order: _Order, streams: list[Stream], ears: Ears) -> None:
        self.order = order
        self._given = streams
        self._streams: dict[int, Stream] = {}
        self._ears = ears
        self._epoll = select.epoll()
        self._listen([stream for stream in streams if stream.reader >= 0])

    def _listen(self, streams: list[Stream]) -> None:
        for stream in streams:
            self._streams[stream.reader] = stream
            self._epoll.register(stream.reader, select.EPOLLIN)

    def close(self) -> None:
        self._epoll.close()

    async def last_word(self, warden: socket.socket) -> Said:
        """Give the order, then take the output as it comes, until the warden says that everything is over."""
        if not _sent(warden, self.order.message, self.order.fds):
            raise _Gone
        self._epoll.register(warden, select.EPOLLIN)
        while True:
            await anyio.wait_readable(self._epoll.fileno())
            for fd, _ in self._epoll.poll(0):
                if fd in self._streams:
                    if not self._streams[fd].take():
                        self._epoll.unregister(fd)
                else:
                    said, fds = _heard(warden)
                    if said.get("say") == "ended":
                        return said
                    self._tell(said, fds)

    def _take_outputs(self, fds: list[int]) -> None:
        """Those of a sandbox; nobody writes to the second one where complaints are mixed with the output."""
        if fds:
            for fd in fds[len(self._given) :]:
                os.close(fd)
            for stream, fd in zip(self._given, fds, strict=False):
                stream.read_from(fd)
            self._listen(self._given)

    def _tell(self, said: Said, fds: list[int]) -> None:
        match said.get("say"):
            case "started":
                self.order.take()
                self._take_outputs(fds)
                if self._ears.started is not None:
                    self._ears.started(said["pid"])
            case "listening" if self._ears.listeners is not None:
                self._ears.listeners([socket.socket(fileno=fd) for fd in fds])
            case _:
                for fd in fds:
                    os.close(fd)


def _heard(warden: socket.socket) -> tuple[Said, list[int]]:
    """One message of a warden; an empty one when there was none after all."""
    try:
        message, fds, flags, _ = socket.recv_fds(warden, MESSAGE_BYTES, DESCRIPTORS)
    except BlockingIOError:
        return {}, []
    except ConnectionError as error:
        raise _Gone from error
    if not message:
        raise _Gone
    if flags & socket.MSG_CTRUNC:
        for fd in fds:
            os.close(fd)
        raise MachineryBroke("cannot start a command: Too many open files")
    return json.loads(message), fds


async def _kill(warden: socket.socket) -> Said:
    """The last word of a warden that was told to kill; empty when it is dead, and its command with it."""
    _sent(warden, b"kill", [])
    try:
        with anyio.fail_after(KILL_SECS):
            while True:
                await anyio.wait_readable(warden)
                said, fds = _heard(warden)
                for fd in fds:
                    os.close(fd)
                if said.get("say") == "ended":
                    return said
    except _Gone:
        return {}
    except TimeoutError as error:
        raise MachineryBroke("a command could not be killed: its warden does not answer") from error


def _open_streams(command: Command, ears: Ears, held: contextlib.ExitStack) -> list[Stream]:
    wanted = [("out", ears.stdout)] if command.merge_stderr else [("out", ears.stdout), ("err", ears.stderr)]
    streams: list[Stream] = []
    for name, ear in wanted:
        spool = command.spool
        if spool is not None and not command.merge_stderr:
            spool = spool.with_name(f"{spool.name}.{name}")
        recorder = Recorder(command.keep_bytes, spool, command.spool_bytes)
        held.callback(recorder.close)
        streams.append(Stream(recorder, ear))
        held.callback(streams[-1].close)
    return streams


def _memory_file(content: bytes, held: contextlib.ExitStack) -> int:
    """Sealed: whoever gets it can neither change it nor fill the machine's memory through it."""
    fd = os.memfd_create("donewhen", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    held.callback(os.close, fd)
    left = memoryview(content)
    while left:
        left = left[os.write(fd, left) :]
    os.lseek(fd, 0, os.SEEK_SET)
    fcntl.fcntl(fd, fcntl.F_ADD_SEALS, SEALS)
    return fd


def _finished(last: Said, command: Command, streams: list[Stream], began: float) -> Finished:
    outputs = [stream.output() for stream in streams]
    end, code, number, reason = _how_it_ended(last, bool(command.confinement.wall))
    return Finished(
        end=end,
        exit_code=code,
        signal=number,
        reason=reason,
        stdout=outputs[0] if outputs else Output(),
        stderr=outputs[1] if len(outputs) > 1 else Output(),
        duration_secs=time.monotonic() - began,
        swept=last["swept"],
    )


def _how_it_ended(last: Said, behind: bool) -> tuple[End, int | None, int | None, str]:
    if last["why"] == "stuck":
        raise MachineryBroke(f"no signal kills what a command left behind: process {last['detail']}")
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
