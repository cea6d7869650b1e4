"""The record of an attack, and short ways to write the common ones.

A program gets all paths from its environment (`Outside.variables`). It prints TOKEN only after a call succeeded that
must fail. It runs with /bin/sh, or with the system's python3 if `py` made it. Python programs can use `say`, `call`
and the system call numbers NR.
"""

import textwrap
from dataclasses import dataclass

from outside import Sign

SAID, READ, CHANGED, HEARD, HURT, LEFT = Sign
PYTHON = "#py\n"
PRELUDE = """
import ctypes, errno, fcntl, os, select, signal, socket, struct, sys, time
libc = ctypes.CDLL(None, use_errno=True)
env, machine = os.environ, os.uname().machine
NR = {numbers}
def call(name, *words):
    return libc.syscall(ctypes.c_long(NR[name]), *[ctypes.c_long(w) if isinstance(w, int) else w for w in words])
def say(succeeded=True):
    if succeeded: print(env["TOKEN"], flush=True)
def new_user_namespace(flags=0):
    uid, gid = os.getuid(), os.getgid()
    if libc.unshare(0x10000000 | flags): sys.exit("no namespace")
    for name, text in ("setgroups", "deny"), ("uid_map", f"0 {{uid}} 1"), ("gid_map", f"0 {{gid}} 1"):
        open(f"/proc/self/{{name}}", "w").write(text)
"""


@dataclass(frozen=True, slots=True)
class Attack:
    """The id of the threat catalogue. Ids with an E are not in that catalogue."""

    id: str
    name: str
    program: str
    sign: Sign = SAID
    """How the outside detects that the attack succeeded."""
    caged: bool = False
    """Run it, at every level, in a pid namespace of the test: without isolation it kills every visible process."""
    network: bool = False
    """The sandbox has `network = "full"`."""
    dir: str = "."
    """The directory to start in. OUT is the directory outside."""
    overlay_only: bool = False
    """It attacks layers, so a tree without layers has no target."""
    linked_home: bool = False
    """HOME is a symbolic link to the real home."""


def py(program: str) -> str:
    return PYTHON + textwrap.dedent(program)


def say(expression: str) -> str:
    return py(f"say({expression})")


def granted(expression: str) -> str:
    """A call that returns a descriptor or zero if it is allowed."""
    return say(f"{expression} >= 0")


def read(path: str) -> str:
    return f'cat "{path}"'


def connect(variable: str) -> str:
    return py(f'socket.socket(socket.AF_UNIX).connect(env["{variable}"])')


def tcp(host: str, port: str = "TCP4", family: str = "AF_INET") -> str:
    return py(f'socket.socket(socket.{family}).connect(({host!r}, int(env["{port}"])))')


def udp(host: str, port: str, family: str) -> str:
    return py(f'socket.socket(socket.{family}, socket.SOCK_DGRAM).sendto(b"x", ({host!r}, int(env["{port}"])))')


def open_for_writing(*paths: str) -> str:
    return py(f"for path in {paths}:\n    if os.path.exists(path): say(os.open(path, os.O_WRONLY) >= 0)")


def write_back(path: str) -> str:
    """Write the value that is already there, so that success changes nothing."""
    return py(f'same = open("{path}").read()\nopen("{path}", "w").write(same)\nsay()')
