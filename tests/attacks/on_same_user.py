"""Attacks by one process on other processes and files of the same user.

A command without a pid namespace sees these processes, and the kernel lets a user change them.
"""

from attack import CHANGED, HEARD, HURT, READ, Attack, py, read

NUMBERS = """
X86 = dict(tkill=200, tgkill=234, rt_sigqueueinfo=129, rt_tgsigqueueinfo=297, ioprio_get=252, migrate_pages=256,
    move_pages=279, kcmp=312, get_robust_list=274, timer_create=222, truncate=76)
ARM = dict(tkill=130, tgkill=131, rt_sigqueueinfo=138, rt_tgsigqueueinfo=240, ioprio_get=31, migrate_pages=238,
    move_pages=239, kcmp=272, get_robust_list=100, timer_create=107, truncate=45)
NR.update(X86 if machine == "x86_64" else ARM, pidfd_getfd=438, process_madvise=440, openat2=437)
pid = int(env["VICTIM"])
info = struct.pack("iiiii", 19, 0, -1, os.getpid(), os.getuid()) + bytes(108)
"""


def on_victim(program: str) -> str:
    """A program that knows the victim as `pid`, more system call numbers, and `info` for a queued SIGSTOP."""
    return py(NUMBERS) + py(program).removeprefix("#py\n")


def by_owner(request: str) -> str:
    """A socket that signals the victim about new input."""
    return on_victim(
        f"""
            here, there = socket.socketpair()
            {request}
            fcntl.fcntl(here, fcntl.F_SETFL, os.O_ASYNC | os.O_NONBLOCK)
            there.send(b"x")
        """
    )


SIGNALS = [
    Attack("A48", "a process group outside killed", on_victim("os.killpg(pid, 9)"), HURT),
    Attack("A48", "a thread outside stopped by tkill", on_victim('call("tkill", pid, 19)'), HURT),
    Attack("A48", "a thread outside stopped by tgkill", on_victim('call("tgkill", pid, pid, 19)'), HURT),
    Attack("A48", "a signal queued to a process outside", on_victim('call("rt_sigqueueinfo", pid, 19, info)'), HURT),
    Attack(
        "A48", "a signal queued to a thread outside", on_victim('call("rt_tgsigqueueinfo", pid, pid, 19, info)'), HURT
    ),
    Attack("A48", "a socket owned by a process outside", by_owner("fcntl.fcntl(here, fcntl.F_SETOWN, pid)"), HURT),
    Attack(
        "A48",
        "a socket owned by a process outside, with another signal",
        by_owner("fcntl.fcntl(here, fcntl.F_SETOWN, pid); fcntl.fcntl(here, 10, 9)"),
        HURT,
    ),
    Attack(
        "A48",
        "a socket owned by a thread outside",
        by_owner('fcntl.fcntl(here, 15, struct.pack("ii", 0, pid))'),
        HURT,
    ),
    Attack("A48", "FIOSETOWN", by_owner('fcntl.ioctl(here, 0x8901, struct.pack("i", pid))'), HURT),
    Attack("A48", "SIOCSPGRP", by_owner('fcntl.ioctl(here, 0x8902, struct.pack("i", pid))'), HURT),
    Attack(
        "A48",
        "a timer that signals a thread outside",
        on_victim(
            """
            event = struct.pack("QiiI", 0, 19, 4, pid) + bytes(44)
            say(call("timer_create", 1, event, ctypes.byref(ctypes.c_int())) == 0)
            """
        ),
    ),
]

SETTINGS = [
    Attack(
        "A49",
        "the limits of a process outside lowered",
        on_victim('call("prlimit64", pid, 7, struct.pack("QQ", 3, 3), 0)'),
        HURT,
    ),
    Attack(
        "A49",
        "the limits of a process outside read",
        on_victim('say(call("prlimit64", pid, 7, 0, ctypes.create_string_buffer(16)) == 0)'),
    ),
    Attack("A49", "a lower priority for a process outside", on_victim("os.setpriority(os.PRIO_PROCESS, pid, 9)"), HURT),
    Attack(
        "A49",
        "a lower priority for a process group outside",
        on_victim("os.setpriority(os.PRIO_PGRP, pid, 9)"),
        HURT,
    ),
    Attack(
        "A49",
        "a lower priority for all processes of the user",
        on_victim("os.setpriority(os.PRIO_USER, 0, os.getpriority(os.PRIO_PROCESS, pid) + 1)"),
        HURT,
        caged=True,
    ),
    Attack("A49", "one processor for a process outside", on_victim("os.sched_setaffinity(pid, {0})"), HURT),
    Attack(
        "A49",
        "idle time only for a process outside",
        on_victim("os.sched_setscheduler(pid, os.SCHED_IDLE, os.sched_param(0))"),
        HURT,
    ),
    Attack(
        "A49",
        "scheduling attributes of a process outside",
        on_victim('call("sched_setattr", pid, struct.pack("IIQiIQQQ", 48, 5, 0, 0, 0, 0, 0, 0), 0)'),
        HURT,
    ),
    Attack("A49", "idle disk time for a process outside", on_victim('call("ioprio_set", 1, pid, 3 << 13)'), HURT),
    Attack(
        "A49",
        "disk priority of all processes of the user",
        on_victim('call("ioprio_set", 3, os.getuid(), 2 << 13 | (call("ioprio_get", 1, pid) + 1) % 7)'),
        HURT,
        caged=True,
    ),
    Attack(
        "A49",
        "the memory of a process outside moved",
        on_victim('say(call("migrate_pages", pid, 64, struct.pack("Q", 1), struct.pack("Q", 1)) >= 0)'),
    ),
    Attack(
        "A49",
        "the pages of a process outside looked up",
        on_victim('say(call("move_pages", pid, 0, 0, 0, 0, 0) == 0)'),
    ),
    Attack(
        "A49",
        "a file descriptor of a process outside taken",
        on_victim('print(os.read(call("pidfd_getfd", os.pidfd_open(pid), 0, 0), 99))'),
        READ,
    ),
    Attack(
        "A49", "a comparison with a process outside", on_victim('say(call("kcmp", pid, os.getpid(), 1, 0, 0) >= 0)')
    ),
    Attack(
        "A49",
        "the locks of a process outside",
        on_victim('say(call("get_robust_list", pid, bytes(8), bytes(8)) == 0)'),
    ),
    Attack(
        "A49",
        "advice on the memory of a process outside",
        on_victim('say(call("process_madvise", os.pidfd_open(pid), struct.pack("QQ", 0, 0), 1, 20, 0) >= 0)'),
    ),
    Attack(
        "A49",
        "the counters of a process outside",
        on_victim(
            """
            event = struct.pack("IIQ", 1, 112, 0) + bytes(24) + b"\\x60" + bytes(71)
            say(call("perf_event_open", event, pid, -1, -1, 0) >= 0)
            """
        ),
    ),
    Attack("A50", "the first victim for a lack of memory", 'echo 900 > "/proc/$VICTIM/oom_score_adj"', HURT),
    Attack("A50", "what a process outside dumps", 'echo 1 > "/proc/$VICTIM/coredump_filter" && echo "$TOKEN"'),
    Attack("A50", "the limits of a process outside in /proc", 'grep -q files "/proc/$VICTIM/limits" && echo "$TOKEN"'),
    Attack("A50", "the memory map of a process outside", 'head -1 "/proc/$VICTIM/maps" | grep -q . && echo "$TOKEN"'),
]

EMPTYING = [
    Attack(
        "A1",
        "a file outside emptied by its path",
        on_victim('call("truncate", env["OUT"].encode() + b"/f", 0)'),
        CHANGED,
    ),
    Attack("A1", "a tool emptied by its path", on_victim('call("truncate", env["TOOL"].encode(), 0)'), CHANGED),
    Attack("A1", "a tool emptied by opening it to read", py('os.open(env["TOOL"], os.O_RDONLY | os.O_TRUNC)'), CHANGED),
    Attack("A1", "a tool emptied by opening it for nothing", py('os.open(env["TOOL"], 3 | os.O_TRUNC)'), CHANGED),
    Attack(
        "A1",
        "a file outside emptied by opening it for nothing",
        py('os.open(env["OUT"] + "/f", 3 | os.O_TRUNC)'),
        CHANGED,
    ),
    Attack(
        "A1",
        "a tool emptied by openat2",
        on_victim('call("openat2", -100, env["TOOL"].encode(), struct.pack("QQQ", os.O_TRUNC, 0, 0), 24)'),
        CHANGED,
    ),
    Attack("A12", "a flag of a tool", 'chattr +d "$TOOL" && echo "$TOKEN"'),
    Attack("A12", "chmod of a private file", 'chmod 644 "$HOME/.netrc"', CHANGED),
    Attack(
        "A12",
        "who else may read a private file",
        on_victim(
            """
            entries = [(1, 6, -1), (2, 4, 65534), (4, 0, -1), (16, 4, -1), (32, 0, -1)]
            acl = struct.pack("I", 2) + b"".join(struct.pack("=HHi", *entry) for entry in entries)
            os.setxattr(env["HOME"] + "/.netrc", "system.posix_acl_access", acl)
            """
        ),
        CHANGED,
    ),
]

BY_DATAGRAM = """
here, there = socket.socketpair(socket.AF_UNIX, {kind})
here.sendto(b"x", {address})
"""

MESSAGES = [
    Attack(
        "A54",
        "a datagram from one of a pair of sockets",
        py(BY_DATAGRAM.format(kind="socket.SOCK_DGRAM", address='env["SOCK_DATAGRAM"]')),
        HEARD,
    ),
    Attack(
        "A54",
        "the same, asked for as raw",
        py(BY_DATAGRAM.format(kind="socket.SOCK_RAW", address='env["SOCK_DATAGRAM"]')),
        HEARD,
    ),
    Attack(
        "A56",
        "an abstract datagram from one of a pair of sockets",
        py(BY_DATAGRAM.format(kind="socket.SOCK_DGRAM", address='"\\0" + env["ABSTRACT"] + "-d"')),
        HEARD,
    ),
    Attack(
        "A65",
        "a message of a queue by its number",
        on_victim(
            """
            message = ctypes.create_string_buffer(8192)
            call("msgrcv", int(env["MSG_ID"]), message, 8000, 0, 0o4000)
            print(message.raw[8:])
            """
        ),
        READ,
    ),
    Attack("A65", "a queue removed by its number", on_victim('say(call("msgctl", int(env["MSG_ID"]), 0, 0) == 0)')),
    Attack(
        "A65", "shared memory removed by its number", on_victim('say(call("shmctl", int(env["SHM_ID"]), 0, 0) == 0)')
    ),
    Attack("A65", "a queue removed by its name", on_victim('say(call("mq_unlink", env["MARK"].encode()) == 0)')),
    Attack("A65", "the numbers of queues", read("/proc/sysvipc/msg") + ' | grep -q "$MSG_ID" && echo "$TOKEN"'),
]

ON_SAME_USER = [*SIGNALS, *SETTINGS, *EMPTYING, *MESSAGES]
