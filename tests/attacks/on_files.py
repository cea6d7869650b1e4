"""Attacks on files: writing outside the tree, filling the disk, reading private files."""

from attack import CHANGED, HEARD, READ, Attack, granted, py, read, say
from outside import HOME_SECRETS

WRITING = [
    Attack("A1", "a new file outside", 'echo x > "$OUT/new"', CHANGED),
    Attack("A1", "one more line in a file outside", 'echo x >> "$OUT/f"', CHANGED),
    Attack("A1", "a file outside emptied", ': > "$OUT/f"', CHANGED),
    Attack("A1", "a file outside deleted", 'rm -f "$OUT/f"', CHANGED),
    Attack("A1", "a directory outside deleted", 'rm -rf "$OUT/dir"', CHANGED),
    Attack("A1", "a directory outside renamed", 'mv "$OUT/dir" "$OUT/moved"', CHANGED),
    Attack("A1", "a new file in the home", 'echo x > "$HOME/$MARK"', CHANGED),
    Attack("A1", "a key in the home overwritten", 'echo x > "$HOME/.ssh/id_ed25519"', CHANGED),
    Attack("A1", "a new file in /tmp", 'echo x > "/tmp/$MARK"', CHANGED),
    Attack("A1", "a new file in /etc", 'echo x > "/etc/$MARK"', CHANGED),
    Attack("A1", "a new file in /usr/local/lib", 'echo x > "/usr/local/lib/$MARK"', CHANGED),
    Attack("A1", "another session's tree edited", 'echo x >> "$HIDDEN/other-session/file"', CHANGED),
    Attack("A2", "through a link to a file", 'ln -s "$OUT/f" l; echo x > l', CHANGED),
    Attack("A2", "through a link to a directory", 'ln -s "$OUT" d; echo x > d/new', CHANGED),
    Attack("A2", "through a link of links", 'ln -s "$OUT" a; ln -s a/dir b; echo x > b/new', CHANGED),
    Attack("A3", "through a hard link", 'ln "$OUT/f" h; echo x >> h', CHANGED),
    Attack("A3", "through a hard link to a followed link", 'ln -s "$OUT/f" s; ln -L s h; echo x >> h', CHANGED),
    Attack("A4", "a file of the tree moved out", 'echo x > mine; mv mine "$OUT/f"', CHANGED),
    Attack("A4", "copied out through /proc/self/root", 'cp -p file "/proc/self/root$OUT/new"', CHANGED),
    Attack("A4", "copied out through the root of process 1", 'cp -p file "/proc/1/root$OUT/new"', CHANGED),
    Attack(
        "A4",
        "reopened for writing through /proc/self/fd",
        py("""
            fd = os.open(env["OUT"] + "/f", os.O_RDONLY)
            os.write(os.open(f"/proc/self/fd/{fd}", os.O_WRONLY), b"x")
        """),
        CHANGED,
    ),
    Attack("A10", "started in a directory outside", "echo x > new", CHANGED, dir="OUT"),
    Attack("A10", "started at /", 'echo x > "tmp/$MARK"', CHANGED, dir="/"),
    Attack("A10", "started above the tree", 'echo x > "$MARK"', CHANGED, dir=".."),
    Attack("A11", "a pipe made outside", 'mkfifo "$OUT/p"', CHANGED),
    Attack(
        "A11",
        "a pipe of the outside written",
        py('os.write(os.open(env["OUT"] + "/fifo", os.O_WRONLY | os.O_NONBLOCK), b"x")'),
        HEARD,
    ),
    Attack(
        "A11",
        "the kernel's log through a device node of its own",
        py('os.mknod("node", 0o20600, os.makedev(1, 11))\nsay(os.open("node", os.O_RDONLY) >= 0)'),
    ),
    Attack("A11", "a device node that lies around", granted('os.open(env["WORLD"] + "/node", os.O_RDONLY)')),
    Attack("A12", "chmod outside", 'chmod 777 "$OUT/f"', CHANGED),
    Attack("A12", "chmod through a descriptor", py('os.fchmod(os.open(env["OUT"] + "/f", 0), 0o777)'), CHANGED),
    Attack("A12", "chown outside", 'chown 12345 "$OUT/f"', CHANGED),
    Attack("A12", "the time of a file outside", 'touch -d 2001-01-01 "$OUT/f"', CHANGED),
    Attack("A12", "an attribute of a file outside", py('os.setxattr(env["OUT"] + "/f", "user.x", b"x")'), CHANGED),
    Attack(
        "A12",
        "a lock that the outside holds is in the way",
        py("""
            try: fcntl.flock(open(env["OUT"] + "/dir/g"), fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError: say()
        """),
    ),
    Attack("A13", "a link laid where others may write", 'ln -s "$OUT/f" "/tmp/$MARK.log"', CHANGED),
    Attack("E1", "the base under the layers", 'echo x > "$BASE/file"', CHANGED, overlay_only=True),
    Attack(
        "E1",
        "an attribute that would redirect a layer",
        py('os.setxattr("dir", "user.overlay.redirect", b"/etc")'),
        CHANGED,
        overlay_only=True,
    ),
    Attack("E1", "a whiteout of its own", "mknod gone c 0 0", CHANGED, overlay_only=True),
]

USING_UP = [
    Attack("A17", "a sparse file of a terabyte", 'truncate -s 1T big && echo "$TOKEN"'),
    Attack("A17", "a file larger than the limit", 'head -c 48M /dev/zero > big && echo "$TOKEN"'),
    Attack(
        "A17",
        "more in /tmp than the limit",
        'for n in 1 2 3; do head -c 12M /dev/zero > "/tmp/$MARK.$n" || exit; done; echo "$TOKEN"',
    ),
    Attack(
        "A17",
        "more in all scratch directories together than the limit",
        'for d in /tmp /var/tmp "$HOME"; do head -c 12M /dev/zero > "$d/$MARK" || exit; done; echo "$TOKEN"',
    ),
    Attack(
        "A17",
        "more files than the limit",
        py("""
            os.mkdir(f"/tmp/{env['MARK']}")
            os.chdir(f"/tmp/{env['MARK']}")
            try:
                for n in range(9_000): os.mknod(str(n))
                say()
            finally:
                for name in os.listdir("."): os.unlink(name)
        """),
    ),
]

READING = [
    *(Attack("E2", f"~/{name}", read(f"$HOME/{name}"), READ) for name in HOME_SECRETS),
    Attack("E2", "a private file deep in a public place", read("$DEEP"), READ),
    Attack("E2", "whatever can be found", 'grep -rshI secret- "$WORLD" "$HOME" /dev/shm | cat', READ),
    Attack("E2", "another session's tree", read("$HIDDEN/other-session/file"), READ),
    Attack("E2", "a home behind a link, where it really is", read("$REAL_HOME/.netrc"), READ, linked_home=True),
    Attack("E2", "/etc/shadow", 'head -c 1 /etc/shadow | grep -q . && echo "$TOKEN"'),
    Attack("E2", "the kernel's log", say('call("syslog", 3, ctypes.create_string_buffer(4096), 4096) > 0')),
    Attack(
        "E2",
        "a file by its handle",
        py("""
            handle = ctypes.create_string_buffer(struct.pack("Ii", 128, 0) + bytes(128))
            number = {"x86_64": 303, "aarch64": 264}[machine]
            libc.syscall(number, -100, env["DEEP"].encode(), handle, ctypes.byref(ctypes.c_int()), 0)
            print(os.read(call("open_by_handle_at", os.open(env["WORLD"], 0), handle, 0), 100))
        """),
        READ,
    ),
    Attack("A78", "the harness's environment", "env | grep -v ^TOKEN=", READ),
    Attack("A78", "an agent's address in the environment", 'echo "$SSH_AUTH_SOCK"', READ),
]

ON_FILES = [*WRITING, *USING_UP, *READING]
