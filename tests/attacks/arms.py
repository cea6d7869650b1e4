"""Run every attack without isolation and at each isolation level, as the current user, and print the results as JSON.

    python arms.py HOME WORLD [caged]

HOME and WORLD are directories of that user. WORLD is readable for everybody. An arm is one way to run an attack:
without isolation, with bubblewrap and a layered or a copied tree, with Landlock.
"""

import contextlib
import dataclasses
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import AsyncGenerator
from dataclasses import dataclass
from pathlib import Path

import anyio
from attack import PRELUDE, PYTHON, Attack
from on_kernel import C_SOURCE
from outside import Outside, Sign, write_bait
from probes import ATTACKS

from donewhen.errors import MachineryBroke
from donewhen.workspace.process.command import End
from donewhen.workspace.process.launch import Launcher
from donewhen.workspace.process.launcher import kernel
from donewhen.workspace.sandbox.level import Level, SandboxProbe, probe
from donewhen.workspace.sandbox.limits import ResourceLimits
from donewhen.workspace.sandbox.sandbox import SandboxConfig, SandboxTree, ShellCommand, TreeSandbox
from donewhen.workspace.sandbox.seccomp import TABLES
from donewhen.workspace.sandbox.view import Bind, Overlay

MIB = 1 << 20
LIMITS = ResourceLimits(processes=100, memory=256 * MIB, file_bytes=32 * MIB, scratch=32 * MIB, disk_reserve=0)
SECONDS = 20
WALLS = ("overlay", "plain", "landlock")
CAGE = ["unshare", "--pid", "--fork", "--mount-proc", "--kill-child"]


@dataclass
class Row:
    """The results of one attack."""

    id: str
    name: str
    control: bool
    """True if it succeeds without isolation. An attack that does not succeed there proves nothing."""
    reason: str
    """The last line that it printed without isolation."""
    walls: dict[str, list[str]] = dataclasses.field(default_factory=dict[str, list[str]])
    """By arm: the signs of success that were seen. Empty if the isolation held."""


@dataclass(frozen=True)
class AttackScene:
    """The directories for the attacks of one user, and the available isolation levels."""

    home: Path
    world: Path
    level: SandboxProbe
    launcher: Launcher
    calls: Path
    """The program made from `C_SOURCE`, if there is a compiler."""

    def home_for(self, attack: Attack) -> Path:
        return Path(f"/tmp/{self.world.name}-home") if attack.linked_home else self.home

    def walls_for(self, attack: Attack) -> list[str]:
        bubblewrap = self.level.level is Level.BUBBLEWRAP
        there = {
            "overlay": bubblewrap and self.level.overlay,
            "plain": bubblewrap and not attack.overlay_only,
            "landlock": bool(self.level.landlock_abi) and not attack.overlay_only,
        }
        return [wall for wall in WALLS if there[wall]]


@contextlib.asynccontextmanager
async def prepared(home: Path, world: Path) -> AsyncGenerator[AttackScene]:
    real_home, link = world / "real-home", Path(f"/tmp/{world.name}-home")
    real_home.mkdir(exist_ok=True)
    link.symlink_to(real_home)
    try:
        with tempfile.TemporaryDirectory(dir=home) as name:
            calls = compiled(Path(name))
            async with Launcher.open() as launcher:
                level = await probe(launcher, Path(name))
                yield AttackScene(home, world, level, launcher, calls)
    finally:
        link.unlink()
        shutil.rmtree(real_home)


def compiled(directory: Path) -> Path:
    (directory / "calls.c").write_text(C_SOURCE)
    if shutil.which("gcc"):
        subprocess.run(["gcc", "-o", "calls", "calls.c"], cwd=directory, check=False)
    return directory / "calls"


async def all_rows(home: Path, world: Path, sparse: int, caged: bool) -> list[Row]:
    """Return every `sparse`-th attack."""
    async with prepared(home, world) as grounds:
        return [await row(attack, grounds) for attack in ATTACKS[::sparse] if attack.caged == caged]


async def row(attack: Attack, grounds: AttackScene) -> Row:
    signs, output = without_a_wall(attack, grounds)
    lines = output.decode("utf-8", "replace").split("\n")
    found = Row(attack.id, attack.name, attack.sign in signs, next(filter(None, reversed(lines)), "it has no effect"))
    if found.control:
        for wall in grounds.walls_for(attack):
            found.walls[wall] = sorted(sign.name for sign in await behind(wall, attack, grounds))
    return found


def without_a_wall(attack: Attack, grounds: AttackScene) -> tuple[set[Sign], bytes]:
    """Run it as a careless harness would: with its own environment and descriptors."""
    home = grounds.home_for(attack)
    with tempfile.TemporaryDirectory(dir=home) as name, tempfile.TemporaryFile() as output:
        tree = Path(name, "tree")
        write_bait(tree)
        bring(attack, tree, grounds)
        with Outside(home, grounds.world, tree) as outside:
            outside.listeners.listen_late()
            subprocess.run(
                ["timeout", "--foreground", str(SECONDS), "/bin/sh", "-c", shell_text(attack)],
                cwd=start(attack, outside, tree),
                env={**os.environ, **outside.variables(), **outside.only_outside(), "HOME": str(home)},
                close_fds=False,
                stdin=outside.inherited,
                stdout=output,
                stderr=subprocess.STDOUT,
                check=False,
            )
            output.seek(0)
            printed = output.read()
            return outside.signs(printed), printed


def bring(attack: Attack, tree: Path, grounds: AttackScene) -> None:
    if "./calls" in attack.program and grounds.calls.exists():
        shutil.copy(grounds.calls, tree)


def start(attack: Attack, outside: Outside, tree: Path) -> Path:
    return outside.out if attack.dir == "OUT" else tree / attack.dir


def shell_text(attack: Attack) -> str:
    """Pass a Python program as an argument, because standard input is one of the targets."""
    if not attack.program.startswith(PYTHON):
        return attack.program
    program = PRELUDE.format(numbers=TABLES[kernel.machine()].numbers) + attack.program
    return "exec /usr/bin/python3 -c '{}'".format(program.replace("'", "'\\''"))


async def behind(wall: str, attack: Attack, grounds: AttackScene) -> set[Sign]:
    home = grounds.home_for(attack)
    with tempfile.TemporaryDirectory(dir=home) as name:
        session = Path(name)
        for part in ("upper", "work", "scratch"):
            (session / part).mkdir()
        bring(attack, session / "upper", grounds)
        with Outside(home, grounds.world, session / "upper") as outside:
            os.environ.update({"HOME": str(home), **outside.only_outside()})
            level = Level.LANDLOCK if wall == "landlock" else Level.BUBBLEWRAP
            place = place_of(wall, session, outside)
            config = SandboxConfig(network=attack.network, limits=LIMITS)
            async with launcher_for(attack, grounds) as launcher:
                room = TreeSandbox(launcher, dataclasses.replace(grounds.level, level=level), place, config)
                signs = outside.signs(await output_of(attack, room, outside, Path(place.root)))
        for entry in (session / "work").iterdir():
            entry.chmod(0o700)
    return signs


def place_of(wall: str, session: Path, outside: Outside) -> SandboxTree:
    tree = session / "upper"
    if wall == "overlay":
        root = str(outside.home / "project")
        layers = (Overlay(str(session), (str(outside.base),), "upper", "work", root),)
    else:
        root = str(tree)
        write_bait(tree)
        layers = (Bind(root, root, writable=True),)
    return SandboxTree(root, layers, (str(outside.hidden),), outside.variables(), str(session / "scratch"))


@contextlib.asynccontextmanager
async def launcher_for(attack: Attack, grounds: AttackScene) -> AsyncGenerator[Launcher]:
    """Return the shared launcher, or a new one for an attack that may have killed the shared one in an earlier arm."""
    if not attack.caged:
        yield grounds.launcher
        return
    async with Launcher.open() as launcher:
        yield launcher


async def output_of(attack: Attack, room: TreeSandbox, outside: Outside, root: Path) -> bytes:
    if "SOCK_LATE" in attack.program:
        await room.run(ShellCommand(text="true"))
        outside.listeners.listen_late()
    directory = str(start(attack, outside, root))
    try:
        finished = await room.run(ShellCommand(text=shell_text(attack), dir=directory, timeout_secs=SECONDS))
    except MachineryBroke:
        return outside.token.encode()  # the launcher itself is one of the possible victims
    # If the directory to start in is missing, the attack was stopped before it began.
    if finished.end is End.COULD_NOT_START and not (attack.dir and "chdir" in finished.reason):
        raise SystemExit(f"{attack.name}: {finished.reason}")
    return finished.stdout.whole()


def caged_rows(home: Path, world: Path, sparse: str) -> list[Row]:
    """Attacks that would kill every visible process. This file runs them as the first process of a namespace."""
    as_oneself = [] if os.geteuid() == 0 else ["--user", "--map-current-user"]
    command = [*CAGE, *as_oneself, sys.executable, __file__, str(home), str(world), sparse, "caged"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    if done.returncode != 0:
        raise SystemExit(done.stderr)
    return [Row(**fields) for fields in json.loads(done.stdout)]


def main() -> None:
    home, world, sparse, *rest = sys.argv[1:]
    rows = anyio.run(all_rows, Path(home), Path(world), int(sparse), bool(rest))
    if not rest:
        rows += caged_rows(Path(home), Path(world), sparse)
    sys.stdout.write(json.dumps([dataclasses.asdict(found) for found in rows]))


if __name__ == "__main__":
    main()
