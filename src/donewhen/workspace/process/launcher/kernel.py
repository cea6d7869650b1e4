"""The system calls that Python 3.11 does not offer, through ctypes. Each does one thing and raises OSError on failure.

No decisions are made here. See `child` for the order in which a command's process uses them.
"""

from __future__ import annotations

import ctypes
import errno
import os
import struct

PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36
PR_SET_NO_NEW_PRIVS = 38
CAPABILITY_VERSION = 0x20080522

CLONE_NEWNS = 0x00020000
CLONE_NEWUSER = 0x10000000
CLONE_NEWNET = 0x40000000

MS_RDONLY = 0x1
MS_NOSUID = 0x2
MS_NODEV = 0x4
MS_NOEXEC = 0x8
MS_BIND = 0x1000
MS_REC = 0x4000
MS_PRIVATE = 0x40000
MS_SHARED = 0x100000

SYS_SECCOMP = {"x86_64": 317, "aarch64": 277}
SECCOMP_SET_MODE_FILTER = 1
SECCOMP_LISTENER, SECCOMP_WAIT_KILLABLE = 1 << 3, 1 << 5
# These newer calls have the same numbers on every architecture.
SYS_LANDLOCK_CREATE_RULESET = 444
SYS_LANDLOCK_ADD_RULE = 445
SYS_LANDLOCK_RESTRICT_SELF = 446
SYS_OPEN_TREE = 428
SYS_MOVE_MOUNT = 429
SYS_MOUNT_SETATTR = 442
AT_FDCWD, AT_EMPTY_PATH, AT_RECURSIVE = -100, 0x1000, 0x8000
OPEN_TREE_CLONE, OPEN_TREE_CLOEXEC, MOVE_MOUNT_F_EMPTY_PATH = 0x1, 0o2000000, 0x4
MOVE_MOUNT_T_EMPTY_PATH = 0x40
MOUNT_ATTR_RDONLY, MOUNT_ATTR_NOSUID, MOUNT_ATTR_NODEV = 0x1, 0x2, 0x4
LANDLOCK_CREATE_RULESET_VERSION = 1
LANDLOCK_RULE_PATH_BENEATH = 1

_libc = ctypes.CDLL(None, use_errno=True)
_libc.syscall.restype = ctypes.c_long


def _checked(result: int, what: str) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")
    return result


def prctl(option: int, value: int) -> None:
    zero = ctypes.c_ulong(0)
    _checked(_libc.prctl(option, ctypes.c_ulong(value), zero, zero, zero), f"prctl {option}")


def unshare(flags: int) -> None:
    _checked(_libc.unshare(flags), "unshare")


def enter_mounts(namespace: int) -> None:
    """Move this process into the mount namespace of this descriptor, at its root directory."""
    _checked(_libc.setns(namespace, CLONE_NEWNS), "setns")


def read_as(number: int) -> None:
    """Access files with the rights of this user and group. An id that is not mapped here changes nothing."""
    _libc.setfsgid(number)
    _libc.setfsuid(number)


def drop_capabilities() -> None:
    """Drop all capabilities: root keeps only its ownership of files. Permanent once PR_SET_NO_NEW_PRIVS is set."""
    header, none = struct.pack("Ii", CAPABILITY_VERSION, 0), bytes(24)
    _checked(_libc.capset(header, none), "capset")


def mount(source: bytes, target: bytes, kind: bytes, flags: int = 0, options: bytes = b"") -> None:
    result = _libc.mount(source, target, kind, ctypes.c_ulong(flags), options or None)
    what = source if kind == b"none" else kind
    _checked(result, f"mount {what.decode('utf-8', 'replace')} on {target.decode('utf-8', 'replace')}")


def copy_mounts(source: bytes) -> int:
    """Return a detached copy of the mounts at a path and below it, as a descriptor for `attach_mounts`."""
    flags = ctypes.c_uint(OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE)
    result = _libc.syscall(SYS_OPEN_TREE, AT_FDCWD, source, flags)
    return _checked(result, f"mounts of {source.decode('utf-8', 'replace')}")


def attach_mounts(copied: int, target: bytes | int) -> None:
    """Attach copied mounts at a path or at the directory or file of a descriptor."""
    at, path = (target, b"") if isinstance(target, int) else (AT_FDCWD, target)
    flags = MOVE_MOUNT_F_EMPTY_PATH | (0 if path else MOVE_MOUNT_T_EMPTY_PATH)
    result = _libc.syscall(SYS_MOVE_MOUNT, copied, b"", at, path, ctypes.c_uint(flags))
    _checked(result, f"mount on {path.decode('utf-8', 'replace') or 'a place in the tree'}")


def make_read_only(target: bytes | int) -> None:
    """Make the mount at `target` and every mount below it read-only, without devices and set-user-id programs.

    A namespace made later cannot undo that. Here and below, an int target is a descriptor of copied mounts.
    """
    attributes = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV
    _set_mount(target, AT_RECURSIVE, struct.pack("QQQQ", attributes, 0, 0, 0))


def make_writable(target: bytes | int) -> None:
    """Make this one mount writable again. Works only in the namespace that made it read-only."""
    _set_mount(target, 0, struct.pack("QQQQ", 0, MOUNT_ATTR_RDONLY, 0, 0))


def make_device(target: bytes) -> None:
    """Make this one mount a device that can be opened and written."""
    _set_mount(target, 0, struct.pack("QQQQ", 0, MOUNT_ATTR_RDONLY | MOUNT_ATTR_NODEV, 0, 0))


def _set_mount(target: bytes | int, flags: int, attributes: bytes) -> None:
    size = ctypes.c_size_t(len(attributes))
    at, path = (target, b"") if isinstance(target, int) else (AT_FDCWD, target)
    flags |= 0 if path else AT_EMPTY_PATH
    result = _libc.syscall(SYS_MOUNT_SETATTR, at, path, ctypes.c_uint(flags), attributes, size)
    _checked(result, f"mount attributes of {path.decode('utf-8', 'replace') or 'a layer'}")


def load_seccomp(program: bytes) -> int:
    """Bind a BPF program (packed `struct sock_filter`s) to this process and everything it starts.

    Return the descriptor from which to read the calls that the program hands over. It is -1 if an outer filter already
    has such a listener: the kernel permits only one, and the calls handed over by this program fail with ENOSYS.
    """
    try:
        return load_with_listener(program)
    except OSError as error:
        if error.errno != errno.EBUSY:
            raise
    _seccomp(0, program)
    return -1


def load_with_listener(program: bytes) -> int:
    """Like `load_seccomp`, but load nothing and raise EBUSY if an outer filter already has a listener."""
    return _seccomp(SECCOMP_LISTENER | SECCOMP_WAIT_KILLABLE, program)


def _seccomp(flags: int, program: bytes) -> int:
    prctl(PR_SET_NO_NEW_PRIVS, 1)
    instructions = ctypes.create_string_buffer(program, len(program))
    fprog = ctypes.create_string_buffer(struct.pack("HxxxxxxP", len(program) // 8, ctypes.addressof(instructions)))
    number, operation = SYS_SECCOMP[machine()], ctypes.c_uint(SECCOMP_SET_MODE_FILTER)
    return _checked(_libc.syscall(number, operation, ctypes.c_uint(flags), fprog), "seccomp")


def landlock_abi() -> int:
    """Return the Landlock version of this kernel; 0 if Landlock is absent or disabled."""
    result: int = _libc.syscall(
        SYS_LANDLOCK_CREATE_RULESET,
        None,
        ctypes.c_size_t(0),
        ctypes.c_uint(LANDLOCK_CREATE_RULESET_VERSION),
    )
    return max(result, 0)


def landlock_restrict(handled_fs: int, handled_net: int, scoped: int, rules: list[tuple[int, int]]) -> None:
    """Restrict this process permanently. Each rule is an O_PATH descriptor and the rights below it."""
    attributes = struct.pack("QQQ", handled_fs, handled_net, scoped)[: _attribute_size(handled_net, scoped)]
    ruleset = _checked(
        _libc.syscall(SYS_LANDLOCK_CREATE_RULESET, attributes, ctypes.c_size_t(len(attributes)), ctypes.c_uint(0)),
        "landlock ruleset",
    )
    for descriptor, rights in rules:
        rule = struct.pack("=Qi", rights, descriptor)
        _checked(
            _libc.syscall(SYS_LANDLOCK_ADD_RULE, ruleset, LANDLOCK_RULE_PATH_BENEATH, rule, ctypes.c_uint(0)),
            "landlock rule",
        )
    prctl(PR_SET_NO_NEW_PRIVS, 1)
    _checked(_libc.syscall(SYS_LANDLOCK_RESTRICT_SELF, ruleset, ctypes.c_uint(0)), "landlock restrict")
    os.close(ruleset)


def _attribute_size(handled_net: int, scoped: int) -> int:
    """Return the size of the struct up to its last used field. Older kernels refuse a longer struct than they know."""
    if scoped:
        return 24
    return 16 if handled_net else 8


def machine() -> str:
    return os.uname().machine
