"""The only module that starts processes. A command runs to its end or is killed; none of its processes survives it.

`Launcher` is the handle of the launcher program (see the package `launcher`). Open one per program and pass it on.
`run` returns how the command ended. The exit status decides that, never the end of the output. Cancelling the
surrounding anyio scope kills every process of the command before `run` returns.

Not here: the records for a command and its end (`workspace.process.command`), and the content of a sandbox
(`workspace.sandbox` fills in a `Confinement`).
"""

import contextlib
import json
import os
import select
import signal
import socket
import subprocess
import sys
import time
from collections.abc import AsyncGenerator, Generator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio
import anyio.lowlevel

from donewhen.errors import MachineryBroke
from donewhen.workspace.process.command import (
    NO_LISTENERS,
    Command,
    End,
    Finished,
    OutputListeners,
    specification,
    start_script,
    unfit_reason,
)
from donewhen.workspace.process.launcher import messages
from donewhen.workspace.process.memory_file import memory_file
from donewhen.workspace.process.output import Output, OutputBuffer, OutputPipe

if TYPE_CHECKING:
    from donewhen.workspace.process.observed import Observed, Observer

BOOT = (
    "import sys; sys.path.insert(0, sys.argv[1]); "
    "from donewhen.workspace.process.launcher.server import serve; serve({fd})"
)
SANDBOX_PROGRAMS = 2
"""The programs that start before the command in a sandbox: bubblewrap, and the shell that waits for its orders."""
IDLE_SUPERVISORS = 4
KEEP_SECS = 60.0
"""Limited in time because a waiting sandbox holds references to every mounted file system of the machine."""
KILL_SECS = 10.0
"""A supervisor that has not reported the end this long after a kill request is considered broken."""
CLOSE_SECS = 2.0
MESSAGE_BYTES = 1 << 16
DESCRIPTORS = 64


Message = dict[str, Any]
"""A message from a supervisor."""


@dataclass(eq=False, slots=True)
class _Supervisor:
    """Our end of a supervisor's socket, and what is known about its prewarmed sandbox."""

    socket: socket.socket
    kind: bytes = b""
    """Kind of the sandbox that it prewarms: the kind that its last command used; empty if that used none."""
    ready: bool = False

    def is_alive(self) -> bool:
        """Read the pending messages of an idle supervisor; return False if it has died."""
        try:
            while message := _receive(self.socket)[0]:
                self.ready = self.ready or message.get("say") == "ready"
        except _Gone:
            return False
        return True


class Launcher:
    """One launcher program. Use `Launcher.open()`: the program starts at once, in parallel with the caller."""

    def __init__(self, keep_secs: float = KEEP_SECS) -> None:
        self._keep_secs = keep_secs
        self._idle: list[_Supervisor] = []
        self._busy: set[_Supervisor] = set()
        self._requests: socket.socket | None = None
        self._program: subprocess.Popen[bytes] | None = None
        self._closed = False

    @classmethod
    @contextlib.asynccontextmanager
    async def open(cls, keep_secs: float = KEEP_SECS) -> AsyncGenerator["Launcher"]:
        """Open a launcher. `keep_secs` is how long a prewarmed sandbox waits for a command that needs its kind."""
        launcher = cls(keep_secs)
        try:
            with _machinery("cannot start the launcher"):
                launcher._idle.append(launcher._new_supervisor())
            yield launcher
        finally:
            launcher.close()

    def close(self) -> None:
        """End the program and everything that still runs. A `run` in another task fails because the launcher died."""
        self._closed = True
        for supervisor in self._idle:
            supervisor.socket.close()
        self._idle.clear()
        for supervisor in self._busy:
            with contextlib.suppress(OSError):
                supervisor.socket.shutdown(socket.SHUT_RDWR)
        self._end_program()

    async def run(self, command: Command, listeners: OutputListeners = NO_LISTENERS) -> Finished:
        """Run a command to its end. The module docstring says what cancelling does."""
        began = time.monotonic()
        await anyio.lowlevel.checkpoint_if_cancelled()
        problem = unfit_reason(command)
        if problem:
            return _result({"why": "failed", "detail": problem, "swept": 0}, command, [], began)
        with contextlib.ExitStack() as held:
            with _machinery("cannot start a command"):
                streams = _open_streams(command, listeners, held)
                observer = self._new_observer(command) if command.confinement.observe else None
                if observer is not None:
                    held.callback(observer.close)
                order = held.enter_context(contextlib.closing(_Order(command, streams, self._keep_secs, observer)))
                loop = held.enter_context(contextlib.closing(_RunLoop(order, streams, listeners, observer)))
            last = await self._run_supervised(loop, command.timeout_secs)
            # Every process that could write is dead, so the pipes hold all the remaining output.
            for stream in streams:
                stream.drain()
            observed = await observer.record() if observer is not None else None
        return _result(last, command, streams, began, observed)

    async def _run_supervised(self, loop: "_RunLoop", timeout_secs: float | None) -> Message:
        """Return the last message of the supervisor that ran the command. Skip supervisors that died while idle."""
        while supervisor := self._pop_idle(loop.order.kind):
            last = await self._run_to_end(supervisor, loop, timeout_secs)
            if last:
                return last
        with _machinery("cannot start a command"):
            supervisor = self._new_supervisor()
        last = await self._run_to_end(supervisor, loop, timeout_secs)
        if not last:
            raise MachineryBroke("the launcher died before it could start a command")
        return last

    def _pop_idle(self, kind: bytes) -> _Supervisor | None:
        """Remove and return the best idle supervisor, or None if a new one should be started.

        First choice: a sandbox of this kind is ready. Second: it prewarms no sandbox. Any other one only if
        IDLE_SUPERVISORS are idle.
        """
        for supervisor in [supervisor for supervisor in self._idle if not supervisor.is_alive()]:
            self._idle.remove(supervisor)
            supervisor.socket.close()
        fit = [supervisor for supervisor in self._idle if kind and supervisor.ready and supervisor.kind == kind]
        fit += [supervisor for supervisor in reversed(self._idle) if not supervisor.kind]
        if not fit and len(self._idle) == IDLE_SUPERVISORS:
            fit = sorted(self._idle, key=lambda supervisor: supervisor.kind != kind)
        if not fit:
            return None
        self._idle.remove(fit[0])
        return fit[0]

    async def _run_to_end(self, supervisor: _Supervisor, loop: "_RunLoop", timeout_secs: float | None) -> Message:
        """Return the supervisor's last message; empty if it started nothing. The command is dead in every case."""
        last: Message = {}
        self._busy.add(supervisor)
        try:
            # The supervisor enforces the timeout; this one is for a supervisor that fails to.
            with anyio.move_on_after(timeout_secs + KILL_SECS if timeout_secs is not None else None):
                last = await loop.run(supervisor.socket)
        except _Gone:
            if not loop.order.is_accepted:
                return {}
        finally:
            try:
                with anyio.CancelScope(shield=True):
                    last = last or await _kill(supervisor.socket)
            finally:
                supervisor.kind, supervisor.ready = loop.order.kind, False
                self._keep_idle(supervisor, last)
        if not last:
            raise MachineryBroke("the launcher died while a command ran; the result of the command is unknown")
        return last

    def _keep_idle(self, supervisor: _Supervisor, last: Message) -> None:
        self._busy.discard(supervisor)
        if last and last["why"] != "stuck" and len(self._idle) < IDLE_SUPERVISORS and not self._closed:
            self._idle.append(supervisor)
        else:
            supervisor.socket.close()

    def _new_supervisor(self) -> _Supervisor:
        if self._closed:
            raise MachineryBroke("the launcher is closed")
        with _pair() as (ours, theirs):
            ours.setblocking(False)
            self._start(messages.SUPERVISOR, theirs)
            return _Supervisor(ours)

    def _new_observer(self, command: Command) -> "Observer":
        """Start an observer. It ignores the first programs, which start a sandbox."""
        from donewhen.workspace.process.observed import Observer  # few commands are observed

        with _pair() as (ours, theirs), _pair() as (channel, listener):
            self._start(messages.OBSERVER, theirs)
            _send(ours, os.fsencode(f"{SANDBOX_PROGRAMS} {command.env.get('HOME', '')}"), [listener.fileno()])
            return Observer(ours, channel)

    def _start(self, what: bytes, orders: socket.socket) -> None:
        if not _send(self._connect(), what, [orders.fileno()]):
            self._end_program()  # the program was killed
            _send(self._connect(), what, [orders.fileno()])

    def _connect(self) -> socket.socket:
        if self._requests is None:
            with _machinery("cannot start the launcher"), _pair() as (ours, theirs):
                source = str(Path(__file__).parents[3])
                self._program = start_interpreter(BOOT.format(fd=theirs.fileno()), [source], theirs)
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


def start_interpreter(
    code: str, arguments: Sequence[str], passed: socket.socket, with_site: bool = False
) -> "subprocess.Popen[bytes]":
    """Start a separate interpreter that runs `code` and inherits one socket. The caller waits for its end.

    Unlike a fork, this is also possible in a program that has threads or a running event loop. `with_site` lets it find
    the packages of its environment.
    """
    options = ["-I"] if with_site else ["-I", "-S"]
    options += ["-B"] if sys.dont_write_bytecode else []  # -I hides PYTHONDONTWRITEBYTECODE
    return subprocess.Popen(
        [sys.executable, *options, "-c", code, *arguments],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        pass_fds=[passed.fileno()],
        start_new_session=True,
        env={"PATH": os.defpath, "LC_ALL": "C.UTF-8"},
        cwd="/",
    )


@contextlib.contextmanager
def _machinery(what: str) -> Generator[None]:
    """Turn an OSError (too many open files, no memory, no more processes) into a one-line MachineryBroke."""
    try:
        yield
    except OSError as error:
        raise MachineryBroke(f"{what}: {error.strerror}") from error


@contextlib.contextmanager
def _pair() -> Generator[tuple[socket.socket, socket.socket]]:
    """Yield our end and the end to pass on. Ours stays open unless the body raises; the other is always closed."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with theirs, contextlib.ExitStack() as on_error:
        on_error.enter_context(ours)
        yield ours, theirs
        on_error.pop_all()


def _send(to: socket.socket, message: bytes, fds: list[int]) -> bool:
    """Send a message; return False if the receiver is gone."""
    try:
        socket.send_fds(to, [message], fds)
    except ConnectionError:
        return False
    return True


class _Gone(Exception):
    """A supervisor has died."""


class _Order:
    """A command as the descriptors that `launcher.child` expects, open until a supervisor has accepted them."""

    def __init__(
        self, command: Command, streams: list[OutputPipe], keep_secs: float, observer: "Observer | None"
    ) -> None:
        held = command.confinement
        text = json.dumps(specification(command)).encode()
        self.kind = text if held.sandbox else b""
        """Kind of the sandbox that it needs; empty if it needs none."""
        contents = [text, command.stdin]
        if held.sandbox:
            layers = json.dumps([dict(layer) for layer in held.layers]).encode()
            contents = [text, layers, start_script(command), command.stdin, *held.memory_files]
        elif held.seccomp:
            contents.append(held.seccomp)
        self.message = json.dumps(
            {
                "timeout": command.timeout_secs,
                "handshake": bool(held.sandbox),
                "limits": dict(held.watch),
                "keep": keep_secs,
                "observe": observer is not None,
            }
        ).encode()
        self.is_accepted = False
        with contextlib.ExitStack() as ours:
            files = [memory_file(content, ours) for content in contents]
            self.fds = files
            if not held.sandbox:  # a sandbox brings its own output pipes
                for stream in streams:
                    stream.open()
                    ours.callback(stream.close_writer)
                self.fds = [*files[:2], streams[0].writer, streams[-1].writer, *files[2:]]
            if observer is not None:
                self.fds = [*self.fds, observer.channel.fileno()]
            self._ours = ours.pop_all()

    def accept(self) -> None:
        self.is_accepted = True
        self.close()

    def close(self) -> None:
        self._ours.close()


class _RunLoop:
    """Reads the messages of a supervisor and the output of its command, in one task, through one epoll descriptor."""

    def __init__(
        self, order: _Order, streams: list[OutputPipe], listeners: OutputListeners, observer: "Observer | None"
    ) -> None:
        self.order = order
        self._observer = observer
        self._outputs = streams
        self._streams: dict[int, OutputPipe] = {}
        self._listeners = listeners
        self._epoll = select.epoll()
        self._listen([stream for stream in streams if stream.reader >= 0])
        if observer is not None:
            self._epoll.register(observer, select.EPOLLIN)

    def _listen(self, streams: list[OutputPipe]) -> None:
        for stream in streams:
            self._streams[stream.reader] = stream
            self._epoll.register(stream.reader, select.EPOLLIN)

    def close(self) -> None:
        self._epoll.close()

    async def run(self, supervisor: socket.socket) -> Message:
        """Send the order, read the output as it comes, and return the "ended" message of the supervisor."""
        if not _send(supervisor, self.order.message, self.order.fds):
            raise _Gone
        self._epoll.register(supervisor, select.EPOLLIN)
        while True:
            await anyio.wait_readable(self._epoll.fileno())
            for fd, _ in self._epoll.poll(0):
                if fd in self._streams:
                    if not self._streams[fd].read():
                        self._epoll.unregister(fd)
                elif self._observer is not None and fd == self._observer.fileno():
                    raise self._observer.died()
                else:
                    message, fds = _receive(supervisor)
                    if message.get("say") == "ended":
                        return message
                    self._handle_message(message, fds)

    def _read_outputs(self, fds: list[int]) -> None:
        """Read from the output pipes of a sandbox, if it sent any.

        With merged output there is one stream; the second pipe is unused and gets closed.
        """
        if fds:
            for fd in fds[len(self._outputs) :]:
                os.close(fd)
            for stream, fd in zip(self._outputs, fds, strict=False):
                stream.read_from(fd)
            self._listen(self._outputs)

    def _handle_message(self, message: Message, fds: list[int]) -> None:
        match message.get("say"):
            case "started":
                self.order.accept()
                self._read_outputs(fds)
                if self._listeners.started is not None:
                    self._listeners.started(message["pid"])
            case "listening" if self._listeners.listeners is not None:
                self._listeners.listeners([socket.socket(fileno=fd) for fd in fds])
            case _:
                for fd in fds:
                    os.close(fd)


def _receive(supervisor: socket.socket) -> tuple[Message, list[int]]:
    """Return one message of a supervisor with its descriptors; an empty message if none was pending."""
    try:
        message, fds, flags, _ = socket.recv_fds(supervisor, MESSAGE_BYTES, DESCRIPTORS)
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


async def _kill(supervisor: socket.socket) -> Message:
    """Request a kill; return the supervisor's last message, or an empty one if it and its command are dead."""
    _send(supervisor, b"kill", [])
    try:
        with anyio.fail_after(KILL_SECS):
            while True:
                await anyio.wait_readable(supervisor)
                message, fds = _receive(supervisor)
                for fd in fds:
                    os.close(fd)
                if message.get("say") == "ended":
                    return message
    except _Gone:
        return {}
    except TimeoutError as error:
        raise MachineryBroke("a command could not be killed: its supervisor does not answer") from error


def _open_streams(command: Command, listeners: OutputListeners, held: contextlib.ExitStack) -> list[OutputPipe]:
    wanted = (
        [("out", listeners.stdout)] if command.merge_stderr else [("out", listeners.stdout), ("err", listeners.stderr)]
    )
    streams: list[OutputPipe] = []
    for name, listener in wanted:
        spool = command.spool
        if spool is not None and not command.merge_stderr:
            spool = spool.with_name(f"{spool.name}.{name}")
        buffer = OutputBuffer(command.keep_bytes, spool, command.spool_bytes)
        held.callback(buffer.close)
        streams.append(OutputPipe(buffer, listener))
        held.callback(streams[-1].close)
    return streams


def _result(
    last: Message, command: Command, streams: list[OutputPipe], began: float, observed: "Observed | None" = None
) -> Finished:
    outputs = [stream.output() for stream in streams]
    end, code, number, reason = _end_of(last, bool(command.confinement.sandbox))
    return Finished(
        end=end,
        exit_code=code,
        signal=number,
        reason=reason,
        stdout=outputs[0] if outputs else Output(),
        stderr=outputs[1] if len(outputs) > 1 else Output(),
        duration_secs=time.monotonic() - began,
        swept=last["swept"],
        observed=observed,
    )


def _end_of(last: Message, in_sandbox: bool) -> tuple[End, int | None, int | None, str]:
    if last["why"] == "stuck":
        raise MachineryBroke(f"a process that a command left behind cannot be killed: process {last['detail']}")
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
    if in_sandbox and 128 < code <= 128 + signal.NSIG:  # bubblewrap reports a death by signal like a shell
        return End.SIGNALLED, code, code - 128, ""
    return End.EXITED, code, None, ""
