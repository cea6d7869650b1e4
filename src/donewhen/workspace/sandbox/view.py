"""What a sandboxed command sees, as data: the machine thinned out, the home, the tree at the repository's own path.

The machine is read-only, with no sockets, no other people's files and nothing that not everybody may read. That last
rule matters most for root, whose commands keep root's file ownership inside although they hold no capability: without
it /etc/shadow would be readable and /proc/sys writable.

A view is the list of mounts that the launcher makes on top of a read-only machine, outer ones before inner ones.
"""

import os
import stat
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from donewhen.workspace.sandbox import home

SHELF = "/run"
VOLATILE = (
    SHELF, "/var/run", "/tmp", "/var/tmp", "/home", "/root", "/media", "/mnt", "/lost+found", "/boot", "/var/mail",
    "/var/spool", "/var/log", "/var/cache", "/var/backups", "/var/crash", "/var/lib/private", "/var/lib/docker",
    "/var/lib/containerd", "/var/lib/systemd", "/etc/ssl/private", "/etc/docker",
)  # fmt: skip
"""Directories that appear empty: sockets, secrets, other users and removable disks live there."""
SCANNED = (("/etc", 4), ("/var/lib", 2), ("/opt", 2), ("/srv", 2))
"""Where private files are looked for, and how deep; a private directory is emptied whole, and not descended."""
SCRATCH = ("/tmp", "/var/tmp")

Step = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Bind:
    """A path of the host shown at `at`."""

    source: str
    at: str
    writable: bool = False

    def step(self) -> Step:
        return {"kind": "bind", "source": self.source, "at": self.at, "writable": self.writable}


@dataclass(frozen=True, slots=True)
class Overlay:
    """Layers shown as one tree at `at`; `lower` (top first), `upper` and `work` are relative to `beside`."""

    beside: str
    lower: tuple[str, ...]
    upper: str
    work: str
    at: str

    def step(self) -> Step:
        layers = {"beside": self.beside, "lower": list(self.lower), "upper": self.upper, "work": self.work}
        return {"kind": "overlay", "at": self.at, "writable": True, **layers}


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What a view is made for."""

    home: Path
    path: str
    tree: tuple[Bind | Overlay, ...]
    hidden: tuple[str, ...] = ()
    """Directories to empty besides the machine's: stores and other sessions' trees."""
    shown: tuple[str, ...] = ()
    """Files and sockets let in although they lie in an emptied directory."""
    files: Mapping[str, str] | None = None
    """Files of ours over files of the machine, by path."""
    scratch_bytes: int = 0


def of_machine(wanted: Wanted) -> tuple[Step, ...]:
    empty = _outermost([*(d for d in VOLATILE if _real_dir(d)), *wanted.hidden])
    scratch = [place for place in SCRATCH if _real_dir(place)]
    toolchains = home.toolchains(wanted.home, home.search_path(wanted.path), empty)
    private = [p for p in private_paths() if not _beneath(p, empty)]
    covered = [*empty, str(wanted.home), *(p for p in private if os.path.isdir(p))]
    sockets = [p for p in listening_sockets() if not _beneath(p, covered) and p not in wanted.shown]
    size = wanted.scratch_bytes
    steps: list[Step] = [_tmpfs(place, "1777" if place in scratch else "755", size) for place in empty]
    steps += [_tmpfs(place, "1777", size) for place in scratch if place not in empty]
    steps += [_masked(p, size) for p in (*private, *sockets)]
    steps += [_tmpfs(str(wanted.home), "755", size)]
    steps += [Bind(str(p), str(p)).step() for p in (*toolchains, *wanted.shown)]
    steps += [_masked(str(p), size) for p in home.secrets(wanted.home, toolchains)]
    steps += [{"kind": "file", "at": at, "content": text} for at, text in (wanted.files or {}).items()]
    steps += [layer.step() for layer in wanted.tree]
    return tuple(steps)


def _tmpfs(at: str, mode: str, size: int) -> Step:
    return {"kind": "tmpfs", "at": at, "mode": mode, "size": size}


def _masked(path: str, size: int) -> Step:
    return _tmpfs(path, "555", size) if os.path.isdir(path) else {"kind": "blank", "at": path}


def _real_dir(path: str) -> bool:
    return os.path.isdir(path) and not os.path.islink(path)


def _outermost(paths: list[str]) -> list[str]:
    """Without those that lie beneath another one."""
    unique = list(dict.fromkeys(paths))
    return [p for p in unique if not _beneath(p, [other for other in unique if other != p])]


def _beneath(path: str, places: list[str]) -> bool:
    return any(path == place or path.startswith(place.rstrip("/") + "/") for place in places)


@cache
def private_paths() -> tuple[str, ...]:
    """Files and directories that this user may read and not everybody may: outermost ones, empty ones left out."""
    return tuple(path for root, depth in SCANNED if _real_dir(root) for path in _private_beneath(root, depth))


def _private_beneath(directory: str, depth: int) -> Iterator[str]:
    try:
        entries = list(os.scandir(directory))
    except OSError:
        return
    for entry in entries:
        try:
            status = entry.stat(follow_symlinks=False)
        except OSError:
            continue
        mode = status.st_mode
        if stat.S_ISLNK(mode) or (stat.S_ISREG(mode) and not status.st_size):
            continue
        everybody = stat.S_IROTH | (stat.S_IXOTH if stat.S_ISDIR(mode) else 0)
        if mode & everybody != everybody and os.access(entry.path, os.R_OK):
            yield entry.path
        elif stat.S_ISDIR(mode) and depth > 1:
            yield from _private_beneath(entry.path, depth - 1)


def listening_sockets() -> tuple[str, ...]:
    """Unix sockets of this machine that exist as files: connecting to one works through a read-only mount."""
    try:
        lines = Path("/proc/net/unix").read_text(errors="surrogateescape").splitlines()[1:]
    except OSError:
        return ()
    named = {line.split(None, 7)[7] for line in lines if len(line.split(None, 7)) == 8}
    return tuple(sorted(path for path in named if path.startswith("/") and os.path.exists(path)))
