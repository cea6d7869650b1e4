"""Attacks on kernel interfaces that namespaces do not cover: sockets, inherited descriptors, rare calls and
settings."""

from attack import CHANGED, HEARD, READ, Attack, connect, granted, open_for_writing, py, read, say, write_back

ABSTRACT = py('socket.socket(socket.AF_UNIX).connect("\\0" + env["ABSTRACT"])')
TYPED = """
import pty
pid, fd = pty.fork()
if pid == 0: os._exit(7 if libc.syscall(ctypes.c_long(NR["ioctl"]), 0, ctypes.c_ulong({request}), b"x") == 0 else 1)
say(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 7)
"""
C_SOURCE = """
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <sys/syscall.h>
int main(int count, char **words) {
    long got = -1;
#ifdef __x86_64__
    if (words[1][0] == 'i') __asm__ volatile("int $0x80" : "=a"(got) : "a"(20L) : "memory", "r8", "r9", "r10", "r11");
    else got = syscall(0x40000000 + 39);
#endif
    if (got > 0) puts(getenv("TOKEN"));
    return 0;
}
"""
"""Ask for its own process id through another system call table. Compiled to `./calls` before the attacks."""

SOCKETS = [
    Attack("A54", "a service's socket under /run", connect("SOCK_RUN"), HEARD),
    Attack("A54", "a service's socket in a public place", connect("SOCK_WORLD"), HEARD),
    Attack("A54", "one that was bound by a relative name", connect("SOCK_RELATIVE"), HEARD),
    Attack("A54", "one that was renamed after it was bound", connect("SOCK_RENAMED"), HEARD),
    Attack("A54", "one that is newer than the room", connect("SOCK_LATE"), HEARD),
    Attack("A54", "one in a toolchain's directory", connect("SOCK_TOOLCHAIN"), HEARD),
    Attack("A54", "one in a public place, with the network", connect("SOCK_RELATIVE"), HEARD, network=True),
    Attack("A55", "an agent's socket in the home", connect("SOCK_HOME"), HEARD),
    Attack("A55", "a display's socket in /tmp", connect("SOCK_TMP"), HEARD),
    Attack("A56", "an abstract socket", ABSTRACT, HEARD),
    Attack("A56", "an abstract socket, with the network", ABSTRACT, HEARD, network=True),
    Attack(
        "A57",
        "every inherited descriptor written",
        py("""
            for fd in range(3, 1024):
                try: os.write(fd, b"x")
                except OSError: pass
        """),
        CHANGED,
    ),
    Attack("A57", "standard input written", py('os.write(0, b"x")'), CHANGED),
    Attack("A57", "standard input opened again", "echo x > /proc/self/fd/0", CHANGED),
]

CALLS = [
    Attack("A53", "io_uring", granted('call("io_uring_setup", 4, ctypes.create_string_buffer(256))')),
    Attack("A58", "a key typed into a terminal", py(TYPED.format(request="0x5412"))),
    Attack("A58", "the same, asked for in 64 bits", py(TYPED.format(request="0xFFFFFFFF00005412"))),
    Attack("A58", "the terminal of the harness", granted('os.open("/dev/tty", os.O_RDWR)')),
    Attack(
        "A59",
        "a program that runs as its owner",
        'is=$("$WORLD/owners-id" -u) && [ "$is" != "$(id -u)" ] && echo "$TOKEN"',
    ),
    Attack("A64", "the calls of 32 bits", "./calls int80"),
    Attack("A64", "the calls of x32", "./calls x32"),
    Attack(
        "A65",
        "shared memory by its key",
        py("""
            libc.shmat.restype = ctypes.c_void_p
            number = libc.shmget(int(env["SHM_KEY"]), 4096, 0)
            if number >= 0: print(ctypes.string_at(libc.shmat(number, None, 0)))
        """),
        READ,
    ),
    Attack("A65", "shared memory by its name", read("/dev/shm/$MARK-outside"), READ),
    Attack("A65", "a file left in shared memory", 'echo x > "/dev/shm/$MARK"', CHANGED),
    Attack(
        "A65",
        "a message queue by its name",
        py("""
            queue = libc.mq_open(b"/" + env["MARK"].encode(), os.O_RDONLY | os.O_NONBLOCK)
            message = ctypes.create_string_buffer(8192)
            if queue >= 0: libc.mq_receive(queue, message, 8192, None)
            print(message.value)
        """),
        READ,
    ),
    Attack("A65", "a key in a keyring", granted('call("add_key", b"user", b"x", b"x", 1, -2)')),
    Attack("A65", "the keyring of the session", granted('call("keyctl", 0, -3, 0)')),
    Attack("E3", "a BPF map", granted('call("bpf", 0, struct.pack("IIII", 2, 4, 4, 1) + bytes(64), 80)')),
    Attack(
        "E3",
        "performance counters",
        granted(
            'call("perf_event_open", struct.pack("IIQ", 1, 112, 0) + bytes(24) + b"\\x60" + bytes(71), 0, -1, -1, 0)'
        ),
    ),
    Attack("E3", "page faults handled by itself", granted('call("userfaultfd", os.O_CLOEXEC | 1)')),
    Attack("E3", "all accesses to files watched", granted('call("fanotify_init", 0, 0)')),
    Attack("E3", "the clock set", py("time.clock_settime(time.CLOCK_REALTIME, time.time())\nsay()")),
    Attack("E3", "the machine's name set", py("socket.sethostname(socket.gethostname())\nsay()")),
    Attack("E3", "a real-time priority", py("os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))\nsay()")),
    Attack("E3", "a higher priority", py("os.setpriority(os.PRIO_PROCESS, 0, -5)\nsay()")),
]

SETTINGS = [
    Attack("E4", "where the kernel sends cores", write_back("/proc/sys/kernel/core_pattern")),
    Attack("E4", "a setting of the kernel", write_back("/proc/sys/vm/swappiness")),
    Attack("E4", "the magic key", open_for_writing("/proc/sysrq-trigger")),
    Attack("E4", "where interrupts go", open_for_writing("/proc/irq/default_smp_affinity")),
    Attack(
        "E4",
        "the kernel's own files",
        open_for_writing(
            "/sys/kernel/mm/ksm/run", "/sys/kernel/uevent_helper", "/sys/kernel/mm/transparent_hugepage/enabled"
        ),
    ),
    Attack(
        "E4", "a new control group", 'for d in /sys/fs/cgroup /sys/fs/cgroup/pids; do mkdir "$d/$MARK"; done', CHANGED
    ),
    Attack("E4", "the kernel's memory", say('len(os.read(os.open("/proc/kcore", 0), 1))')),
]

ON_KERNEL = [*SOCKETS, *CALLS, *SETTINGS]
