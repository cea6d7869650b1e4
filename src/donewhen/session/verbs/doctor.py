"""Diagnosis of this machine: what it can and cannot do for donewhen, found by trying, with what a person can do.

It works outside a repository as well. It changes nothing but the record of the probe.
"""

import os
import platform
import shutil
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from donewhen import __version__
from donewhen.errors import BadInput
from donewhen.records import frozen
from donewhen.session.settings.trust import TrustBook
from donewhen.workspace.files import disk_use
from donewhen.workspace.process.command import Command
from donewhen.workspace.process.launch import Launcher
from donewhen.workspace.process.launcher import cgroup
from donewhen.workspace.sandbox import level
from donewhen.workspace.sandbox.level import SYSTEM_PATH, Level, SandboxProbe
from donewhen.workspace.sandbox.limits import ResourceLimits
from donewhen.workspace.state_dir import state_root

OLDEST_GIT = (2, 38)
GIB = 1 << 30


@frozen
class Diagnosis:
    name: str
    ok: bool
    found: str
    cost: str = ""
    """What its absence costs."""
    fix: str = ""
    """The line to type."""


async def diagnose() -> list[Diagnosis]:
    """Return all findings, in order of importance."""
    state = state_root(os.environ)
    async with Launcher.open() as launcher:
        probe = await level.recorded_probe(launcher, state)
        git = await _git(launcher)
        agents, some = await _agents(launcher)
    who = [_models(some), agents]
    version = f"{platform.python_version()} ({sys.executable}), donewhen {__version__}"
    python = Diagnosis("python", True, version)
    trust = Diagnosis("trust", True, f"{TrustBook(state).count()} files of repositories accepted")
    findings = [_isolation(probe), *_parts(probe), git, python, *who, *_disk(state), trust]
    return [replace(finding, cost="", fix="") if finding.ok else finding for finding in findings]


def _models(agents: bool) -> Diagnosis:
    """Return the finding about models. A missing model costs little if an agent is ready."""
    from donewhen.model.router import candidates

    ready = candidates(os.environ)
    needs = "set ANTHROPIC_API_KEY, OPENAI_API_KEY, GEMINI_API_KEY or OLLAMA_HOST"
    found = ", ".join(ready) or ("no key found; an agent is ready" if agents else "no key found")
    return Diagnosis(
        "models", bool(ready) or agents, found, "`run` has no engine to use; `demo` works without one", needs
    )


async def _agents(launcher: Launcher) -> tuple[Diagnosis, bool]:
    """Return the finding about installed agents, and whether one is ready.

    An agent is not required, but one that was pinned should work.
    """
    from donewhen.session.crew.agent_list import agents_here

    try:
        here = [one for one in await agents_here(launcher=launcher) if one.status != "missing"]
    except BadInput as error:
        return Diagnosis(
            "agents", False, str(error), "agents of the settings are not found", "correct that file"
        ), False
    shown = ", ".join(f"{one.name} {one.version}".strip() + f" ({one.status.replace('_', ' ')})" for one in here)
    broken = [one for one in here if one.status == "not_executable"]
    fix = "; ".join(f"{one.name}: {one.reason}" for one in broken)
    found = shown or "no supported agent is installed"
    return Diagnosis("agents", not broken, found, "they cannot be used", fix), any(one.ready for one in here)


def _isolation(probe: SandboxProbe) -> Diagnosis:
    costs = {
        Level.BUBBLEWRAP: "",
        Level.LANDLOCK: ("weaker isolation: no private paths, no loopback, no shared environments, metadata visible"),
        Level.NONE: 'nothing runs: isolation = "required" needs a sandbox',
    }
    who = "root" if level.is_root() else "an ordinary user"
    found = f"level {probe.level.value}, as {who}"
    return Diagnosis("isolation", probe.level is Level.BUBBLEWRAP, found, costs[probe.level], level.fix(probe))


def _parts(probe: SandboxProbe) -> Iterator[Diagnosis]:
    version = f"{probe.bwrap} {probe.bwrap_version}" if probe.bwrap else "not installed"
    wall = probe.level is Level.BUBBLEWRAP
    yield Diagnosis(
        "bubblewrap", wall, version if wall else f"{version}: {probe.bwrap_problem}", "see isolation", level.fix(probe)
    )
    slow = "trees are full copies: seconds instead of milliseconds for a large repository"
    overlay = "mounts in a user namespace" if probe.overlay else probe.overlay_problem
    where = "keep $XDG_STATE_HOME on ext4, xfs, btrfs or tmpfs"
    yield Diagnosis("overlayfs", probe.overlay, overlay, slow, where)
    landlock = f"version {probe.landlock_abi}" if probe.landlock_abi else "not in this kernel"
    needed = (
        "no second layer for abstract sockets where the network is shared, and no isolation without user namespaces"
    )
    yield Diagnosis(
        "landlock", probe.landlock_abi >= level.LEAST_LANDLOCK, landlock, needed, "a kernel of 6.12 or later"
    )
    seccomp = "filter loaded" if probe.seccomp else f"no table for {platform.machine()}"
    yield Diagnosis("seccomp", probe.seccomp, seccomp, "system calls are not filtered")
    limits = ResourceLimits()
    bounds = (
        f"{limits.processes} processes, {limits.memory / GIB:.1f} GiB memory, {limits.file_bytes // GIB} GiB a file"
    )
    yield Diagnosis("limits", True, f"{bounds}, by {'control group' if cgroup.available() else 'watcher'}")


async def _git(launcher: Launcher) -> Diagnosis:
    program = shutil.which("git", path=SYSTEM_PATH)
    if program is None:
        return Diagnosis(
            "git", False, "not installed", "donewhen works on git repositories only", "sudo apt-get install git"
        )
    finished = await launcher.run(Command(argv=[program, "version"], cwd="/", env={"PATH": SYSTEM_PATH}))
    text = finished.stdout.whole().decode("utf-8", "replace").split()
    version = text[2] if len(text) > 2 else "unknown"
    numbers = tuple(int(part) for part in version.split(".")[:2] if part.isdecimal())
    return Diagnosis(
        "git", numbers >= OLDEST_GIT, version, "older versions lack options we rely on", "git 2.38 or later"
    )


def _disk(state: Path) -> Iterator[Diagnosis]:
    free = shutil.disk_usage(state).free
    enough = free > 2 * GIB
    yield Diagnosis(
        "disk",
        enough,
        f"{free / GIB:.1f} GiB free",
        "commands stop when less than 0.5 GiB is left",
        f"free space for {state}",
    )
    repos = state / "repos"
    parts = {"layers": ("bases", "setups"), "trees": ("trees",), "store": ("store",)}
    used = {
        part: sum(disk_use(directory) for kind in kinds for directory in repos.glob(f"*/{kind}"))
        for part, kinds in parts.items()
    }
    shown = ", ".join(f"{part} {size / (1 << 20):.1f}" for part, size in used.items())
    yield Diagnosis("state", True, f"{state}: {len(list(repos.glob('*')))} repositories, {shown} MiB")
