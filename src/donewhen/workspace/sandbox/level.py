"""The isolation level of this machine. Found by running each mechanism, never by guessing from a version.

    bubblewrap   namespaces, private mounts, seccomp: the full sandbox
    landlock     kernel file rules and seccomp in the host's namespaces: used where namespaces are forbidden
    none         no isolation; also where Landlock is too old to block signals to the user's other processes

`probe` runs real commands through the launcher and returns a value that the caller keeps.
"""

import json
import os
import shutil
from dataclasses import fields
from enum import Enum
from pathlib import Path
from typing import Any

from donewhen.records import frozen
from donewhen.workspace.files import write_atomically
from donewhen.workspace.process.command import Command, Confinement, End, Finished
from donewhen.workspace.process.launch import Launcher

SYSTEM_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
"""Our helper programs are looked up only here: a `bwrap` in the working tree is never run."""
PROBE_SECS = 10.0
LEAST_LANDLOCK = 6
"""The first Landlock version that blocks signals. With an older one, a command could kill every process of its user:
the system-call filter cannot tell the command's processes from others. Versions before 3 also allow it to truncate
files, and versions before 5 to use devices."""
SWITCHES = (
    "kernel/apparmor_restrict_unprivileged_userns",
    "kernel/unprivileged_userns_clone",
    "user/max_user_namespaces",
)
"""Kernel settings that forbid namespaces. If one changes, a recorded probe is invalid."""


class Level(Enum):
    BUBBLEWRAP = "bubblewrap"
    LANDLOCK = "landlock"
    NONE = "none"


@frozen
class SandboxProbe:
    """The result of a probe."""

    level: Level
    bwrap: str | None
    bwrap_version: str
    bwrap_problem: str
    overlay: bool
    overlay_problem: str
    landlock_abi: int
    seccomp: bool
    landlock_problem: str = ""
    """Why Landlock cannot be used here. Only checked if bubblewrap cannot be used."""

    @property
    def path_transparent(self) -> bool:
        """True if a tree can appear at the repository's own path."""
        return self.level is Level.BUBBLEWRAP


async def probe(launcher: Launcher, scratch: Path) -> SandboxProbe:
    """Try every isolation mechanism. `scratch` is a directory on the file system that will hold the trees."""
    # Imported here: nearly always the result is recorded already (`recorded_probe`) and no trial is needed.
    from donewhen.workspace.process.launcher import kernel
    from donewhen.workspace.sandbox import bubblewrap, seccomp

    program = shutil.which("bwrap", path=SYSTEM_PATH)
    version, problem = "", "bubblewrap is not installed"
    if program is not None:
        version = (await _run(launcher, [program, "--version"])).stdout.whole().decode().split()[-1]
        # Inside a mount namespace of the launcher, like every real command: one may be allowed without the other.
        nested = Confinement(mounts=({"kind": "tmpfs", "at": "/tmp", "mode": "1777", "size": 1 << 20},))
        problem = _problem(await _run(launcher, [program, *bubblewrap.flags(), "/bin/true"], nested))
    overlay_problem = await _try_overlay(launcher, scratch)
    abi = kernel.landlock_abi()
    filtered = bool(seccomp.program(kernel.machine()))
    without = await try_landlock(launcher, abi) if problem else ""
    level = Level.BUBBLEWRAP if not problem else Level.NONE if without else Level.LANDLOCK
    return SandboxProbe(level, program, version, problem, not overlay_problem, overlay_problem, abi, filtered, without)


async def try_landlock(launcher: Launcher, abi: int, least: int = LEAST_LANDLOCK) -> str:
    """Return why Landlock of this version cannot isolate on this machine; empty if it can."""
    from donewhen.workspace.process.launcher import kernel
    from donewhen.workspace.sandbox import landlock, seccomp

    program = seccomp.program(kernel.machine(), (), own_namespaces=False)
    if not program:
        return f"no system-call filter for {kernel.machine()}"
    if abi < least:
        found = f"version {abi}" if abi else "not there"
        return f"Landlock is {found} and version {least} is needed, Linux 6.12 or later"
    allowed = landlock.Allowed(network=False, readable=(), writable=(), closed=())
    held = Confinement(landlock=landlock.ruleset(abi, allowed), seccomp=program)
    # The shell must start, and must not be able to signal this process.
    problem = _problem(await _run(launcher, ["/bin/sh", "-c", f"! kill -0 {os.getpid()} 2>/dev/null"], held))
    return f"Landlock does not work: {problem}" if problem else ""


async def recorded_probe(launcher: Launcher, state: Path) -> SandboxProbe:
    """Return the probe for this boot, kernel, user and bubblewrap. Run it once and record it in `state`."""
    record = state / "probe.json"
    program = shutil.which("bwrap", path=SYSTEM_PATH)
    stamp = Path(program).stat().st_mtime_ns if program else 0
    boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    switches = " ".join(_switch(name) for name in SWITCHES)
    # Everything that the result depends on.
    key = f"{boot} {os.uname().release} {os.geteuid()} {program} {stamp} {LEAST_LANDLOCK} {switches}"
    try:
        known: dict[str, Any] = json.loads(record.read_text())
        known["level"] = Level(known["level"])
        if known.pop("key") == key:
            return SandboxProbe(**known)
    except (OSError, ValueError, KeyError, TypeError):
        record.unlink(missing_ok=True)
    found = await probe(launcher, state)
    values = {field.name: getattr(found, field.name) for field in fields(SandboxProbe)}
    write_atomically(record, json.dumps({**values, "level": found.level.value, "key": key}))
    return found


def _switch(name: str) -> str:
    try:
        return Path("/proc/sys", name).read_text().strip()
    except OSError:
        return "-"


async def _run(launcher: Launcher, argv: list[str], confinement: Confinement | None = None) -> Finished:
    env = {"PATH": SYSTEM_PATH, "LC_ALL": "C.UTF-8"}
    confinement = confinement or Confinement()
    return await launcher.run(Command(argv=argv, cwd="/", env=env, timeout_secs=PROBE_SECS, confinement=confinement))


async def _try_overlay(launcher: Launcher, scratch: Path) -> str:
    import tempfile

    from donewhen.workspace.sandbox.view import Overlay

    with tempfile.TemporaryDirectory(dir=scratch, prefix="overlay-probe-") as name:
        place = Path(name)
        for part in ("lower", "upper", "work", "at"):
            (place / part).mkdir()
        (place / "lower" / "file").write_text("lower")
        overlay = Overlay(str(place), ("lower",), "upper", "work", str(place / "at"))
        script = 'echo upper > "$1/file" && mkdir "$1/new" && rm "$1/file"'
        argv = ["/bin/sh", "-c", script, "sh", str(place / "at")]
        problem = _problem(await _run(launcher, argv, Confinement(layers=(overlay.step(),))))
        if not problem and not (place / "upper" / "new").is_dir():
            problem = "the overlay lost what was written"
        _make_removable(place / "work")
        return problem


def _make_removable(directory: Path) -> None:
    """Make an overlay's work directory removable: the kernel leaves an unreadable directory in it."""
    for entry in directory.iterdir():
        entry.chmod(0o700)


def _problem(finished: Finished) -> str:
    if finished.ok:
        return ""
    if finished.end is End.COULD_NOT_START:
        return finished.reason
    return finished.stderr.whole().decode("utf-8", "replace").strip() or f"exited with {finished.exit_code}"


def fix(probe: SandboxProbe, release: dict[str, str] | None = None) -> str:
    """Return the command line that would enable bubblewrap on this machine; empty if it works already."""
    if probe.level is Level.BUBBLEWRAP:
        return ""
    family = (release or os_release()).get("ID", "")
    if probe.bwrap is None:
        return INSTALL.get(family, "install the package bubblewrap")
    if Path("/proc/sys/kernel/apparmor_restrict_unprivileged_userns").exists():
        return "sudo sysctl -w kernel.apparmor_restrict_unprivileged_userns=0   (or an AppArmor profile for bwrap)"
    if Path("/proc/sys/kernel/unprivileged_userns_clone").exists():
        return "sudo sysctl -w kernel.unprivileged_userns_clone=1"
    return "sudo sysctl -w user.max_user_namespaces=15000   (in a container: allow user namespaces)"


INSTALL = {
    "debian": "sudo apt-get install bubblewrap",
    "ubuntu": "sudo apt-get install bubblewrap",
    "fedora": "sudo dnf install bubblewrap",
    "arch": "sudo pacman -S bubblewrap",
    "opensuse-tumbleweed": "sudo zypper install bubblewrap",
    "alpine": "sudo apk add bubblewrap",
}


def os_release() -> dict[str, str]:
    try:
        lines = Path("/etc/os-release").read_text().splitlines()
    except OSError:
        return {}
    return {key: value.strip('"') for key, _, value in (line.partition("=") for line in lines) if key}


def is_root() -> bool:
    return os.geteuid() == 0
