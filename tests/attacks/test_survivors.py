"""Processes that survive a kill: every way to escape it, at every moment, at every isolation level, and with `killpg`
for comparison.

A survivor is found by its token, which all processes of a run have in their command line or environment, or by an
inherited file lock: a chain of processes that fork and exit is too fast to be seen in /proc. If the harness was
killed, the launcher's own processes count as well. One table is printed.
"""

import contextlib
import fcntl
import json
import os
import secrets
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import anyio
import pytest

from donewhen.workspace.process.command import Command, End, Finished, OutputListeners
from donewhen.workspace.process.launch import Launcher
from donewhen.workspace.process.output import Watch
from donewhen.workspace.sandbox.level import Level, SandboxProbe, probe
from donewhen.workspace.sandbox.sandbox import SandboxConfig, SandboxTree, ShellCommand, TreeSandbox
from donewhen.workspace.sandbox.view import Bind
from needs import needs
from tiers import sampled

SHAPES = {
    "waits": "a child that holds the pipe",
    "ignores": "a child that ignores TERM, INT and HUP",
    "daemon": "setsid, pipe closed",
    "holder": "setsid, pipe held",
    "twice": "double fork",
    "sibling": "clone with CLONE_PARENT",
    "group": "a grandchild in its own process group",
    "thread": "a child of a thread that has ended",
    "stopped": "setsid, then stopped by SIGSTOP",
    "racers": "two chains that fork and exit",
    "nohup": "nohup, in the background of a shell",
}
TRIED = sampled(list(SHAPES), 3)
LEVELS = ("plain", "landlock", "bubblewrap")
MOMENTS = ("0-20ms", "timeout", "exit", "cancel", "harness")
DELAYS_MS = (0, 1, 2, 3, 5, 8, 13, 20)
COLD_DELAYS_MS = (0, 10, 20, 40, 80)
"""From the request for a launcher: its interpreter is still starting while the first command waits."""
LATE_MS = 200
TIMEOUT_SECS = 0.3
GONE_SECS = 1.0
SETTLED_SECS = 0.2

RUNNER = r"""
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/file.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static int told[2];
static void hold(void) { if (write(told[1], "", 1) == 1) for (;;) pause(); }
static void *fork_and_hold(void *nothing) { if (!fork()) hold(); return nothing; }

static void race(void) {
    time_t end = time(0) + 4;
    setsid();
    if (write(told[1], "", 1) == 1) while (time(0) < end) if (fork()) _exit(0);
    _exit(0);
}

#define IS(name) (!strcmp(argv[1], name))

int main(int argc, char **argv) {
    pthread_t thread;
    int pid;
    char any;
    if (argc < 4 || pipe(told) || flock(open(argv[3], O_RDWR), LOCK_SH)) return 1;
    if (IS("ignores")) { signal(SIGTERM, SIG_IGN); signal(SIGINT, SIG_IGN); signal(SIGHUP, SIG_IGN); }
    if (IS("waits") || IS("ignores")) if (!fork()) hold();
    if (IS("daemon")) if (!fork()) { setsid(); close(0); close(1); close(2); hold(); }
    if (IS("holder")) if (!fork()) { setsid(); hold(); }
    if (IS("twice")) { if (!fork()) { setsid(); if (!fork()) hold(); _exit(0); } wait(0); }
    if (IS("sibling")) if (!syscall(SYS_clone, CLONE_PARENT | SIGCHLD, 0, 0, 0, 0)) { setsid(); hold(); }
    if (IS("group")) if (!fork()) { setpgid(0, 0); if (!fork()) { setpgid(0, 0); hold(); } for (;;) pause(); }
    if (IS("thread")) { pthread_create(&thread, 0, fork_and_hold, 0); pthread_join(thread, 0); }
    if (IS("stopped")) {
        if (!(pid = fork())) { setsid(); raise(SIGSTOP); for (;;) pause(); }
        if (waitpid(pid, 0, WUNTRACED) != pid || write(told[1], "", 1) != 1) return 1;
    }
    if (IS("racers")) for (int n = 0; n < 2; n++) if (!fork()) race();
    if (!IS("none") && read(told[0], &any, 1) != 1) return 1;
    if (write(1, "up\n", 3) != 3) return 1;
    if (!strcmp(argv[2], "stay")) for (;;) pause();
    return 0;
}
"""

HARNESS = """
import json, os, signal, sys, threading
given = json.loads(sys.argv[1])
sys.path.insert(0, given["source"])
import anyio
from donewhen.workspace.process.launch import Command, Launcher
from donewhen.workspace.sandbox.level import Level, SandboxProbe
from donewhen.workspace.sandbox.sandbox import SandboxTree, TreeSandbox, SandboxConfig, ShellCommand
from donewhen.workspace.sandbox.view import Bind

async def main():
    timer = threading.Timer(given["delay_ms"] / 1000, os.kill, (os.getpid(), signal.SIGKILL))
    if given["cold"]:
        timer.start()
    async with Launcher.open() as launcher:
        def run(line):
            if given["level"] == "plain":
                argv = ["/bin/sh", "-c", line]
                return launcher.run(Command(argv=argv, cwd=given["tree"], env={"PATH": "/usr/bin:/bin"}))
            probe = SandboxProbe(**{**given["probe"], "level": Level(given["level"])})
            place = SandboxTree(given["tree"], (Bind(given["tree"], given["tree"], True),), scratch=given["tree"])
            return TreeSandbox(launcher, probe, place, SandboxConfig()).run(ShellCommand(text=line))

        if not given["cold"]:
            await run("true")
            timer.start()
        async with anyio.create_task_group() as tasks:
            for line in given["lines"]:
                tasks.start_soon(run, line)

anyio.run(main)
"""

Arm = Callable[[str, float | None, Watch | None], Awaitable[Finished]]
Counts = Counter[tuple[str, str, str]]
"""By shape, level and moment."""


class Attempt:
    """One run, or several with the same token, that may leave processes behind. Leaving the context kills them."""

    def __init__(self, tree: Path) -> None:
        self.tree = tree
        self.token = f"token-{secrets.token_hex(8)}"
        (tree / self.token).touch()

    def __enter__(self) -> "Attempt":
        return self

    def __exit__(self, *_: object) -> None:
        for pid in self._seen():
            with contextlib.suppress(ProcessLookupError, ChildProcessError):
                os.kill(pid, signal.SIGKILL)
                os.waitpid(pid, 0)  # a process that was cloned as our child
        (self.tree / self.token).unlink()

    def line(self, shape: str, then: str) -> str:
        """A command line that takes the shape, prints "up", and then stays or ends."""
        if shape == "nohup":
            after = "wait" if then == "stay" else f"./runner none end {self.token}"
            return f"nohup ./runner waits stay {self.token} 2>&1 & {after}"
        return f"exec ./runner {shape} {then} {self.token}"

    def survivors(self) -> int:
        return len(self._seen()) or int(self._is_locked())

    def survivors_after(self, secs: float) -> int:
        """If nothing waited for the dying processes: those that still run after this time."""
        deadline = time.monotonic() + secs
        while (left := self.survivors()) and time.monotonic() < deadline:
            pass
        return left

    def _seen(self) -> list[int]:
        pids = [int(name) for name in os.listdir("/proc") if name.isdigit() and int(name) != os.getpid()]
        return [pid for pid in pids if self.token.encode() in words(pid, "cmdline") + words(pid, "environ")]

    def _is_locked(self) -> bool:
        with open(self.tree / self.token, "a") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return True
        return False


def words(pid: int, name: str) -> bytes:
    """A zombie has none."""
    try:
        return Path(f"/proc/{pid}/{name}").read_bytes()
    except OSError:
        return b""


@dataclass
class Ground:
    """A tree with the program in it, the isolation levels of this machine, and the counts."""

    tree: Path
    probe: SandboxProbe
    runs: Counts
    survivors: Counts

    def count(self, shapes: list[str], level: str, moment: str, survivors: int) -> None:
        for shape in shapes:
            self.runs[shape, level, moment] += 1
            self.survivors[shape, level, moment] += survivors

    def arm(self, launcher: Launcher, level: str) -> Arm:
        if level == "plain":

            async def plain(line: str, timeout_secs: float | None, heard: Watch | None) -> Finished:
                argv, env = ["/bin/sh", "-c", line], {"PATH": "/usr/bin:/bin"}
                command = Command(argv=argv, cwd=self.tree, env=env, timeout_secs=timeout_secs)
                return await launcher.run(command, OutputListeners(stdout=heard))

            return plain
        tree = str(self.tree)
        place = SandboxTree(tree, (Bind(tree, tree, True),), scratch=tree)
        room = TreeSandbox(launcher, replace(self.probe, level=Level(level)), place, SandboxConfig())

        async def walled(line: str, timeout_secs: float | None, heard: Watch | None) -> Finished:
            return await room.run(ShellCommand(text=line, timeout_secs=timeout_secs), heard)

        return walled


# -- the moments --


async def killed_soon_after_start(ground: Ground, arm: Arm, shape: str, level: str) -> None:
    for delay in DELAYS_MS:
        with Attempt(ground.tree) as attempt:
            with anyio.move_on_after(delay / 1000) as scope:
                await arm(attempt.line(shape, "stay"), None, None)
            assert scope.cancelled_caught
            ground.count([shape], level, "0-20ms", attempt.survivors())


async def killed_at_its_timeout(ground: Ground, arm: Arm, shape: str, level: str) -> None:
    with Attempt(ground.tree) as attempt:
        finished = await arm(attempt.line(shape, "stay"), TIMEOUT_SECS, None)
        assert finished.end is End.TIMED_OUT
        ground.count([shape], level, "timeout", attempt.survivors())


async def ended_by_itself(ground: Ground, arm: Arm, shape: str, level: str) -> None:
    with Attempt(ground.tree) as attempt:
        finished = await arm(attempt.line(shape, "end"), None, None)
        assert (finished.end, finished.exit_code) == (End.EXITED, 0)
        assert b"up\n" in finished.stdout.whole()
        ground.count([shape], level, "exit", attempt.survivors())


async def cancelled_when_it_is_up(ground: Ground, arm: Arm, shape: str, level: str) -> None:
    with Attempt(ground.tree) as attempt:
        with anyio.CancelScope() as scope:
            await arm(attempt.line(shape, "stay"), None, lambda _: scope.cancel())
        assert scope.cancelled_caught
        ground.count([shape], level, "cancel", attempt.survivors())


def harness_killed(ground: Ground, source: Path, level: str, delay_ms: int, cold: bool) -> None:
    """A separate program starts every shape at once and is killed. Only the launcher kills the rest."""
    with Attempt(ground.tree) as attempt:
        link = source.with_name(attempt.token)  # so that the launcher's command line has the token too
        link.symlink_to(source)
        given = {
            "source": str(link),
            "tree": str(ground.tree),
            "level": level,
            "probe": {**asdict(ground.probe), "level": ""},
            "delay_ms": delay_ms,
            "cold": cold,
            "lines": [attempt.line(shape, "stay") for shape in SHAPES],
        }
        argv = [sys.executable, "-c", HARNESS, json.dumps(given)]
        ended = subprocess.run(argv, capture_output=True, check=False)
        assert (ended.returncode, ended.stderr) == (-signal.SIGKILL, b"")
        ground.count(list(SHAPES), level, "harness", attempt.survivors_after(GONE_SECS))


def killed_as_a_group(ground: Ground, shape: str) -> None:
    """The control: a separate session and `killpg`, when all processes have started."""
    with Attempt(ground.tree) as attempt:
        argv = ["/bin/sh", "-c", attempt.line(shape, "stay")]
        with subprocess.Popen(argv, cwd=ground.tree, stdout=subprocess.PIPE, start_new_session=True) as process:
            assert process.stdout is not None
            assert process.stdout.readline() == b"up\n"
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            ground.count([shape], "killpg", "", attempt.survivors_after(SETTLED_SECS))


# -- all of them --


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A tree with the program in it."""
    tree = tmp_path / "tree"
    tree.mkdir()
    (tmp_path / "runner.c").write_text(RUNNER)
    subprocess.run(
        [needs("cc"), "-Wall", "-Werror", "-O1", "-pthread", "-o", tree / "runner", tmp_path / "runner.c"], check=True
    )
    return tree


@pytest.mark.anyio
async def test_no_process_survives_a_kill_at_any_moment_at_any_isolation_level(
    tree: Path, tmp_path: Path, show_table: Callable[[str], None]
) -> None:
    needs("bwrap")
    moments = (killed_soon_after_start, killed_at_its_timeout, ended_by_itself, cancelled_when_it_is_up)
    async with Launcher.open() as launcher:
        ground = Ground(tree, await probe(launcher, tmp_path), Counter(), Counter())
        for shape in TRIED:
            killed_as_a_group(ground, shape)
        for level in LEVELS:
            arm = ground.arm(launcher, level)
            for shape in TRIED:
                for moment in moments:
                    await moment(ground, arm, shape, level)
    kill_harnesses(ground, tmp_path / "source")
    show_table(table(ground))
    assert {key: left for key, left in ground.survivors.items() if left and key[1] != "killpg"} == {}
    assert sum(left for key, left in ground.survivors.items() if key[1] == "killpg") > 0


def kill_harnesses(ground: Ground, source: Path) -> None:
    source.symlink_to(Path(__file__).parents[2] / "src")
    delays = [(delay, False) for delay in (*DELAYS_MS, LATE_MS)] + [(delay, True) for delay in COLD_DELAYS_MS]
    with ThreadPoolExecutor(2) as pool:
        runs = [
            pool.submit(harness_killed, ground, source, level, delay, cold)
            for level in LEVELS
            for delay, cold in sampled(delays, 4)
        ]
    for run in runs:
        run.result()


def table(ground: Ground) -> str:
    def cell(shape: str, level: str, moment: str) -> str:
        return f"{ground.survivors[shape, level, moment]}/{ground.runs[shape, level, moment]}".rjust(8)

    lines = [
        "\n\nsurvivors/runs by shape, wall and moment of the kill; in the last column, after killpg\n",
        " " * 42 + "".join(level.ljust(8 * len(MOMENTS) + 2) for level in LEVELS),
        " " * 40 + "  ".join("".join(moment.rjust(8) for moment in MOMENTS) for _ in LEVELS) + "    killpg",
    ]
    for shape, text in SHAPES.items():
        blocks = ["".join(cell(shape, level, moment) for moment in MOMENTS) for level in LEVELS]
        lines.append(f"{text:40}" + "  ".join(blocks) + "  " + cell(shape, "killpg", ""))
    return "\n".join(lines) + "\n"
