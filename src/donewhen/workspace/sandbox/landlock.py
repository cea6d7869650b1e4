"""The weaker wall, for machines that forbid namespaces: Landlock file rules, and a stricter system-call filter. Pure.

What it holds: writing and reading outside the tree, all networking, unix sockets, signals to and tracing of others.
What it cannot hold, and says so: metadata of other files (chmod, utime, locks where ownership allows), names and
command lines of other processes, and everything at its own path (`path_transparent` is false).
"""

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from donewhen.workspace.sandbox import view

EXECUTE, WRITE_FILE, READ_FILE, READ_DIR = 1 << 0, 1 << 1, 1 << 2, 1 << 3
FIRST_ABI = (1 << 13) - 1
REFER, TRUNCATE, IOCTL_DEV = 1 << 13, 1 << 14, 1 << 15
BIND_TCP, CONNECT_TCP = 1 << 0, 1 << 1
SCOPE_ABSTRACT, SCOPE_SIGNAL = 1 << 0, 1 << 1
FOR_FILES = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE | IOCTL_DEV
READ = EXECUTE | READ_FILE | READ_DIR

SYSTEM = (
    "/usr",
    "/bin",
    "/sbin",
    "/lib",
    "/lib32",
    "/lib64",
    "/libx32",
    "/opt",
    "/proc",
    "/sys/devices/system",
    "/nix",
)
DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom")
ETC = "/etc"


def ruleset(abi: int, network: bool, readable: Iterable[Path], writable: Iterable[str]) -> dict[str, Any]:
    """What the launcher needs to restrict a process, for a kernel of this Landlock version."""
    handled = FIRST_ABI | (REFER if abi >= 2 else 0) | (TRUNCATE if abi >= 3 else 0) | (IOCTL_DEV if abi >= 5 else 0)
    rules = [(path, READ) for path in (*SYSTEM, *_public_etc(), *map(str, readable)) if os.path.exists(path)]
    rules += [(path, handled & (READ_FILE | WRITE_FILE | TRUNCATE)) for path in DEVICES]
    rules += [(path, handled) for path in writable]
    return {
        "fs": handled,
        "net": BIND_TCP | CONNECT_TCP if abi >= 4 and not network else 0,
        "scoped": SCOPE_ABSTRACT | SCOPE_SIGNAL if abi >= 6 else 0,
        "no_capabilities": True,
        "rules": [(path, rights & handled & _kind(path)) for path, rights in rules],
    }


def scopes(abi: int) -> dict[str, Any] | None:
    """Only the scopes, beside the real wall: no abstract sockets and no signals out, and mounting stays possible."""
    if abi < 6:
        return None
    return {"fs": 0, "net": 0, "scoped": SCOPE_ABSTRACT | SCOPE_SIGNAL, "no_capabilities": False, "rules": []}


def _kind(path: str) -> int:
    """Rights that mean something for a directory are refused by the kernel on a file."""
    return ~0 if os.path.isdir(path) else FOR_FILES


def _public_etc() -> list[str]:
    """Entries of /etc one by one, because a rule cannot take a private file out of a directory again."""
    private = view.private_paths()
    entries = [f"{ETC}/{name}" for name in os.listdir(ETC)]
    return [path for path in entries if not any(p == path or p.startswith(path + "/") for p in private)]
