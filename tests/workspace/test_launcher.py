"""The launcher when it is damaged, short of resources or used for long: nothing hangs, leaks, or keeps running.

The launcher's processes are found from the outside: the parent of a command is its supervisor, and the parent of
that is the server.
"""

import os
import select
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import AsyncGenerator, Callable
from pathlib import Path

import anyio
import pytest

from donewhen.errors import MachineryBroke
from donewhen.workspace.process.command import Command, Confinement, End, Finished, OutputListeners
from donewhen.workspace.process.launch import Launcher

ENV = {"PATH": "/usr/local/bin:/usr/bin:/bin"}
SOURCE = Path(__file__).parents[2] / "src"


def shell(text: str, timeout_secs: float | None = None, confinement: Confinement | None = None) -> Command:
    argv = ["/bin/sh", "-c", text]
    return Command(argv=argv, cwd="/", env=ENV, timeout_secs=timeout_secs, confinement=confinement or Confinement())


@pytest.fixture
async def launcher() -> AsyncGenerator[Launcher]:
    async with Launcher.open() as launcher:
        yield launcher


def numbers(printed: bytes) -> list[int]:
    return [int(word) for word in printed.split()]


async def supervisor_of(launcher: Launcher) -> int:
    """The process that will get the next command."""
    return numbers((await launcher.run(shell("echo $PPID"))).stdout.whole())[0]


def parent(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


def children(pid: int) -> list[int]:
    return numbers(Path(f"/proc/{pid}/task/{pid}/children").read_bytes())


def ends_within(secs: float, pid: int) -> bool:
    try:
        pidfd = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    try:
        poll = select.poll()
        poll.register(pidfd, select.POLLIN)
        return bool(poll.poll(secs * 1000))
    finally:
        os.close(pidfd)


def eventually(holds: Callable[[], bool]) -> None:
    """Poll for up to a second for what another process does."""
    deadline = time.monotonic() + 1
    while not holds():
        assert time.monotonic() < deadline


def kill(pid: int) -> None:
    os.kill(pid, signal.SIGKILL)
    assert ends_within(1, pid)


# -- damaged --


@pytest.mark.anyio
async def test_a_killed_launcher_does_not_end_running_commands_and_is_restarted(launcher: Launcher) -> None:
    server = parent(await supervisor_of(launcher))
    finished = await launcher.run(shell("sleep 0.1; echo still here"), OutputListeners(started=lambda _: kill(server)))
    assert (finished.exit_code, finished.stdout.whole()) == (0, b"still here\n")
    results: list[Finished] = []

    async def run() -> None:
        results.append(await launcher.run(shell("true")))

    async with anyio.create_task_group() as tasks:
        for _ in range(5):
            tasks.start_soon(run)
    assert [result.ok for result in results] == [True] * 5


@pytest.mark.anyio
async def test_the_command_of_a_killed_supervisor_is_dead_within_a_second(launcher: Launcher) -> None:
    pids: list[int] = []

    def kill_warden(printed: bytes) -> None:
        pids.extend(numbers(printed))
        kill(pids[0])

    text = "setsid sh -c 'setsid sleep 1000 & echo $! > /dev/null; sleep 1000' & echo $PPID $$ $!; sleep 1000"
    with pytest.raises(MachineryBroke, match="the launcher died while a command ran"):
        await launcher.run(shell(text), OutputListeners(stdout=kill_warden))
    assert len(pids) == 3
    assert [pid for pid in pids if not ends_within(1, pid)] == []
    assert (await launcher.run(shell("true"))).ok


@pytest.mark.anyio
async def test_a_supervisor_or_child_killed_while_idle_causes_no_failure(launcher: Launcher) -> None:
    kill(await supervisor_of(launcher))
    assert (await launcher.run(shell("true"))).ok
    warden = await supervisor_of(launcher)
    eventually(lambda: len(children(warden)) == 1)
    kill(*children(warden))
    finished = await launcher.run(shell("echo fine"))
    assert finished.stdout.whole() == b"fine\n"


@pytest.mark.anyio
async def test_closing_ends_every_process_and_running_commands_are_reported() -> None:
    pids: list[int] = []
    async with Launcher.open() as launcher:
        server = parent(await supervisor_of(launcher))

        def close(printed: bytes) -> None:
            pids.extend([server, *numbers(printed)])
            launcher.close()

        with pytest.raises(MachineryBroke, match="the launcher died while a command ran"):
            await launcher.run(shell("setsid sleep 1000 & echo $PPID $$ $!; sleep 1000"), OutputListeners(stdout=close))
        with pytest.raises(MachineryBroke, match="the launcher is closed"):
            await launcher.run(shell("true"))
    assert len(pids) == 4
    assert [pid for pid in pids if not ends_within(1, pid)] == []


@pytest.mark.anyio
async def test_a_closed_launcher_leaves_no_process() -> None:
    async with Launcher.open() as launcher:
        warden = await supervisor_of(launcher)
        family = [parent(warden), warden, *children(warden)]
    assert [pid for pid in family if Path(f"/proc/{pid}").exists()] == []


def test_a_fork_that_holds_the_sockets_of_a_killed_harness_keeps_nothing_alive() -> None:
    ended = run_program("""
        def fork_and_die(printed):
            if os.fork() == 0:
                print(os.getpid(), printed.decode(), flush=True)
                os.close(1)
                os.close(2)
                signal.pause()
            os.kill(os.getpid(), signal.SIGKILL)

        async def main():
            async with Launcher.open() as launcher:
                command = shell("setsid sleep 1000 & echo $PPID $$ $!; sleep 1000")
                await launcher.run(command, OutputListeners(stdout=fork_and_die))

        anyio.run(main)
        """)
    fork, *pids = numbers(ended.stdout.encode())
    try:
        assert (len(pids), ended.returncode) == (3, -signal.SIGKILL)
        assert [pid for pid in pids if not ends_within(1, pid)] == []
    finally:
        kill(fork)


# -- used for long --


@pytest.mark.sample(0)
@pytest.mark.anyio
async def test_hundreds_of_runs_leave_no_descriptor_no_zombie_and_no_memory(launcher: Launcher) -> None:
    warden = await supervisor_of(launcher)
    family = [os.getpid(), parent(warden), warden]
    text = "(true &); echo $PPID; head -c 100000 /dev/zero >&2; exit 3"

    async def run_hundred_times() -> None:
        for _ in range(100):
            assert numbers((await launcher.run(shell(text))).stdout.whole()) == [warden]
        eventually(lambda: len(children(warden)) == 1)

    await run_hundred_times()
    before = [descriptors(pid) for pid in family]
    sizes = [resident(pid) for pid in family]
    for _ in range(3):
        await run_hundred_times()
    eventually(lambda: [descriptors(pid) for pid in family] <= before)
    assert [pid for pid, size in zip(family, sizes, strict=True) if resident(pid) - size > 512 * 1024] == []


def descriptors(pid: int) -> int:
    return len(os.listdir(f"/proc/{pid}/fd"))


def resident(pid: int) -> int:
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.anyio
async def test_orphans_that_end_while_the_command_runs_on_are_reaped_and_not_counted(launcher: Launcher) -> None:
    text = (
        "n=0; while [ $n -lt 400 ]; do (true &); n=$((n+1)); done; sleep 0.3; wc -w < /proc/$PPID/task/$PPID/children"
    )
    finished = await launcher.run(shell(text, confinement=Confinement(watch={"processes": 300})))
    assert finished.end is End.EXITED
    assert numbers(finished.stdout.whole())[0] < 5


@pytest.mark.anyio
async def test_unexpected_listening_sockets_are_closed(launcher: Launcher) -> None:
    confinement = Confinement(private_net=True, listen=(("127.0.0.1", 8080),))
    assert (await launcher.run(shell("true", confinement=confinement))).ok
    before = descriptors(os.getpid())
    for _ in range(5):
        assert (await launcher.run(shell("true", confinement=confinement))).ok
        with anyio.move_on_after(0.005):
            await launcher.run(shell("sleep 1000", confinement=confinement))
    assert descriptors(os.getpid()) <= before


# -- short of resources, and started in unusual conditions: separate programs --


def run_program(text: str) -> subprocess.CompletedProcess[str]:
    program = PRELUDE + textwrap.dedent(text)
    return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False)


PRELUDE = f"""
import os, resource, signal, sys
sys.path.insert(0, {str(SOURCE)!r})
import anyio
from donewhen.errors import MachineryBroke
from donewhen.workspace.process.launch import Command, OutputListeners, Launcher

def shell(text):
    return Command(argv=["/bin/sh", "-c", text], cwd="/", env={{"PATH": "/usr/bin:/bin"}})
"""


def test_with_sixty_four_descriptors_the_launcher_works_or_says_so_in_one_line_and_recovers() -> None:
    ended = run_program("""
        resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))

        async def main():
            async with Launcher.open() as launcher:
                said = set()
                before = len(os.listdir("/proc/self/fd"))

                async def run():
                    try:
                        said.add((await launcher.run(shell("echo hello"))).stdout.whole())
                    except MachineryBroke as error:
                        said.add(str(error))

                async with anyio.create_task_group() as tasks:
                    for _ in range(40):
                        tasks.start_soon(run)
                print(sorted(map(str, said)))
                print((await launcher.run(shell("ulimit -n"))).stdout.whole())
                print(len(os.listdir("/proc/self/fd")) - before <= 4)

        anyio.run(main)
        """)
    assert ended.stderr == ""
    assert ended.stdout.splitlines() == [
        "[\"b'hello\\\\n'\", 'cannot start a command: Too many open files']",
        "b'64\\n'",
        "True",
    ]


def test_without_a_free_descriptor_the_launcher_is_not_started() -> None:
    ended = run_program("""
        async def main():
            resource.setrlimit(resource.RLIMIT_NOFILE, (len(os.listdir("/proc/self/fd")),) * 2)
            try:
                async with Launcher.open():
                    print("opened")
            except MachineryBroke as error:
                print(error)

        anyio.run(main)
        """)
    assert (ended.stdout, ended.stderr) == ("cannot start the launcher: Too many open files\n", "")


KEPT_BY_LIBC = 1 << 31 | 1 << 32
"""Signals 32 and 33: the C library does not let a program set them, so inherited settings stay."""


def test_commands_start_with_no_signal_blocked_or_ignored() -> None:
    ended = run_program("""
        signal.signal(signal.SIGUSR1, signal.SIG_IGN)
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM, signal.SIGCHLD])

        async def main():
            async with Launcher.open() as launcher:
                print((await launcher.run(shell("exec cat /proc/self/status"))).stdout.whole().decode())

        anyio.run(main)
        """)
    assert ended.stderr == ""
    masks = [line.split()[1] for line in ended.stdout.splitlines() if line.startswith(("SigBlk", "SigIgn", "SigCgt"))]
    assert len(masks) == 3 and all(int(mask, 16) & ~KEPT_BY_LIBC == 0 for mask in masks), masks
