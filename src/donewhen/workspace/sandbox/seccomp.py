"""The system-call filter as a BPF program: blocks what namespaces leave open. Pure: returns bytes, loads nothing.

A deny-list on purpose: the sandbox runs other people's compilers, test runners and servers, and they may use any
ordinary call. Denied are calls to kernel features that no build needs (new namespaces, mounts, io_uring, keyrings, bpf,
perf, module loading), calls of another architecture's table, and socket families other than local and internet ones,
whichever call requests them. A denied call fails with EPERM, or with ENOSYS where programs can do without it.

A command that shares the machine's namespaces gets a stricter filter. It also denies access to other processes, message
queues, shared memory and file attributes of the same user, and every call that is newer than this table. Calls that
name a process by its number are passed to the launcher, which allows those on the command's own processes
(`launcher.process_calls`).
"""

import errno
import struct
from typing import Literal

from donewhen.records import frozen
from donewhen.workspace.process.launcher.observer import (
    AT_EMPTY_PATH,
    CHANGE_DIRECTORY,
    CREATE,
    EXECUTE,
    EXIT,
    LOOK,
    OBSERVED,
    OPEN,
    OPEN_HOW,
)

# struct seccomp_data: nr, arch, instruction pointer (8), six arguments of 8 bytes each
NR, ARCH = 0, 4
ARG_LOW = [16 + 8 * n for n in range(6)]

LOAD, JEQ, JGE, JSET, AND, RETURN = 0x20, 0x15, 0x35, 0x45, 0x54, 0x06
ALLOW = 0x7FFF0000
NOTIFY = 0x7FC00000
FAIL = 0x00050000

NAMESPACE_FLAGS = 0x7E020080
"""CLONE_NEW{TIME,NS,CGROUP,UTS,IPC,USER,PID,NET}: every one of them."""
X32_BIT = 0x40000000
TIOCSTI, TIOCLINUX = 0x5412, 0x541C
FILE_FLAGS = (0x40086602, 0x40046602, 0x401C5820, 0x40087602, 0x40806685, 0x800C6613, 0x40086604, 0x40046604)
"""FS_IOC_{SETFLAGS, 32_SETFLAGS, FSSETXATTR, SETVERSION, ENABLE_VERITY, SET_ENCRYPTION_POLICY},
EXT4_IOC_{SETVERSION, 32_SETVERSION}.

The owner may use them through a descriptor that is open for reading only.
"""
SUBVOLUMES = (0x5000940E, 0x50009418, 0x50009401, 0x50009417, 0x5000940F, 0x5000943F, 0x4008941A)
"""BTRFS_IOC_{SUBVOL_CREATE, SUBVOL_CREATE_V2, SNAP_CREATE, SNAP_CREATE_V2, SNAP_DESTROY, SNAP_DESTROY_V2,
SUBVOL_SETFLAGS}.

They make and remove directories through a descriptor that is open for reading only. Landlock has no rule for them.
"""
AF_UNIX, AF_INET, AF_INET6, AF_NETLINK = 1, 2, 10, 16
SOCK_STREAM, SOCK_SEQPACKET, SOCK_TYPE_MASK = 1, 5, 0xF
FIRST_UNKNOWN_CALL = 470
"""Numbers from here on belong to calls that were not reviewed yet. They are the same on every architecture."""


@frozen
class SyscallTable:
    """One architecture: its audit id and the numbers of the calls that the filter uses."""

    arch: int
    numbers: dict[str, int]


X86_64 = SyscallTable(
    0xC000003E,
    {
        "clone": 56, "ioctl": 16, "socket": 41, "socketpair": 53, "shmget": 29, "shmat": 30, "semget": 64,
        "msgget": 68, "mq_open": 240, "syslog": 103, "uselib": 134, "pivot_root": 155, "acct": 163, "mount": 165,
        "umount2": 166, "swapon": 167, "swapoff": 168, "reboot": 169, "sethostname": 170,
        "setdomainname": 171, "iopl": 172, "ioperm": 173, "init_module": 175, "delete_module": 176, "quotactl": 179,
        "lookup_dcookie": 212, "kexec_load": 246, "add_key": 248, "request_key": 249, "keyctl": 250, "unshare": 272,
        "perf_event_open": 298, "fanotify_init": 300, "open_by_handle_at": 304, "clock_adjtime": 305, "setns": 308,
        "finit_module": 313, "kexec_file_load": 320, "bpf": 321, "userfaultfd": 323, "io_uring_setup": 425,
        "io_uring_enter": 426, "io_uring_register": 427, "open_tree": 428, "move_mount": 429, "fsopen": 430,
        "fsconfig": 431, "fsmount": 432, "fspick": 433, "clone3": 435, "mount_setattr": 442, "quotactl_fd": 443,
        "settimeofday": 164, "clock_settime": 227, "adjtimex": 159, "chroot": 161, "open_tree_attr": 467,
        "shmctl": 31, "semctl": 66, "semop": 65, "semtimedop": 220, "msgctl": 71, "msgsnd": 69, "msgrcv": 70,
        "mq_unlink": 241, "setxattr": 188, "lsetxattr": 189, "fsetxattr": 190, "removexattr": 197,
        "lremovexattr": 198, "fremovexattr": 199, "setxattrat": 463, "removexattrat": 466, "file_setattr": 469,
        "prlimit64": 302, "sched_setparam": 142, "sched_setscheduler": 144, "sched_setaffinity": 203,
        "sched_setattr": 314, "setpriority": 141, "ioprio_set": 251,
    },
)  # fmt: skip

AARCH64 = SyscallTable(
    0xC00000B7,
    {
        "clone": 220, "ioctl": 29, "socket": 198, "socketpair": 199, "shmget": 194, "shmat": 196, "semget": 190,
        "msgget": 186, "mq_open": 180, "syslog": 116, "pivot_root": 41, "acct": 89, "mount": 40,
        "umount2": 39, "swapon": 224, "swapoff": 225, "reboot": 142, "sethostname": 161, "setdomainname": 162,
        "init_module": 105, "delete_module": 106, "quotactl": 60, "lookup_dcookie": 18, "kexec_load": 104,
        "add_key": 217, "request_key": 218, "keyctl": 219, "unshare": 97, "perf_event_open": 241,
        "fanotify_init": 262, "open_by_handle_at": 265, "clock_adjtime": 266, "setns": 268, "finit_module": 273,
        "kexec_file_load": 294, "bpf": 280, "userfaultfd": 282, "io_uring_setup": 425, "io_uring_enter": 426,
        "io_uring_register": 427, "open_tree": 428, "move_mount": 429, "fsopen": 430, "fsconfig": 431,
        "fsmount": 432, "fspick": 433, "clone3": 435, "mount_setattr": 442, "quotactl_fd": 443, "settimeofday": 170,
        "clock_settime": 112, "adjtimex": 171, "chroot": 51, "open_tree_attr": 467, "shmctl": 195, "semctl": 191,
        "semop": 193, "semtimedop": 192, "msgctl": 187, "msgsnd": 189, "msgrcv": 188, "mq_unlink": 181, "setxattr": 5,
        "lsetxattr": 6, "fsetxattr": 7, "removexattr": 14, "lremovexattr": 15, "fremovexattr": 16, "setxattrat": 463,
        "removexattrat": 466, "file_setattr": 469, "prlimit64": 261, "sched_setparam": 118,
        "sched_setscheduler": 119, "sched_setaffinity": 122, "sched_setattr": 274, "setpriority": 140,
        "ioprio_set": 30,
    },
)  # fmt: skip

TABLES = {"x86_64": X86_64, "aarch64": AARCH64}
BY_ARGUMENT = {"clone", "ioctl", "socket", "socketpair"}
SHARED_MEMORY = {
    "shmget", "shmat", "shmctl", "semget", "semctl", "semop", "semtimedop", "msgget", "msgctl", "msgsnd", "msgrcv",
    "mq_open", "mq_unlink",
}  # fmt: skip
"""Objects named by number or name and not by path: denied where the command has no such namespace of its own."""
ATTRIBUTES = {
    "setxattr", "lsetxattr", "fsetxattr", "removexattr", "lremovexattr", "fremovexattr", "setxattrat",
    "removexattrat", "file_setattr",
}  # fmt: skip
"""Landlock lets a file's owner change these, access lists included. Programs know file systems without them."""
BY_PROCESS = {"prlimit64", "sched_setparam", "sched_setscheduler", "sched_setaffinity", "sched_setattr"}
"""The first argument is a process id; 0 is the caller."""
BY_KIND = {"setpriority": (0, 1), "ioprio_set": (1, 2)}
"""The first argument says whether the second is a process or a process group. Any other value means a whole user."""
IN_SHARED_NAMESPACES = {*SHARED_MEMORY, *ATTRIBUTES, *BY_PROCESS, *BY_KIND}
ABSENT = {"clone3", "io_uring_setup", "io_uring_enter", "io_uring_register"}
"""Fail with ENOSYS: glibc and node then use the older call."""

ObservedCalls = Literal["executions", "opens", "lookups"]
"""Which calls an observer sees: programs that start and end; also opened files; also paths that are looked up."""
OBSERVED_KINDS: dict[ObservedCalls, frozenset[int]] = {
    "executions": frozenset((EXECUTE, EXIT)),
    "opens": frozenset((EXECUTE, EXIT, CHANGE_DIRECTORY, OPEN, OPEN_HOW, CREATE)),
    "lookups": frozenset((EXECUTE, EXIT, CHANGE_DIRECTORY, OPEN, OPEN_HOW, CREATE, LOOK)),
}
EMPTY_PATH_FLAGS = {"newfstatat": 3, "statx": 2}
"""Call → the argument with its flags, one of which says that there may be no path."""

LOCAL_FAMILIES = (AF_UNIX, AF_INET, AF_INET6, AF_NETLINK)


def program(machine: str, families: tuple[int, ...] = LOCAL_FAMILIES, own_namespaces: bool = True) -> bytes:
    """Return the filter for one architecture; empty if there is no table for it."""
    table = TABLES.get(machine)
    if table is None:
        return b""
    code = [_load(ARCH), _instruction(JEQ, 1, 0, table.arch), _fail(errno.ENOSYS), _load(NR)]
    if machine == "x86_64":
        code += _when(JGE, X32_BIT, errno.ENOSYS)
    for name, number in sorted(table.numbers.items()):
        if name not in BY_ARGUMENT | IN_SHARED_NAMESPACES:
            code += _when(JEQ, number, errno.ENOSYS if name in ABSENT else errno.EPERM)
    code += _for_call(table.numbers["clone"], [_load(ARG_LOW[0]), *_when(JSET, NAMESPACE_FLAGS, errno.EPERM)])
    refused = dict.fromkeys((TIOCSTI, TIOCLINUX), errno.EPERM)
    pairs = [_load(ARG_LOW[0]), *_only((AF_UNIX,), errno.EAFNOSUPPORT)]
    if not own_namespaces:
        code += _shared_namespaces(table.numbers)
        refused |= dict.fromkeys((*FILE_FLAGS, *SUBVOLUMES), errno.EOPNOTSUPP)
        # A datagram socket can still be connected to any path. Landlock has no rule for that.
        kinds = _only((SOCK_STREAM, SOCK_SEQPACKET), errno.ESOCKTNOSUPPORT)
        pairs += [_load(ARG_LOW[1]), _instruction(AND, 0, 0, SOCK_TYPE_MASK), *kinds]
    requests = [line for request, failure in refused.items() for line in _when(JEQ, request, failure)]
    code += _for_call(table.numbers["ioctl"], [_load(ARG_LOW[1]), *requests])
    code += _for_call(table.numbers["socket"], [_load(ARG_LOW[0]), *_only(families, errno.EAFNOSUPPORT)])
    code += _for_call(table.numbers["socketpair"], pairs)
    return b"".join([*code, _instruction(RETURN, 0, 0, ALLOW)])


def observing(machine: str, watch: ObservedCalls) -> bytes:
    """Return a filter that hands calls over to an observer and allows all; empty if there is no table for it.

    A look-up by descriptor alone names no path, so it is not handed over.
    """
    calls, table = OBSERVED.get(machine, {}), TABLES.get(machine)
    if table is None:
        return b""
    code = [_load(ARCH), _instruction(JEQ, 1, 0, table.arch), _instruction(RETURN, 0, 0, ALLOW), _load(NR)]
    for name, (number, kind, _, _) in calls.items():
        if kind in OBSERVED_KINDS[watch] and name not in EMPTY_PATH_FLAGS:
            code += [_instruction(JEQ, 0, 1, number), _instruction(RETURN, 0, 0, NOTIFY)]
    for name, argument in EMPTY_PATH_FLAGS.items():
        if calls[name][1] in OBSERVED_KINDS[watch]:
            by_path = [_load(ARG_LOW[argument]), _instruction(JSET, 1, 0, AT_EMPTY_PATH)]
            code += _for_call(calls[name][0], [*by_path, _instruction(RETURN, 0, 0, NOTIFY)])
    return b"".join([*code, _instruction(RETURN, 0, 0, ALLOW)])


def _shared_namespaces(numbers: dict[str, int]) -> list[bytes]:
    """Return the additional rules for a command that shares the machine's namespaces: calls to deny or to hand over."""
    code = _when(JGE, FIRST_UNKNOWN_CALL, errno.ENOSYS)
    code += [line for name in sorted(SHARED_MEMORY) for line in _when(JEQ, numbers[name], errno.EPERM)]
    code += [line for name in sorted(ATTRIBUTES) for line in _when(JEQ, numbers[name], errno.EOPNOTSUPP)]
    hand_over = [_instruction(JEQ, 1, 0, 0), _instruction(RETURN, 0, 0, NOTIFY)]
    for name in sorted(BY_PROCESS):
        code += _for_call(numbers[name], [_load(ARG_LOW[0]), *hand_over])
    for name, (process, group) in BY_KIND.items():
        by_kind = [_load(ARG_LOW[0]), *_only((process, group), errno.EPERM), _load(ARG_LOW[1]), *hand_over]
        code += _for_call(numbers[name], by_kind)
    return code


def _instruction(code: int, if_true: int, if_false: int, value: int) -> bytes:
    return struct.pack("=HBBI", code, if_true, if_false, value)


def _load(offset: int) -> bytes:
    return _instruction(LOAD, 0, 0, offset)


def _fail(number: int) -> bytes:
    return _instruction(RETURN, 0, 0, FAIL | number)


def _when(test: int, value: int, failure: int) -> list[bytes]:
    return [_instruction(test, 0, 1, value), _fail(failure)]


def _only(values: tuple[int, ...], failure: int) -> list[bytes]:
    """Fall through for the listed values, fail for every other one."""
    jumps = [_instruction(JEQ, len(values) - n, 0, value) for n, value in enumerate(values)]
    return [*jumps, _fail(failure)]


def _for_call(number: int, body: list[bytes]) -> list[bytes]:
    """Run `body` only for this call. The body may overwrite the accumulator, so it ends by allowing the call."""
    allow = _instruction(RETURN, 0, 0, ALLOW)
    return [_instruction(JEQ, 0, len(body) + 1, number), *body, allow]
