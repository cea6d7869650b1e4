"""What happens between fork and exec in the command's own process, in its one right order.

Groups and limits first (they are inherited), then the tie to the warden, then namespaces and mounts, then listeners,
then the locks that cannot be undone (Landlock, seccomp), then the descriptors, then exec. A failure at any step is
told through a pipe that closes by itself when exec succeeds.
"""

import fcntl
import os
import resource
import signal
import socket
import struct
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from donewhen.workspace.launcher import kernel, mounts

REAL_STDERR, READY, GO, FIRST_EXTRA = 3, 4, 5, 6
"""Where a sandboxed command finds its descriptors; the go-between program inside closes 3, 4 and 5 again."""

SIOCGIFFLAGS, SIOCSIFFLAGS, SIOCSIFADDR = 0x8913, 0x8914, 0x8916
IFF_UP = 0x1
HIGH = 64
"""Descriptors are parked from here up while the low numbers are laid out."""


@dataclass(slots=True)
class Pipes:
    """Four pipes between a warden and the command it starts; each name is the warden's end."""

    broken: int
    broken_end: int
    ready: int
    ready_end: int
    notes: int
    notes_end: int
    go: int
    go_end: int

    @classmethod
    def make(cls) -> "Pipes":
        broken, ready, notes = os.pipe(), os.pipe(), os.pipe()
        go_end, go = os.pipe()
        return cls(*broken, *ready, *notes, go, go_end)

    def close_child_ends(self) -> None:
        for fd in (self.broken_end, self.ready_end, self.notes_end, self.go_end):
            os.close(fd)

    def tell_failure(self, error: BaseException) -> None:
        os.write(self.broken_end, f"{type(error).__name__}: {error}"[:4000].encode("utf-8", "replace"))

    def failure(self) -> str:
        os.set_blocking(self.broken, False)
        try:
            text = os.read(self.broken, 4000).decode("utf-8", "replace")
        except BlockingIOError:
            return ""
        return text

    def rest_of_notes(self, at_most: int) -> bytes:
        os.set_blocking(self.notes, False)
        try:
            return os.read(self.notes, max(at_most, 0))
        except BlockingIOError:
            return b""


def become(
    spec: dict[str, Any],
    stdio: list[int],
    extra: list[int],
    pipes: Pipes,
    hand_over_listeners: Callable[[list[int]], None],
) -> None:
    warden = os.getppid()
    os.setsid()
    _join_groups(spec["cgroups"])
    _limit(spec["rlimits"], spec["oom_score_adj"])
    _private_namespaces(spec)
    if spec["mounts"]:
        mounts.put_together(spec["mounts"], spec["shelf"])
    if spec["private_net"]:
        _raise_loopback(spec["addresses"])
        hand_over_listeners(_listen(spec["listen"]))
    _lay_out_descriptors(spec, stdio, extra, pipes)
    os.chdir(_bytes(spec["cwd"]))
    # Last of all: a change of credentials above would clear it. Whoever lost its warden before this line ends here.
    kernel.prctl(kernel.PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != warden:
        os._exit(127)
    _lock(spec)
    _default_signals()
    argv = [_bytes(word) for word in spec["argv"]]
    env = {_bytes(name): _bytes(value) for name, value in spec["env"].items()}
    os.execve(argv[0], argv, env)


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def _join_groups(files: list[str]) -> None:
    for path in files:
        with open(path, "wb") as file:
            file.write(b"0")


def _limit(rlimits: dict[str, int], oom_score_adj: int) -> None:
    if oom_score_adj:
        with open("/proc/self/oom_score_adj", "wb") as file:
            file.write(str(oom_score_adj).encode())
    for name, value in rlimits.items():
        which: int = getattr(resource, f"RLIMIT_{name}")
        _, hard = resource.getrlimit(which)
        bound = value if hard == resource.RLIM_INFINITY else min(value, hard)
        resource.setrlimit(which, (bound, bound))


def _private_namespaces(spec: dict[str, Any]) -> None:
    flags = kernel.CLONE_NEWNS if spec["mounts"] else 0
    flags |= kernel.CLONE_NEWNET if spec["private_net"] else 0
    if not flags:
        return
    uid, gid = os.geteuid(), os.getegid()
    kernel.unshare(flags | kernel.CLONE_NEWUSER)
    for name, text in (("setgroups", "deny"), ("uid_map", f"0 {uid} 1"), ("gid_map", f"0 {gid} 1")):
        with open(f"/proc/self/{name}", "wb") as file:
            file.write(text.encode())


def _raise_loopback(addresses: list[str]) -> None:
    """Bring the private network's loopback up, and give it the addresses of the services it stands in for."""
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


def _lay_out_descriptors(spec: dict[str, Any], stdio: list[int], extra: list[int], pipes: Pipes) -> None:
    if spec["handshake"]:
        stdin, stdout, stderr = stdio
        wanted = [stdin, stdout, pipes.notes_end, stderr, pipes.ready_end, pipes.go_end, *extra]
    else:
        wanted = list(stdio)
    parked = [fcntl.fcntl(fd, fcntl.F_DUPFD, HIGH) for fd in wanted]
    failure = fcntl.fcntl(pipes.broken_end, fcntl.F_DUPFD_CLOEXEC, HIGH)
    program = fcntl.fcntl(extra[spec["seccomp"]], fcntl.F_DUPFD_CLOEXEC, HIGH) if spec["seccomp"] >= 0 else -1
    for number, fd in enumerate(parked):
        os.dup2(fd, number)
    os.dup2(failure, len(parked), inheritable=False)
    pipes.broken_end = len(parked)
    last = len(parked) + 1
    if program >= 0:
        os.dup2(program, last, inheritable=False)
        spec["seccomp"] = last
        last += 1
    os.closerange(last, resource.getrlimit(resource.RLIMIT_NOFILE)[0])


def _lock(spec: dict[str, Any]) -> None:
    landlock = spec["landlock"]
    if landlock:
        rules: list[tuple[int, int]] = []
        for path, rights in landlock["rules"]:
            rules.append((os.open(_bytes(path), os.O_PATH | os.O_CLOEXEC), rights))
        kernel.landlock_restrict(landlock["fs"], landlock["net"], landlock["scoped"], rules)
    if spec["seccomp"] >= 0:
        size = os.fstat(spec["seccomp"]).st_size
        kernel.load_seccomp(os.pread(spec["seccomp"], size, 0))


def _default_signals() -> None:
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(number, signal.SIG_DFL)
