"""The weaker isolation, for machines that forbid namespaces: Landlock file rules and a stricter system-call filter.

Pure: this module only computes the rules. Blocked: writing and reading outside the tree, all networking, unix sockets,
and signals to, tracing of and settings of other processes. Not blocked: changing modes, times and locks of other files
where ownership allows it, and reading names, command lines and limits of other processes. Everything appears at its own
path (`path_transparent` is false).

A ruleset can be made for any version of Landlock. It isolates only from version `level.LEAST_LANDLOCK` on.
"""

import os
from collections.abc import Iterator
from typing import Any

from donewhen.records import frozen
from donewhen.workspace.sandbox import machine

EXECUTE, WRITE_FILE, READ_FILE, READ_DIR = 1 << 0, 1 << 1, 1 << 2, 1 << 3
FIRST_ABI = (1 << 13) - 1
REFER, TRUNCATE, IOCTL_DEV = 1 << 13, 1 << 14, 1 << 15
BIND_TCP, CONNECT_TCP = 1 << 0, 1 << 1
SCOPE_ABSTRACT, SCOPE_SIGNAL = 1 << 0, 1 << 1
FOR_FILES = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE | IOCTL_DEV
DEVICE_NODES = 1 << 6 | 1 << 11
"""The rights to create a character or a block device."""
READ = EXECUTE | READ_FILE | READ_DIR

SYSTEM = (
    "/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/opt", "/etc", "/nix", "/proc",
    "/sys/devices/system",
)  # fmt: skip
DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom")


@frozen(kw_only=True)
class Allowed:
    """What a command may access besides the machine's programs."""

    network: bool
    readable: tuple[str, ...]
    writable: tuple[str, ...]
    closed: tuple[str, ...]
    """Paths that must not be read although they are inside readable ones."""


def ruleset(abi: int, allowed: Allowed) -> dict[str, Any]:
    """Return what the launcher needs to restrict a process, for a kernel with this Landlock version."""
    handled = FIRST_ABI | (REFER if abi >= 2 else 0) | (TRUNCATE if abi >= 3 else 0) | (IOCTL_DEV if abi >= 5 else 0)
    rules = [rule for path in (*SYSTEM, *allowed.readable) for rule in _reading(path, allowed.closed)]
    rules += [(path, handled & (READ_FILE | WRITE_FILE | TRUNCATE)) for path in DEVICES]
    rules += [(path, handled & ~DEVICE_NODES) for path in allowed.writable]
    # The kernel refuses directory rights on a file.
    fitting = [(path, rights if os.path.isdir(path) else rights & FOR_FILES) for path, rights in rules]
    return {
        "fs": handled,
        "net": BIND_TCP | CONNECT_TCP if abi >= 4 and not allowed.network else 0,
        "scoped": SCOPE_ABSTRACT | SCOPE_SIGNAL if abi >= 6 else 0,
        "no_capabilities": True,
        "rules": [(path, rights & handled) for path, rights in fitting if os.path.exists(path)],
    }


def scopes(abi: int) -> dict[str, Any] | None:
    """Return only the scopes, for use with bubblewrap: no abstract sockets, no signals out; mounting stays possible."""
    if abi < 6:
        return None
    return {"fs": 0, "net": 0, "scoped": SCOPE_ABSTRACT | SCOPE_SIGNAL, "no_capabilities": False, "rules": []}


def _reading(path: str, closed: tuple[str, ...]) -> Iterator[tuple[str, int]]:
    """Yield read rules. A rule cannot exclude a file, so a directory with closed paths is opened entry by entry."""
    if path in closed or not os.path.exists(path):
        return
    if not any(machine.beneath(place, [path]) for place in closed):
        yield path, READ
        return
    yield path, READ_DIR
    for entry in os.scandir(path):
        if not entry.is_symlink():  # its target has a separate rule, or must not be read
            yield from _reading(entry.path, closed)
