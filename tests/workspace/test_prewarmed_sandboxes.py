"""Prewarmed sandboxes: the next command gets one and finds the same in it as in a new one.

They are found from the outside: a sandbox is a child of a supervisor, a supervisor is a child of the launcher, and
the launcher is a child of ours.
"""

import os
import select
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import AsyncGenerator, Callable, Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from sandbox_scenes import SandboxScene, output, run, sandbox_scene, write

from donewhen.workspace.process.command import Command, End
from donewhen.workspace.process.launch import Launcher
from donewhen.workspace.sandbox.level import probe
from donewhen.workspace.sandbox.limits import ResourceLimits
from donewhen.workspace.sandbox.sandbox import SandboxConfig, SandboxTree, ShellCommand, TreeSandbox
from donewhen.workspace.sandbox.view import Bind, Overlay

pytestmark = pytest.mark.anyio
HERE = Path(__file__).parent


@pytest.fixture
async def place(tmp_path: Path) -> AsyncGenerator[SandboxScene]:
    async with sandbox_scene(tmp_path) as found:
        yield found


# -- finding processes --


def children(pid: int) -> list[int]:
    try:
        return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:
        return []


def below(pid: int) -> list[int]:
    found = children(pid)
    for other in found:  # grows while it is walked
        found.extend(children(other))
    return found


def name(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/comm").read_text().strip()
    except OSError:
        return ""


def sandboxes(harness: int) -> set[int]:
    """The sandboxes of a harness that wait, or have a command."""
    wardens = [warden for server in children(harness) for warden in children(server)]
    return {pid for warden in wardens for pid in children(warden) if name(pid) == "bwrap"}


def waits(sandbox: int) -> bool:
    """True if only a reading shell is inside, and its supervisor has nothing to do."""
    inside = [pid for pid in below(sandbox) if name(pid) == "sh"]
    return len(inside) == 1 and "pipe_read" in sleeps_in(inside[0]) and "poll" in sleeps_in(parent(sandbox))


def sleeps_in(pid: int) -> str:
    """The kernel function in which a process waits."""
    try:
        return Path(f"/proc/{pid}/wchan").read_text()
    except OSError:
        return ""


def parent(pid: int) -> int:
    try:
        return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    except OSError:
        return 0


def eventually(holds: Callable[[], object]) -> None:
    """Poll for some seconds for what another process does."""
    deadline = time.monotonic() + 5
    while not holds():
        assert time.monotonic() < deadline


def the_one_that_waits(harness: int | None = None) -> int:
    pid = harness or os.getpid()
    eventually(lambda: len(sandboxes(pid)) == 1 and all(map(waits, sandboxes(pid))))
    return next(iter(sandboxes(pid)))


async def used_by(room: TreeSandbox, text: str = "echo", dir: str = ".") -> int:
    """The sandbox of a running command: the one that does not wait."""
    seen: set[int] = set()

    def watch(_: bytes) -> None:
        seen.update(pid for pid in sandboxes(os.getpid()) if not waits(pid))

    assert (await room.run(ShellCommand(text=f"{text}; read x || sleep 0.1", dir=dir), stdout=watch)).exit_code == 0
    assert len(seen) == 1
    return seen.pop()


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


# -- selection --


async def test_the_next_command_gets_the_prewarmed_sandbox(place: SandboxScene) -> None:
    room = place.room()
    await output(room, "true")
    for _ in range(3):
        waiting = the_one_that_waits()
        assert await used_by(room) == waiting
        assert ends_within(1, waiting)


async def test_a_command_of_another_tree_gets_the_prewarmed_sandbox_and_sees_only_its_tree(place: SandboxScene) -> None:
    room = place.room(variables={"DONEWHEN_TREE": "one"})
    await output(room, "echo first > file")
    other = place.state / "other"
    for part in ("upper", "work"):
        (other / part).mkdir(parents=True)
    layer = Overlay(str(other), (str(place.state / "base"),), "upper", "work", str(place.checkout))
    twin = TreeSandbox(
        place.launcher,
        place.probe,
        SandboxTree(str(place.checkout), (layer,), (str(place.state),), {"DONEWHEN_TREE": "two"}),
        SandboxConfig(),
    )
    waiting = the_one_that_waits()
    assert await used_by(twin, "test ! -e file && echo $DONEWHEN_TREE | tee tree") == waiting
    assert (other / "upper" / "tree").read_text() == "two\n"
    (other / "work" / "work").chmod(0o700)


OTHER_WALLS = {
    "the network": SandboxConfig(network=True),
    "a variable": SandboxConfig(env=("ANOTHER",)),
    "a limit": SandboxConfig(limits=replace(ResourceLimits(), file_bytes=1 << 20)),
}


@pytest.mark.parametrize("config", OTHER_WALLS.values(), ids=OTHER_WALLS)
async def test_a_command_with_another_configuration_gets_another_sandbox(
    place: SandboxScene, config: SandboxConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANOTHER", "value")
    await output(place.room(), "true")
    waiting = the_one_that_waits()
    room = place.room(config)
    assert await used_by(room) != waiting
    blocks = str((1 << 20) // 512)
    variable, limit, network = (
        await output(room, "echo ${ANOTHER-unset}; ulimit -f; readlink /proc/self/ns/net")
    ).split()
    assert [network == os.readlink("/proc/self/ns/net"), variable == "value", limit == blocks] == [
        config is other for other in OTHER_WALLS.values()
    ]


async def test_many_commands_without_a_pause_all_work(place: SandboxScene) -> None:
    room = place.room()
    assert [await output(room, f"echo {n} >> file; tail -n 1 file; wc -l < file") for n in range(12)] == [
        f"{n}\n{n + 1}" for n in range(12)
    ]


async def test_ordinary_commands_do_not_use_the_prewarmed_sandbox(place: SandboxScene) -> None:
    room = place.room()
    await output(room, "true")
    waiting = the_one_that_waits()
    for _ in range(10):
        assert (await place.launcher.run(Command(argv=["/bin/true"], cwd="/", env={}))).ok
    assert the_one_that_waits() == waiting
    assert await used_by(room) == waiting


# -- content --


async def test_changes_in_the_tree_are_seen_by_a_prewarmed_sandbox(place: SandboxScene) -> None:
    write(place.checkout, {"file": "old", "gone": "x"})
    room = place.room()
    assert await output(room, "cat file") == "old"
    the_one_that_waits()
    write(place.state / "base", {"file": "new", "deep/file": "x"})
    write(place.upper, {"above": "y"})
    (place.state / "base" / "gone").unlink()
    assert await output(room, "cat file above deep/file; ls") == "newyxabove\ndeep\nfile"


async def test_a_replaced_tree_is_seen_by_a_prewarmed_sandbox(place: SandboxScene) -> None:
    tree = place.state / "plain"
    write(tree, {"file": "old"})
    room = TreeSandbox(
        place.launcher, place.probe, SandboxTree(str(tree), (Bind(str(tree), str(tree), True),)), SandboxConfig()
    )
    await output(room, "true")
    the_one_that_waits()
    tree.rename(place.state / "away")
    write(tree, {"file": "new"})
    assert await output(room, "cat file; echo more > file") == "new"
    assert (tree / "file").read_text() == "more\n"


async def test_a_replaced_secret_is_masked_in_a_prewarmed_sandbox(place: SandboxScene, home: Path) -> None:
    write(home, {".npm-global/etc/npmrc": "first secret", ".npm-global/etc/other": "public"})
    room = place.room()
    text = "cat ~/.npm-global/etc/other; cat ~/.npm-global/etc/npmrc || true"
    assert "secret" not in await output(room, text)
    the_one_that_waits()
    write(home, {"new": "second secret"})
    (home / "new").rename(home / ".npm-global" / "etc" / "npmrc")
    printed = await output(room, text)
    assert "public" in printed and "secret" not in printed


async def test_a_replaced_toolchain_is_seen_by_a_prewarmed_sandbox(place: SandboxScene, home: Path) -> None:
    write(home, {".cargo/version": "old"})
    room = place.room()
    assert await output(room, "cat ~/.cargo/version") == "old"
    the_one_that_waits()
    (home / ".cargo").rename(home / "away")
    write(home, {".cargo/version": "new"})
    assert await output(room, "cat ~/.cargo/version") == "new"


async def test_a_prewarmed_sandbox_uses_the_command_s_own_input_directory_and_streams(place: SandboxScene) -> None:
    write(place.checkout, {"deep/er/file": "x"})
    room = place.room()
    first = ShellCommand(text="cat; echo complaint >&2", stdin=b"first", merge_stderr=False)
    second = replace(first, stdin=b"second" * 300_000, dir="deep/er", text="cat; pwd >&2; ls >&2; env | grep PWD >&2")
    assert (await room.run(first)).stdout.whole() == b"first"
    the_one_that_waits()
    finished = await room.run(second)
    below = f"{place.checkout}/deep/er"
    assert (finished.stdout.whole(), finished.stdout.total) == (finished.stdout.whole(), 1_800_000)
    assert finished.stdout.head.startswith(b"secondsecond")
    assert finished.stderr.whole().decode() == f"{below}\nfile\nPWD={below}\n"
    the_one_that_waits()
    assert (await run(room, "echo a; echo b >&2; echo c")).stdout.whole() == b"a\nb\nc\n"


async def test_a_missing_directory_is_reported_by_a_prewarmed_sandbox_too(place: SandboxScene) -> None:
    room = place.room()
    await output(room, "true")
    the_one_that_waits()
    finished = await run(room, "true", "nowhere")
    assert finished.end is End.COULD_NOT_START
    assert "Can't chdir to" in finished.reason and "nowhere" in finished.reason


async def test_a_tree_that_cannot_be_mounted_is_reported(place: SandboxScene) -> None:
    room = place.room()
    await output(room, "true")
    the_one_that_waits()
    place.upper.rename(place.state / "away")
    finished = await run(room, "true")
    assert finished.end is End.COULD_NOT_START
    assert "No such file or directory" in finished.reason


async def test_every_byte_of_a_command_line_and_of_a_variable_arrives(place: SandboxScene) -> None:
    every = bytes(n for n in range(1, 256) if n not in b"\r\n'").decode("utf-8", "surrogateescape")
    room = place.room(variables={"EVERY": every + "'\n"})
    finished = await run(room, f"printf %s '{every}' '\n' \"$EVERY\"")
    assert finished.stdout.whole().decode("utf-8", "surrogateescape") == every + "\n" + every + "'\n"


async def test_a_command_line_too_long_for_the_kernel_is_reported(place: SandboxScene) -> None:
    finished = await run(place.room(), f": {'x' * 200_000}")
    assert (finished.end, finished.reason) == (End.COULD_NOT_START, "Argument list too long: /bin/sh")


# -- time and limits --


async def test_the_waiting_time_of_a_sandbox_does_not_count_for_the_command(place: SandboxScene) -> None:
    room = place.room()
    await output(room, "true")
    the_one_that_waits()
    argv = ["/bin/sleep", "0.6"]
    assert (await place.launcher.run(Command(argv=argv, cwd="/", env={}))).ok
    finished = await room.run(ShellCommand(text="sleep 0.1", timeout_secs=0.5))
    assert finished.ok and finished.duration_secs < 0.5
    the_one_that_waits()
    assert (await room.run(ShellCommand(text="sleep 1000", timeout_secs=0.3))).end is End.TIMED_OUT


async def test_limits_hold_in_a_prewarmed_sandbox(place: SandboxScene) -> None:
    room = place.room(SandboxConfig(limits=replace(ResourceLimits(), processes=40)))
    await output(room, "true")
    the_one_that_waits()
    finished = await run(room, "n=0; while [ $n -lt 80 ]; do sleep 100 & n=$((n+1)); done; wait")
    assert (finished.end, finished.reason) == (End.LIMIT, "processes: more than 40")


async def test_a_prewarmed_sandbox_waits_for_its_configured_time_only(tmp_path: Path) -> None:
    async with Launcher.open(keep_secs=0.2) as launcher:
        room = TreeSandbox(
            launcher,
            await probe(launcher, tmp_path),
            SandboxTree(str(tmp_path), (Bind(str(tmp_path), str(tmp_path), True),)),
            SandboxConfig(),
        )
        await output(room, "true")
        waiting = the_one_that_waits()
        assert ends_within(1, waiting)
        eventually(lambda: not sandboxes(os.getpid()))
        await output(room, "true")


# -- cleanup --


async def test_a_prewarmed_sandbox_killed_while_waiting_causes_no_failure(place: SandboxScene) -> None:
    room = place.room()
    await output(room, "true")
    for which in (0, 1, 2, 3):  # bubblewrap, the mount helper, bubblewrap inside, the first program
        waiting = the_one_that_waits()
        victim = [waiting, *below(waiting)][which]
        os.kill(victim, signal.SIGKILL)
        assert ends_within(1, victim if which == 1 else waiting)
        assert await output(room, "echo fine") == "fine"


@pytest.mark.parametrize("which", range(4))
async def test_a_sandbox_killed_at_use_is_reported_and_the_next_one_works(place: SandboxScene, which: int) -> None:
    room = place.room()
    await output(room, "true")
    waiting = the_one_that_waits()
    os.kill([waiting, *below(waiting)][which], signal.SIGKILL)
    finished = await run(room, "echo fine")
    assert finished.ok or finished.end in (End.COULD_NOT_START, End.SIGNALLED)
    assert await output(room, "echo fine") == "fine"


async def test_many_commands_leave_no_descriptor_no_process_and_no_sandbox_but_one(place: SandboxScene) -> None:
    room = place.room()
    server = next(pid for pid in children(os.getpid()) if children(pid))

    async def run_ten() -> list[int]:
        for _ in range(10):
            await output(room, "true")
            the_one_that_waits()
        (warden,) = children(server)
        return [len(os.listdir(f"/proc/{pid}/fd")) for pid in (os.getpid(), server, warden)] + [len(below(warden))]

    before = await run_ten()
    assert [now for now, then in zip(await run_ten(), before, strict=True) if now > then] == []


async def test_a_closed_launcher_leaves_no_sandbox(tmp_path: Path) -> None:
    async with sandbox_scene(tmp_path) as place:
        await output(place.room(), "true")
        waiting = the_one_that_waits()
        family = [waiting, *below(waiting)]
    assert [pid for pid in family if Path(f"/proc/{pid}").exists()] == []


HARNESS = """
import os, sys
from pathlib import Path
sys.path[:0] = [{source!r}, {here!r}, {tests!r}]
import anyio
from sandbox_scenes import output, sandbox_scene

async def main():
    async with sandbox_scene(Path({directory!r})) as place:
        await output(place.room(), "true")
        print("up", flush=True)
        sys.stdin.read()

anyio.run(main)
"""


@pytest.mark.parametrize("killed", ["the harness", "the launcher", "the supervisor", "all of them"])
def test_nothing_of_a_prewarmed_sandbox_survives_the_kill_of(killed: str, tmp_path: Path) -> None:
    source, tests = str(HERE.parents[1] / "src"), str(HERE.parent)
    text = HARNESS.format(source=source, here=str(HERE), tests=tests, directory=str(tmp_path))
    argv = [sys.executable, "-c", textwrap.dedent(text)]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as harness:
        assert harness.stdout is not None
        assert harness.stdout.readline() == b"up\n"
        waiting = the_one_that_waits(harness.pid)
        family = [waiting, *below(waiting)]
        (server,) = children(harness.pid)
        (warden,) = children(server)
        assert len(family) >= 4
        whom: Mapping[str, list[int]] = {
            "the harness": [harness.pid],
            "the launcher": [server, warden],
            "the supervisor": [warden],
            "all of them": [harness.pid, server, warden],
        }
        for pid in whom[killed]:
            os.kill(pid, signal.SIGKILL)
        assert [pid for pid in family if not ends_within(1, pid)] == []
        harness.kill()
