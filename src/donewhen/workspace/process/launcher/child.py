"""The steps between fork and exec in the command's own process. Their order matters.

Limits come first (they are inherited), then namespaces and mounts, listeners, and descriptors. Then the process is
bound to the life of its supervisor and takes restrictions that cannot be undone (Landlock, seccomp). Then exec. A
failure at any step is reported through a pipe that closes on a successful exec.

With a handshake, this process starts a sandbox and the command comes later. The first program in the sandbox has the
command's stdin and stdout as descriptors 0 and 1, and also:

    2        error messages of bubblewrap itself
    3        the real stderr
    4        to report that it is ready, and later that it becomes the command
    5        to wait in between for permission to go on
    6        its orders after that
    7 and up memory files

If the tree is not known yet, a *mount helper* process stays behind and mounts the tree later.
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
import resource
import signal
import socket
import struct

from donewhen.workspace.process.launcher import kernel, mounts
from donewhen.workspace.process.launcher.process_calls import ProcessCalls

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NoReturn

SIOCGIFFLAGS, SIOCSIFFLAGS, SIOCSIFADDR = 0x8913, 0x8914, 0x8916
IFF_UP = 0x1
DESCRIPTORS = 64
"""How many descriptors may come with a command."""
UNSHARED, MAPPED, NOTHING_TO_MAP = b"u", b"m", b"n"
"""Messages between a pre-forked child of root and its supervisor, about the ids of a new user namespace."""
RUN, RUN_PREWARMED = b"run", b"ahead"
"""To a pre-forked child: what to become. A sandbox started with RUN gets its layers as the last descriptor.

With RUN_PREWARMED the mount helper mounts them later.
"""
START, MOUNT, MOUNTED = b"p", b"h", b"d"
"""START: from a pre-forked child, with its mount table: everything but the tree is mounted.

MOUNT: to the mount helper, with the layers. MOUNTED: its answer.
"""
IS_READY, BECOMES_COMMAND = b"r", b"s"
"""From the first program in the sandbox: it waits for permission; all went well and it becomes the command."""
FILTERED = b"f"
"""From a pre-forked child, with the listener of its filter: its supervisor decides which calls it may make."""
NOBODY = 65534
HIGH = 32
"""Descriptors are moved to this number and above while the low numbers are assigned."""


SPECIFICATION, STDIN, STDOUT, STDERR, FIRST_OF_EXTRA = range(5)
"""The order of the descriptors that come with a command."""


class PreforkedChild:
    """The supervisor's side of a process that was forked in advance and waits to become the next command."""

    def __init__(self, orders: socket.socket) -> None:
        pipes = Pipes()
        self.channel, from_supervisor = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.pid = os.fork()
        if self.pid == 0:
            # Exec or `_lay_out_descriptors` closes everything else. This end would keep the child's own channel open.
            self.channel.close()
            _wait_for_orders(from_supervisor, orders, pipes)
        from_supervisor.close()
        for fd in (pipes.failures[1], pipes.readiness[1], pipes.complaints[1], pipes.permission[0]):
            os.close(fd)
        self._failures = pipes.failures[0]
        self.ready = pipes.readiness[0]
        self.notes = pipes.complaints[0]
        self._go = pipes.permission[1]

    def send(self, message: bytes, fds: list[int]) -> None:
        """Send what to become. A child that was killed while it waited is noticed by its end, not here."""
        try:
            socket.send_fds(self.channel, [message], fds)
            if os.geteuid() == 0 and self.channel.recv(1) == UNSHARED:
                self.channel.send(MAPPED if self._map_second_id() else UNSHARED)
        except ConnectionError:
            return

    def allow_start(self) -> None:
        try:
            os.write(self._go, b"g\n")
        except BrokenPipeError:
            return  # it was killed meanwhile; its end is the next event

    def _map_second_id(self) -> bool:
        """Map a second id, the host's nobody, into root's namespace. Only a process outside it can do that."""
        ids = f"0 0 1\n{mounts.NOBODY} {NOBODY} 1"
        try:
            _map(self.pid, ids, ids)
        except OSError:
            return False
        return True

    def process_calls(self) -> ProcessCalls | None:
        """Return the calls that its filter hands over; None if it became a command without a filter, or has ended."""
        try:
            _, fds, _, _ = socket.recv_fds(self.channel, 1, 1)
        except ConnectionError:
            return None
        return ProcessCalls(*fds) if fds else None

    def failure(self) -> str:
        return read_now(self._failures, 4000).decode("utf-8", "replace")

    def rest_of_notes(self, at_most: int) -> bytes:
        return read_now(self.notes, max(at_most, 0))

    def close(self) -> None:
        self.channel.close()
        for fd in (self._failures, self.ready, self.notes, self._go):
            os.close(fd)


class Pipes:
    """Four pipes between a supervisor and its command; the read end comes first, as os.pipe returns them."""

    def __init__(self) -> None:
        self.failures = os.pipe()
        self.readiness = os.pipe()
        self.complaints = os.pipe()
        self.permission = os.pipe()


def read_now(fd: int, at_most: int) -> bytes:
    os.set_blocking(fd, False)
    try:
        return os.read(fd, at_most)
    except BlockingIOError:
        return b""


def specification(fd: int) -> Any:
    """Read without moving the offset, because supervisor and command share the open file."""
    return json.loads(os.pread(fd, os.fstat(fd).st_size, 0))


def _wait_for_orders(orders: socket.socket, control: socket.socket, pipes: Pipes) -> NoReturn:
    """Main function of the forked process: wait for a command, then become it. Report a failure and exit."""
    failures = pipes.failures[1]
    try:
        supervisor = os.getppid()
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGCHLD])
        os.setsid()
        message, fds, _, _ = socket.recv_fds(orders, 64, DESCRIPTORS)
        if message:
            spec: dict[str, Any] = specification(fds[SPECIFICATION])
            observer = fds.pop() if spec["observe"] else -1
            layers = specification(fds.pop()) if spec["handshake"] and message == RUN else spec["layers"]
            _limit(spec["rlimits"], spec["oom_score_adj"])
            _private_namespaces(spec, orders)
            if message == RUN_PREWARMED:
                _start_mount_helper(spec, orders)
            elif spec["mounts"] or layers:
                mounts.mount_view(spec["mounts"], spec["shelf"], layers)
            failures = _become(spec, fds, pipes, control, orders, supervisor, observer)
    except BaseException as error:  # noqa: BLE001 - a fork of the supervisor must end here and report why
        os.write(failures, _error_text(error))
    finally:
        os._exit(127)


def _start_mount_helper(spec: dict[str, Any], orders: socket.socket) -> None:
    target = mounts.MountTarget(spec["mounts"], spec["shelf"])
    with open("/proc/self/mountinfo", "rb") as table:
        socket.send_fds(orders, [START], [table.fileno()])
    child = os.getpid()
    if os.fork() == 0:
        _run_mount_helper(target, child, orders)


def _run_mount_helper(target: mounts.MountTarget, child: int, orders: socket.socket) -> NoReturn:
    """Main function of the mount helper: mount the tree, then exit. It ends with the sandbox or supervisor."""
    kernel.prctl(kernel.PR_SET_PDEATHSIG, signal.SIGKILL)
    message, fds, _, _ = socket.recv_fds(orders, 1, 1)
    if message == MOUNT and os.getppid() == child:
        target.mount_tree(specification(fds[0]))
        orders.send(MOUNTED)
    os._exit(0)


def _become(
    spec: dict[str, Any],
    fds: list[int],
    pipes: Pipes,
    control: socket.socket,
    orders: socket.socket,
    supervisor: int,
    observer: int,
) -> int:
    if spec["private_net"]:
        _raise_loopback(spec["addresses"])
        socket.send_fds(control, [json.dumps({"say": "listening"}).encode()], _listen(spec["listen"]))
    os.chdir(_bytes(spec["cwd"]))
    failures = _lay_out_descriptors(spec, fds, pipes, orders, observer)
    try:
        _lock(spec, supervisor)
        if observer >= 0:
            _observe_calls(spec["observe"], failures + 1)
        argv = [_bytes(word) for word in spec["argv"]]
        env = {_bytes(name): _bytes(value) for name, value in spec["env"].items()}
        os.execve(argv[0], argv, env)
    except OSError as error:
        os.write(failures, _error_text(error))
    return failures


def _error_text(error: BaseException) -> bytes:
    text = f"{type(error).__name__}: {error}"
    if isinstance(error, OSError) and error.strerror:
        text = f"{error.strerror}: {os.fsdecode(error.filename)}" if error.filename else error.strerror
    return text.encode("utf-8", "replace")[:4000]


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def _limit(rlimits: dict[str, int], oom_score_adj: int) -> None:
    if os.getpriority(os.PRIO_PROCESS, 0) < 0:
        os.setpriority(os.PRIO_PROCESS, 0, 0)  # the command must not inherit the raised priority of the supervisor
    if oom_score_adj:
        with open("/proc/self/oom_score_adj", "wb") as file:
            file.write(str(oom_score_adj).encode())
    for name, value in rlimits.items():
        which: int = getattr(resource, f"RLIMIT_{name}")
        _, hard = resource.getrlimit(which)
        bound = value if hard == resource.RLIM_INFINITY else min(value, hard)
        resource.setrlimit(which, (bound, bound))


def _private_namespaces(spec: dict[str, Any], orders: socket.socket) -> None:
    flags = kernel.CLONE_NEWNS if spec["mounts"] or spec["layers"] else 0
    flags |= kernel.CLONE_NEWNET if spec["private_net"] else 0
    uid, gid = os.geteuid(), os.getegid()
    if uid == 0 and not flags:
        orders.send(NOTHING_TO_MAP)
    if not flags:
        return
    if uid == 0:
        os.setgroups([])
    kernel.unshare(flags | kernel.CLONE_NEWUSER)
    if uid != 0 or not _is_mapped_from_outside(orders):
        _map("self", f"0 {uid} 1", f"0 {gid} 1")
    if spec["processes"] and uid != 0:
        # Set only now: a user namespace counts its own processes, not those that the user runs elsewhere. Normally the
        # limit watcher sees the excess and reports it; this limit stops a command that is faster than the watcher.
        resource.setrlimit(resource.RLIMIT_NPROC, (2 * spec["processes"], 2 * spec["processes"]))


def _is_mapped_from_outside(orders: socket.socket) -> bool:
    orders.send(UNSHARED)
    return orders.recv(1) == MAPPED


def _map(process: int | str, users: str, groups: str) -> None:
    """Write the id maps of a process's user namespace: which host ids exist there, and under which numbers."""
    for name, text in (("setgroups", "deny"), ("uid_map", users), ("gid_map", groups)):
        with open(f"/proc/{process}/{name}", "wb") as file:
            file.write(text.encode())


def _raise_loopback(addresses: list[str]) -> None:
    """Bring up the loopback of the private network and add the addresses of the services that it replaces."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        request = struct.pack("16sH14x", b"lo", 0)
        flags = struct.unpack("16xH14x", fcntl.ioctl(any_socket, SIOCGIFFLAGS, request))[0]
        fcntl.ioctl(any_socket, SIOCSIFFLAGS, struct.pack("16sH14x", b"lo", flags | IFF_UP))
        for number, address in enumerate(addresses):
            name = f"lo:{number}".encode()
            packed = struct.pack("HH4s8x", socket.AF_INET, 0, socket.inet_aton(address))
            fcntl.ioctl(any_socket, SIOCSIFADDR, struct.pack("16s16s", name, packed))


def _listen(wanted: list[list[Any]]) -> list[int]:
    listeners: list[int] = []
    for host, port in wanted:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        listener = socket.socket(family, socket.SOCK_STREAM)
        listener.bind((host, port))
        listener.listen(128)
        listeners.append(listener.detach())
    return listeners


def _lay_out_descriptors(
    spec: dict[str, Any], fds: list[int], pipes: Pipes, orders: socket.socket, observer: int
) -> int:
    """Move the command's descriptors to their numbers, close all others; return the descriptor for failures."""
    stdin, stdout, stderr, extra = fds[STDIN], fds[STDOUT], fds[STDERR], fds[FIRST_OF_EXTRA:]
    wanted = [stdin, stdout, stderr]
    if spec["handshake"]:
        wanted = [stdin, stdout, pipes.complaints[1], stderr, pipes.readiness[1], pipes.permission[0], *extra]
    # Closed by exec: the pipe for failures, the filter that the launcher itself loads, the channel for its listener, or
    # the channel to an observer.
    filtered: list[int] = [extra[spec["seccomp"]], orders.detach()] if spec["seccomp"] >= 0 else []
    private = [pipes.failures[1], *filtered, *([observer] if observer >= 0 else [])]
    parked = [fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, HIGH) for fd in (*wanted, *private)]
    for number, fd in enumerate(parked):
        os.dup2(fd, number, inheritable=number < len(wanted))
    os.closerange(len(parked), resource.getrlimit(resource.RLIMIT_NOFILE)[1])
    if filtered:
        spec["seccomp"] = len(wanted) + 1
    return len(wanted)


def _lock(spec: dict[str, Any], supervisor: int) -> None:
    # Not earlier: a change of credentials would clear it. If the supervisor died before this line, end here.
    kernel.prctl(kernel.PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != supervisor:
        os._exit(127)
    _default_signals()
    landlock = spec["landlock"]
    if landlock:
        opened = [(os.open(_bytes(path), os.O_PATH | os.O_CLOEXEC), rights) for path, rights in landlock["rules"]]
        if landlock["no_capabilities"]:
            kernel.drop_capabilities()
        kernel.landlock_restrict(landlock["fs"], landlock["net"], landlock["scoped"], opened)
    if spec["seccomp"] >= 0:
        _filter_calls(spec["seccomp"], spec["seccomp"] + 1)


def _filter_calls(program: int, orders: int) -> None:
    listener = kernel.load_seccomp(os.pread(program, os.fstat(program).st_size, 0))
    if listener >= 0:
        with socket.socket(fileno=orders) as channel:
            socket.send_fds(channel, [FILTERED], [listener])


def _observe_calls(program: str, observer: int) -> None:
    """Hand calls over to the observer. From here on, every such call waits until the observer has seen it.

    Where an outer filter already has a listener, as in some containers, the command runs unobserved.
    """
    try:
        listeners = [kernel.load_with_listener(bytes.fromhex(program))]
    except OSError as error:
        if error.errno != errno.EBUSY:
            raise
        listeners = []
    with socket.socket(fileno=observer) as channel:
        socket.send_fds(channel, [FILTERED], listeners)
    for listener in listeners:
        os.close(listener)


def _default_signals() -> None:
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(number, signal.SIG_DFL)
