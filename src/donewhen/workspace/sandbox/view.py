"""What a sandboxed command sees, as data: the machine thinned out, the home, the tree at the repository's own path.

The machine is read-only, with no sockets, no other people's files and nothing that not everybody may read. That last
rule matters most for root, whose commands keep root's file ownership inside although they hold no capability: without
it /etc/shadow would be readable and /proc/sys writable.

A view is the list of mounts that the launcher makes on top of a read-only machine, outer ones before inner ones; the
tree comes last, and is no part of what is found here.
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

SHELF = "/run"
"""Where the launcher keeps what it needs while it puts a view together; in the end it is empty, too."""
SCRATCH = ("/tmp", "/var/tmp")
ONE_PAGE = 4096
FRESH_SECS = 10
"""How long it is believed that the machine has not got new sockets and private files."""

Step = Mapping[str, Any]


@frozen
class Bind:
    """A path of the host shown at `at`."""

    source: str
    at: str
    writable: bool = False
    within: str = ""
    """The tree in which it appears: on the way from there to `at`, no link of the tree is followed."""

    def step(self) -> Step:
        about = {"source": self.source, "at": self.at, "writable": self.writable, "within": self.within}
        return {"kind": "bind", **about}


@frozen
class Overlay:
    """Layers shown as one tree at `at`; `lower` (top first), `upper` and `work` are relative to `beside`."""

    beside: str
    lower: tuple[str, ...]
    upper: str
    work: str
    at: str
    borrowed: tuple[str, str] | None = None
    """Instead of `lower`: a directory of the host and a path below it, reached without following a link."""
    within: str = ""
    """As in `Bind`."""

    def step(self) -> Step:
        layers = {"beside": self.beside, "lower": list(self.lower), "upper": self.upper, "work": self.work}
        return {"kind": "overlay", "at": self.at, "borrowed": self.borrowed, "within": self.within, **layers}


@frozen(kw_only=True)
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
    """The view for a tree. Finding it out takes longer than using it, so that it is done anew only now and then."""
    places = tuple(sorted({layer.at for layer in wanted.tree}))
    files = tuple((wanted.files or {}).items())
    return _of_machine(replace(wanted, tree=(), files=None), places, files, int(time.monotonic() // FRESH_SECS))


@functools.lru_cache(maxsize=16)
def _of_machine(
    wanted: Wanted, places: tuple[str, ...], files: tuple[tuple[str, str], ...], tick: int
) -> tuple[Step, ...]:
    """Where something has to appear in a private directory, that directory is replaced by an empty one."""
    del tick  # only so that what is remembered does not stay for ever
    private = machine.private_paths()
    volatile = [*machine.volatile_places(), *machine.homes(wanted.home), *wanted.hidden]
    needed = [*places, *home.search_path(wanted.path)]
    empty = _outermost([*volatile, *(place for place in map(machine.closed_above, needed) if place)])
    closed = [*empty, *(place for place in private if os.path.isdir(place) and not beneath(place, empty))]
    toolchains = home.toolchains(wanted.home, home.search_path(wanted.path), closed, places)
    shown = [str(place) for place in toolchains]
    steps: list[Step] = [{"kind": "tmpfs", "at": SHELF, "mode": "755", "size": wanted.scratch_bytes}]
    steps += [{"kind": "devices", "at": "/dev", "shm": wanted.scratch_bytes}]
    sockets = [path for path in machine.listening_sockets() if path not in wanted.shown]
    stills = machine.services_places(empty)
    steps += [_still(place, sockets) for place in stills]
    steps += [_empty(place) for place in closed if place != SHELF]
    # The home again, in case it lies in one of them: it has to be there. Some accounts have none but /.
    steps += [_empty(place) for place in (str(wanted.home), SHELF) if place != "/"]
    steps += [_blank(place) for place in private if not beneath(place, closed)]
    steps += [Bind(place, place).step() for place in (*shown, *wanted.shown)]
    steps += [_masked(str(place)) for place in home.secrets(wanted.home, toolchains)]
    steps += [_blank(path) for path in sockets if not beneath(path, [*closed, *stills]) or beneath(path, shown)]
    steps += [{"kind": "file", "at": at, "content": text} for at, text in files]
    return tuple(steps)


def _empty(at: str) -> Step:
    return {"kind": "empty", "at": at, "mode": "1777" if at in SCRATCH else "755"}


def _still(at: str, sockets: list[str]) -> Step:
    return {"kind": "still", "at": at, "sockets": [path for path in sockets if beneath(path, [at])]}


def _blank(at: str) -> Step:
    return {"kind": "blank", "at": at}


def _masked(path: str) -> Step:
    return {"kind": "tmpfs", "at": path, "mode": "555", "size": ONE_PAGE} if os.path.isdir(path) else _blank(path)


def _outermost(paths: list[str]) -> list[str]:
    """Without those that lie beneath another one."""
    unique = list(dict.fromkeys(paths))
    return [p for p in unique if not beneath(p, [other for other in unique if other != p])]
