"""Attacks on other processes and on the namespaces of a command, by outliving or outnumbering them."""

from attack import CHANGED, HURT, LEFT, READ, Attack, granted, py, read
from outside import PAUSE

STACK = """
pid = int(env["VICTIM"])
line = next(line for line in open(f"/proc/{pid}/maps") if "[stack]" in line)
start, end = (int(number, 16) for number in line.split()[0].split("-"))
"""
DAEMON = f"/usr/bin/python3 -c '{PAUSE}' $MARK"
UNTIL_IT_IS_UP = 'n=0; until [ -d "$MARK" ] || [ $((n += 1)) -gt 300000 ]; do :; done'

OTHERS = [
    Attack("A48", "a process outside killed", 'kill -9 "$VICTIM"', HURT),
    Attack("A48", "a process outside stopped", 'kill -STOP "$VICTIM"', HURT),
    Attack("A48", "everything killed", "kill -9 -1", HURT, caged=True),
    Attack(
        "A48",
        "a process outside killed through a descriptor",
        py('signal.pidfd_send_signal(os.pidfd_open(int(env["VICTIM"])), 9)'),
        HURT,
    ),
    Attack(
        "A48",
        "every process number tried",
        "p=2; while [ $p -lt 9999 ]; do [ $p = $$ ] || kill -9 $p; p=$((p + 1)); done 2>/dev/null",
        HURT,
        caged=True,
    ),
    Attack("A49", "a process outside traced", py('say(libc.ptrace(16, int(env["VICTIM"]), None, None) == 0)')),
    Attack(
        "A49",
        "the memory of a process outside read",
        py(STACK)
        + """
buffer = ctypes.create_string_buffer(end - start)
vectors = [struct.pack("QQ", at, end - start) for at in (ctypes.addressof(buffer), start)]
libc.process_vm_readv(pid, vectors[0], 1, vectors[1], 1, 0)
print(buffer.raw)
""",
        READ,
    ),
    Attack(
        "A49",
        "the memory of a process outside written",
        py(STACK) + 'memory = open(f"/proc/{pid}/mem", "r+b", 0)\nmemory.seek(start)\nsay(memory.write(b"x"))',
    ),
    Attack("A50", "the environment of a process outside", read("/proc/$VICTIM/environ"), READ),
    Attack("A50", "the arguments of a process outside", read("/proc/$VICTIM/cmdline"), READ),
    Attack(
        "A50", "the environment of all processes in sight", "cat /proc/*/environ | tr '\\0' '\\n' | grep API_KEY", READ
    ),
    Attack("A50", "the arguments of all processes in sight", "cat /proc/*/cmdline", READ),
    Attack("A50", "an open file of a process outside", read("/proc/$VICTIM/fd/0"), READ),
    Attack("A50", "files through the root of a process outside", read("/proc/$VICTIM/root/$DEEP"), READ),
    Attack("A50", "files through the root of process 1", read("/proc/1/root/$DEEP"), READ),
    Attack("A50", "files through where a process outside is", 'echo x > "/proc/$VICTIM/cwd/f"', CHANGED),
]

NAMESPACES = [
    Attack("A51", "a user namespace", py("new_user_namespace()\nsay()")),
    Attack("A51", "a user namespace by unshare(1)", 'unshare -Ur true && echo "$TOKEN"'),
    Attack(
        "A51",
        "a user namespace by clone",
        py('pid = call("clone", 0x10000000 | 17, 0, 0, 0, 0)\nif pid == 0: os._exit(0)\nsay(pid > 0)'),
    ),
    Attack(
        "A51",
        "a user namespace by clone3",
        py("""
            arguments = struct.pack("8Q", 0x10000000, 0, 0, 0, 17, 0, 0, 0)
            pid = call("clone3", arguments, len(arguments))
            if pid == 0: os._exit(0)
            say(pid > 0)
        """),
    ),
    Attack("A51", "a mount namespace", granted("libc.unshare(0x20000)")),
    Attack(
        "A51", "a namespace of another process", granted('libc.setns(os.pidfd_open(int(env["VICTIM"])), 0x4000000)')
    ),
    Attack(
        "A52",
        "masks taken away in a namespace of its own",
        py("""
            new_user_namespace(0x20000)
            for place in env["HOME"], env["HIDDEN"], env["WORLD"], "/": libc.umount2(place.encode(), 2)
            print(open(env["HIDDEN"] + "/other-session/file").read())
        """),
        READ,
    ),
    Attack(
        "A52",
        "a new root, the old one written through a kept descriptor",
        py("""
            root = os.open("/", os.O_PATH)
            new_user_namespace(0x20000)
            libc.mount(b"tmpfs", b"/mnt", b"tmpfs", 0, None)
            os.mkdir("/mnt/old")
            call("pivot_root", b"/mnt", b"/mnt/old")
            libc.umount2(b"/old", 2)
            os.fchdir(root)
            open("." + env["OUT"] + "/f", "w").write("x")
        """),
        CHANGED,
    ),
    Attack("A52", "the machine made writable again", 'mount -o remount,rw,bind / && echo "$TOKEN"'),
    Attack("A52", "something mounted over the tree", 'mount -t tmpfs none dir && echo "$TOKEN" && umount dir'),
    Attack("A52", "a mount by the new calls", granted('call("fsopen", b"tmpfs", 0)')),
    Attack("A52", "a copy of the mounts", granted('call("open_tree", -100, b"/", 1)')),
    Attack("A52", "a root of its own", granted('libc.chroot(b".")')),
]

LASTING = [
    Attack("A60", "a daemon in a session of its own", f"setsid {DAEMON} >/dev/null 2>&1 & {UNTIL_IT_IS_UP}", LEFT),
    Attack("A60", "a daemon that holds the output open", f"setsid {DAEMON} & {UNTIL_IT_IS_UP}", LEFT),
    Attack("A60", "a daemon forked twice", f"(setsid nohup {DAEMON} >/dev/null 2>&1 & ) & {UNTIL_IT_IS_UP}", LEFT),
    Attack(
        "A60",
        "a terminal multiplexer's server",
        f'tmux -S ./s -f /dev/null new-session -d "exec {DAEMON}"; {UNTIL_IT_IS_UP}',
        LEFT,
    ),
    Attack(
        "A61",
        "a chain of forks that outruns the killer",
        py(f"""
            end = time.monotonic() + 2
            if os.fork():
                while not os.path.isdir(env["MARK"]) and time.monotonic() < end: pass
                os._exit(0)
            os.setsid()
            os.closerange(0, 3)
            if os.fork() == 0: os.execv("/usr/bin/python3", ["python3", "-c", {PAUSE!r}, env["MARK"]])
            while time.monotonic() < end:
                if os.fork(): os._exit(0)
        """),
        LEFT,
    ),
    Attack(
        "A62",
        "more processes than the limit",
        py("""
            children = [os.fork() or signal.pause() for n in range(160)]
            select.select([], [], [], 0.4)
            say()
            for pid in children: os.kill(pid, 9)
        """),
    ),
    Attack(
        "A63",
        "more memory than the limit",
        py("hog = bytearray(320 << 20)\nselect.select([], [], [], 0.4)\nsay(len(hog))"),
    ),
]

ON_PROCESSES = [*OTHERS, *NAMESPACES, *LASTING]
