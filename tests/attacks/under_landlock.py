"""Run ordinary work with Landlock, and some attacks with older versions of it; print the results as JSON.

    python under_landlock.py HOME WORLD STEP

The ordinary work does to its own processes and files what the attacks do to those of others.
"""

import dataclasses
import errno
import json
import os
import shutil
import sys
import tempfile
from itertools import islice
from pathlib import Path

import anyio
from arms import LIMITS, AttackScene, behind, prepared
from attack import Attack
from probes import ATTACKS

from donewhen.workspace.sandbox.level import Level
from donewhen.workspace.sandbox.sandbox import SandboxConfig, SandboxTree, ShellCommand, TreeSandbox
from donewhen.workspace.sandbox.view import Bind

PYTHON = "/usr/bin/python3 -c '{}'"
MAKEFILE = "all: a b c\\na b c:\\n\\t@sleep 0.01; echo $@ > $@.done\\n"
GO_MOD = "module m\\ngo 1.19\\n"
GO_TEST = (
    'package m\\nimport ("os/exec"; "runtime"; "testing")\\n'
    "func TestKill(t *testing.T) { for i := 0; i < 4; i++ { go func() { for {} }() }; runtime.GC()\\n"
    'c := exec.Command("sleep", "99"); c.Start(); if c.Process.Kill() != nil || c.Wait() == nil { t.Fatal() } }\\n'
)
NODE = (
    'const c = require("child_process").spawn("sleep", ["99"]); '
    'c.on("exit", (code, signal) => console.log(signal)); c.kill("SIGTERM")'
)
JAVA = (
    "public class M { public static void main(String[] w) throws Exception { "
    'Process p = new ProcessBuilder("sleep", "99").start(); p.destroy(); System.gc(); '
    "System.out.println(p.waitFor()); } }"
)
CHANGES = [0x40086604, 0x40046604, 0x5000940E, 0x50009418, 0x50009401, 0x50009417, 0x5000940F, 0x5000943F, 0x4008941A]
"""Requests of ext4 and btrfs that need only a descriptor that is open for reading."""
FAILURES = """import fcntl, os
def failure(request):
    try: fcntl.ioctl(os.open(".", os.O_RDONLY), request, 0)
    except OSError as error: return error.errno
"""
"""Return the kernel's answer to a request without an argument. Nothing is changed in any case."""
WORK: dict[str, tuple[str, str, str]] = {
    "a shell kills its child": ("", "sleep 99 & kill $!; wait $!; echo $?", "143"),
    "bash kills a job": ("bash", "bash -mc 'sleep 99 & kill %1; wait %1; echo $?'", "143"),
    "a shell kills its process group": ("setsid", "setsid -w sh -c 'trap \"\" TERM; kill -TERM 0; echo here'", "here"),
    "timeout ends a command": ("timeout", "timeout 0.05 sleep 99; echo $?", "124"),
    "make runs jobs": ("make", f"printf '{MAKEFILE}' > Makefile; make -j3 && ls *.done | wc -l", "3"),
    "python ends a subprocess": (
        "",
        PYTHON.format('import subprocess; p = subprocess.Popen(["sleep", "99"]); p.terminate(); print(p.wait())'),
        "-15",
    ),
    "python ends a worker": (
        "",
        PYTHON.format(
            'import multiprocessing as m, signal; p = m.get_context("fork").Process(target=signal.pause); '
            "p.start(); p.kill(); p.join(); print(p.exitcode)"
        ),
        "-9",
    ),
    "a shell limits itself": ("", "ulimit -n 77; ulimit -n", "77"),
    "python limits itself": (
        "",
        PYTHON.format("import resource as r; r.setrlimit(7, (66, 77)); print(*r.getrlimit(7))"),
        "66 77",
    ),
    "a process limits itself by its number": (
        "",
        PYTHON.format("import os, resource as r; r.prlimit(os.getpid(), 7, (66, 77)); print(*r.getrlimit(7))"),
        "66 77",
    ),
    "a shell limits its child": (
        "prlimit",
        'sleep 99 & prlimit --pid $! --nofile=55; grep -o "files  *55" /proc/$!/limits | tr -s " "; kill $!',
        "files 55",
    ),
    "prlimit starts a program": ("prlimit", "prlimit --nofile=44 sh -c 'ulimit -n'", "44"),
    "a shell makes itself nicer": ("renice", "renice -n 19 -p $$ >/dev/null && nice", "19"),
    "a process stays on one processor": (
        "",
        PYTHON.format("import os; os.sched_setaffinity(os.getpid(), {0}); print(os.sched_getaffinity(0))"),
        "{0}",
    ),
    "a thread stays on one processor": (
        "",
        PYTHON.format(
            "import os, threading as t\n"
            "def f(): os.sched_setaffinity(t.get_native_id(), {0}); print(os.sched_getaffinity(0))\n"
            "one = t.Thread(target=f); one.start(); one.join()"
        ),
        "{0}",
    ),
    "idle disk time for itself": ("ionice", "ionice -c3 -p $$ && ionice -p $$", "idle"),
    "an orphan is changed": (
        "renice",
        '(setsid sleep 99 & echo $! > pid); renice -n 19 -p $(cat pid) | grep -o "new priority 19"; kill $(cat pid)',
        "new priority 19",
    ),
    "no file has a version, and no directory becomes a subvolume": (
        "",
        PYTHON.format(f"{FAILURES}print(set(map(failure, {CHANGES})))"),
        str({errno.EOPNOTSUPP}),
    ),
    "a file is asked how much can be read": (
        "",
        "printf abc > f; " + PYTHON.format('import fcntl; print(sum(fcntl.ioctl(open("f"), 0x541B, bytes(4))))'),
        "3",
    ),
    "a pair of sockets": (
        "",
        PYTHON.format('import socket; a, b = socket.socketpair(); a.send(b"x"); print(b.recv(1))'),
        "b'x'",
    ),
    "files are copied with all they have": ("", "echo x > one; cp -a one two; chmod 640 two; stat -c %a two", "640"),
    "a file is emptied": ("truncate", "echo x > f; truncate -s 0 f; stat -c %s f", "0"),
    "a file is moved to another directory": ("", "mkdir -p a b; echo x > a/f; mv a/f b/g; cat b/g", "x"),
    "a debugger runs a program": ("strace", "strace -qq -e trace=none -o log sh -c 'kill -USR1 $$'; echo $?", "138"),
    "node ends a child": ("node", f"node -e '{NODE}'", "SIGTERM"),
    "go tests run": (
        "go",
        f"printf '{GO_MOD}' > go.mod; printf '{GO_TEST}' > m_test.go; HOME=$TMPDIR go test . | cut -c1-2",
        "ok",
    ),
    "java ends a child": ("java", f"echo '{JAVA}' > M.java; java M.java", "143"),
}
"""By name: the needed program, the command, and its last output line."""

OLDER = {
    1: ("a file outside emptied by its path", "a process outside killed"),
    2: ("a tool emptied by its path", "a tool emptied by opening it to read", "a tool emptied by openat2"),
    3: ("a tool emptied by its path", "a process group outside killed"),
    5: ("a process outside killed", "a signal queued to a process outside", "FIOSETOWN"),
    6: ("a process outside killed", "a signal queued to a process outside", "FIOSETOWN", "a tool emptied by its path"),
}
"""Attacks by Landlock version."""


async def worked(grounds: AttackScene, text: str) -> str:
    """Return the last line that a command prints with Landlock."""
    with tempfile.TemporaryDirectory(dir=grounds.home) as name:
        tree, scratch = Path(name, "tree"), Path(name, "scratch")
        for place in (tree, scratch):
            place.mkdir()
        os.environ["HOME"] = str(grounds.home)
        place = SandboxTree(str(tree), (Bind(str(tree), str(tree), writable=True),), scratch=str(scratch))
        limits = dataclasses.replace(LIMITS, processes=0, memory=0, file_bytes=0)
        level = dataclasses.replace(grounds.level, level=Level.LANDLOCK)
        room = TreeSandbox(grounds.launcher, level, place, SandboxConfig(limits=limits))
        finished = await room.run(ShellCommand(text=text, timeout_secs=120))
        lines = finished.stdout.whole().decode("utf-8", "replace").strip().splitlines()
        if (tree / "go.mod").exists():  # files that go has fetched or made are read-only
            await room.run(ShellCommand(text='chmod -R u+w "$TMPDIR"'))
        return f"{finished.reason}{lines[-1] if lines else ''}"


async def got_out(grounds: AttackScene, version: int, attack: Attack) -> bool:
    older = dataclasses.replace(grounds.level, landlock_abi=version)
    return attack.sign in await behind("landlock", attack, dataclasses.replace(grounds, level=older))


async def results(home: Path, world: Path, step: int) -> dict[str, object]:
    """Try every `step`-th kind of work, and all attacks."""
    by_name = {attack.name: attack for attack in ATTACKS}
    async with prepared(home, world) as grounds:
        work = {
            name: await worked(grounds, text)
            for name, (needed, text, _) in islice(WORK.items(), 0, None, step)
            if is_here(needed)
        }
        older = {
            version: {name: await got_out(grounds, version, by_name[name]) for name in names}
            for version, names in OLDER.items()
        }
        return {"abi": grounds.level.landlock_abi, "work": work, "older": older}


def is_here(program: str) -> bool:
    return not program or shutil.which(program) is not None


if __name__ == "__main__":
    sys.stdout.write(json.dumps(anyio.run(results, Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]))))
