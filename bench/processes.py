"""Costs of a command: `true` bare, through the launcher, and in the sandbox; and the memory for its output.

The three kinds alternate in one run, so that the load of the machine is the same for each. There is a pause before each
command, as before most commands of an agent: the launcher prewarms the next sandbox in it. Commands without a pause are
measured as well, and compared with bare ones. Memory is the growth of the peak of a new interpreter, for a gibibyte
through the launcher and for a quarter of it through `subprocess`.
"""

import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import anyio

from donewhen.workspace.process.command import Command, Finished
from donewhen.workspace.process.launch import Launcher
from donewhen.workspace.sandbox import bubblewrap
from donewhen.workspace.sandbox.level import Level, probe
from donewhen.workspace.sandbox.sandbox import SandboxConfig, SandboxTree, ShellCommand, TreeSandbox
from donewhen.workspace.sandbox.view import Bind, Overlay

ROUNDS = 100
PAUSE_SECS = 0.05
AT_ONCE = ", at once"
"""Added to a way whose spawns follow each other without a pause."""
TRUE = "/bin/true"
MIB = 1 << 20
TARGETS_MS = {"bubblewrap": 8.0, "bubblewrap, overlay": 15.0}
"""How much more than a bare spawn a sandboxed one may cost."""
FLAT_MIB = 16

Spawn = Callable[[], Awaitable[bool]]


@dataclass(frozen=True, slots=True)
class Row:
    what: str
    measured: str
    beside: str
    """The same measure of what it is compared with."""
    target: str = ""


def rows() -> list[Row]:
    return [*spawn_rows(anyio.run(spawn_secs)), *memory_rows()]


# -- time --


def spawn_rows(taken: dict[str, list[float]]) -> list[Row]:
    found: list[Row] = []
    for name, secs in taken.items():
        bare = median(taken["bare" + AT_ONCE if name.endswith(AT_ONCE) else "bare"]) * 1000
        typical = median(secs) * 1000
        more, target = typical - bare, TARGETS_MS.get(name)
        found.append(
            Row(
                f"true, {name}",
                f"{typical:.2f} ms, at best {min(secs) * 1000:.2f}",
                f"{typical / bare:.1f} x bare, {more:+.2f} ms",
                f"at most +{target:.0f} ms: {'met' if more <= target else 'missed'}" if target is not None else "",
            )
        )
    return found


async def spawn_secs() -> dict[str, list[float]]:
    """Seconds per spawn, by way."""
    with tempfile.TemporaryDirectory() as directory:
        place = Path(directory)
        for part in ("tree", "lower", "upper", "work"):
            (place / part).mkdir()
        async with Launcher.open() as launcher:
            ways = await _ways(launcher, place)
            taken: dict[str, list[float]] = {way: [] for way in ways}
            for way, spawn in ways.items():  # the first one warms up, and shows that it works at all
                if not await spawn():
                    raise SystemExit(f"a spawn does not work here: {way}")
            for _ in range(ROUNDS):
                for way, spawn in ways.items():
                    await anyio.sleep(PAUSE_SECS)
                    taken[way].append(await _secs(spawn))
            for way, spawn in ways.items():
                await anyio.sleep(PAUSE_SECS * 10)  # what the way before has left to do is not this one's
                taken[way + AT_ONCE] = [await _secs(spawn) for _ in range(ROUNDS)]
    return taken


async def _secs(spawn: Spawn) -> float:
    began = time.perf_counter()
    await spawn()
    return time.perf_counter() - began


async def _ways(launcher: Launcher, place: Path) -> dict[str, Spawn]:
    wall = await probe(launcher, place)
    tree = str(place / "tree")
    bind, overlay = Bind(tree, tree, True), Overlay(str(place), ("lower",), "upper", "work", tree)

    async def bare() -> bool:
        return subprocess.run([TRUE], check=False).returncode == 0  # noqa: ASYNC221 - the thing that is measured

    async def plain() -> bool:
        return (await launcher.run(Command(argv=[TRUE], cwd="/", env={}))).ok

    async def strict() -> bool:
        words = [wall.bwrap or "", *bubblewrap.flags(), TRUE]
        return subprocess.run(words, check=False).returncode == 0  # noqa: ASYNC221 - the thing that is measured

    def sandboxed(layer: Bind | Overlay) -> Spawn:
        room = TreeSandbox(launcher, wall, SandboxTree(tree, (layer,)), SandboxConfig())

        async def run() -> bool:
            finished: Finished = await room.run(ShellCommand(text="true"))
            return finished.ok

        return run

    ways: dict[str, Spawn] = {"bare": bare, "launcher": plain}
    if wall.level is Level.BUBBLEWRAP:
        ways["bwrap by itself, same flags, no view"] = strict
        ways["bubblewrap"] = sandboxed(bind)
    if wall.level is Level.BUBBLEWRAP and wall.overlay:
        ways["bubblewrap, overlay"] = sandboxed(overlay)
    return ways


# -- memory --

PEAK = """
import sys
def peak():
    lines = open("/proc/self/status").read().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) >> 10
"""
THROUGH_LAUNCHER = """
import anyio
from donewhen.workspace.process.command import Command
from donewhen.workspace.process.launch import Launcher
async def main(count):
    async with Launcher.open() as launcher:
        await launcher.run(Command(argv=["/bin/true"], cwd="/", env={}))
        before = peak()
        argv = ["/usr/bin/head", "-c", count, "/dev/zero"]
        finished = await launcher.run(Command(argv=argv, cwd="/", env={}))
        print(finished.stdout.total, peak() - before, finished.duration_secs)
anyio.run(main, sys.argv[1])
"""
THROUGH_SUBPROCESS = """
import subprocess, time
subprocess.run(["/bin/true"], capture_output=True)
before, began = peak(), time.monotonic()
finished = subprocess.run(["/usr/bin/head", "-c", sys.argv[1], "/dev/zero"], capture_output=True)
print(len(finished.stdout), peak() - before, time.monotonic() - began)
"""


def memory_rows() -> list[Row]:
    ours, theirs = grown(THROUGH_LAUNCHER, 1024 * MIB), grown(THROUGH_SUBPROCESS, 256 * MIB)
    return [
        Row(
            "memory for 1024 MiB of output",
            f"+{ours[0]} MiB in {ours[1]:.2f} s",
            f"subprocess, for 256 MiB: +{theirs[0]} MiB in {theirs[1]:.2f} s",
            f"flat: {'met' if ours[0] <= FLAT_MIB else 'missed'}",
        )
    ]


def grown(program: str, count: int) -> tuple[int, float]:
    """Mebibytes that an interpreter's peak grew by, and seconds, while it took so many bytes of output."""
    argv = [sys.executable, "-c", PEAK + program, str(count)]
    printed = subprocess.run(argv, capture_output=True, text=True, check=True).stdout.split()
    assert int(printed[0]) == count
    return int(printed[1]), float(printed[2])


def main() -> None:
    table = [Row("", "measured", "beside", "target"), *rows()]
    widths = [max(len(getattr(row, field)) for row in table) for field in Row.__slots__]
    for row in table:
        cells = [getattr(row, field) for field in Row.__slots__]
        print("  ".join(cell.ljust(width) for cell, width in zip(cells, widths, strict=True)).rstrip())


if __name__ == "__main__":
    main()
