"""The file system view of a sandboxed command, as data: a reduced machine, the home, the tree at the repository's path.

The machine is read-only, without sockets, other users' files, or anything that is not world-readable. The last rule
matters most for root: its commands keep root's file ownership inside although they hold no capability. Without the rule
/etc/shadow would be readable and /proc/sys writable.

A view is the list of mounts that the launcher makes on top of a read-only machine, outer ones before inner ones. The
tree is mounted last and is not part of the view computed here.
"""

import functools
import os
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from donewhen.records import frozen
from donewhen.workspace.sandbox import home, machine
from donewhen.workspace.sandbox.machine import beneath

OWN_DIRECTORY = "/run"
"""The directory that the launcher uses while it builds a view. It is empty in the finished view."""
SCRATCH = ("/tmp", "/var/tmp")
ONE_PAGE = 4096
FRESH_SECS = 10
"""How long a view is reused. New sockets of the machine are only seen after that."""

Step = Mapping[str, Any]


@frozen
class Bind:
    """A host path shown at `at`."""

    source: str
    at: str
    writable: bool = False
    within: str = ""
    """The tree that contains `at`: between its root and `at`, no link of the tree is followed."""

    def step(self) -> Step:
        about = {"source": self.source, "at": self.at, "writable": self.writable, "within": self.within}
        return {"kind": "bind", **about}


@frozen
class Overlay:
    """An overlay mounted at `at`. `lower` (top first), `upper` and `work` are relative to `directory`."""

    directory: str
    lower: tuple[str, ...]
    upper: str
    work: str
    at: str
    borrowed: tuple[str, str] | None = None
    """Instead of `lower`: a host directory and a path below it, opened without following a link."""
    within: str = ""
    """As in `Bind`."""
    read_only: bool = False
    """True if nothing below `at` can be written."""

    def step(self) -> Step:
        layers = {"beside": self.directory, "lower": list(self.lower), "upper": self.upper, "work": self.work}
        about = {"at": self.at, "borrowed": self.borrowed, "within": self.within, "read_only": self.read_only}
        return {"kind": "overlay", **about, **layers}


@frozen(kw_only=True)
class ViewRequest:
    """The inputs of a view."""

    home: Path
    path: str
    tree: tuple[Bind | Overlay, ...]
    hidden: tuple[str, ...] = ()
    """Directories to empty besides those of the machine: stores and other sessions' trees."""
    shown: tuple[str, ...] = ()
    """Files and sockets that are shown although they are in an emptied directory."""
    files: Mapping[str, str] | None = None
    """Path → content of files that replace files of the machine."""
    scratch_bytes: int = 0


def of_machine(wanted: ViewRequest) -> tuple[Step, ...]:
    """Return the view for a tree. Computing it takes longer than using it, so it is cached for `FRESH_SECS`."""
    places = tuple(sorted({layer.at for layer in wanted.tree}))
    files = tuple((wanted.files or {}).items())
    return _of_machine(replace(wanted, tree=(), files=None), places, files, int(time.monotonic() // FRESH_SECS))


@functools.lru_cache(maxsize=16)
def _of_machine(
    wanted: ViewRequest, places: tuple[str, ...], files: tuple[tuple[str, str], ...], tick: int
) -> tuple[Step, ...]:
    """Compute the mounts. A private directory in which something must appear is replaced by an empty one."""
    del tick  # only part of the cache key, so that cached views expire
    private = machine.private_paths()
    volatile = [*machine.volatile_places(), *machine.homes(wanted.home), *wanted.hidden]
    needed = [*places, *home.search_path(wanted.path)]
    emptied = list(dict.fromkeys([*volatile, *(place for place in map(machine.closed_above, needed) if place)]))
    empty = [place for place in emptied if not beneath(place, [other for other in emptied if other != place])]
    closed = [*empty, *(place for place in private if os.path.isdir(place) and not beneath(place, empty))]
    toolchains = home.toolchains(wanted.home, home.search_path(wanted.path), closed, places)
    shown = [str(place) for place in toolchains]
    steps: list[Step] = [{"kind": "tmpfs", "at": OWN_DIRECTORY, "mode": "755", "size": wanted.scratch_bytes}]
    steps += [{"kind": "devices", "at": "/dev", "shm": wanted.scratch_bytes}]
    sockets = [path for path in machine.listening_sockets() if path not in wanted.shown]
    snapshots = machine.services_places(empty)
    steps += [
        {"kind": "snapshot", "at": place, "sockets": [path for path in sockets if beneath(path, [place])]}
        for place in snapshots
    ]
    steps += [_empty(place) for place in closed if place != OWN_DIRECTORY]
    # The home again, in case it is below an emptied directory: it must exist. Some accounts have / as home.
    steps += [_empty(place) for place in (str(wanted.home), OWN_DIRECTORY) if place != "/"]
    steps += [_blank(place) for place in private if not beneath(place, closed)]
    steps += [Bind(place, place).step() for place in (*shown, *wanted.shown)]
    for path in map(str, home.secrets(wanted.home, toolchains)):
        masked: Step = {"kind": "tmpfs", "at": path, "mode": "555", "size": ONE_PAGE}
        steps.append(masked if os.path.isdir(path) else _blank(path))
    steps += [_blank(path) for path in sockets if not beneath(path, [*closed, *snapshots]) or beneath(path, shown)]
    steps += [{"kind": "file", "at": at, "content": text} for at, text in files]
    return tuple(steps)


def _empty(at: str) -> Step:
    return {"kind": "empty", "at": at, "mode": "1777" if at in SCRATCH else "755"}


def _blank(at: str) -> Step:
    return {"kind": "blank", "at": at}
