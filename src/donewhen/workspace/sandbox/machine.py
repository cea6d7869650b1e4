"""What of this machine a command must not see or touch, found by looking: private files, sockets, where services live.

Everything here only looks, and names paths. What is done about them is decided in `view` and in `landlock`.
"""

import os
import pwd
import stat
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

VOLATILE = (
    "/run", "/var/run", "/tmp", "/var/tmp", "/home", "/root", "/media", "/mnt", "/lost+found", "/boot", "/var/mail",
    "/var/spool", "/var/log", "/var/cache", "/var/backups", "/var/crash", "/var/lib/private", "/var/lib/docker",
    "/var/lib/containerd", "/var/lib/systemd", "/etc/ssl/private", "/etc/docker",
)  # fmt: skip
"""Directories that appear empty: sockets, secrets, other users and removable disks live there."""
PROGRAMS = {"bin", "sbin", "lib", "lib32", "lib64", "libx32", "usr", "proc", "sys", "dev"}
"""Directories of / in which no service keeps its sockets, pipes or locks."""
SCANNED = {"/etc": 4, "/usr/local/etc": 2}
SCANNED_ELSEWHERE = 2
"""How deep private files are looked for; a private directory is emptied whole, and not descended."""
PIECES = 2
"""How deep a directory is taken apart in which something is mounted."""
LOOKS = 2_000
"""Into how many of an ordinary user's own directories outside the home one looks beyond that depth."""
WITHOUT_SERVICES = (
    "nfs",
    "cifs",
    "smb",
    "9p",
    "fuse",
    "autofs",
    "ceph",
    "afs",
    "lustre",
    "squashfs",
    "erofs",
    "iso9660",
)
"""Beginnings of the names of file systems on which no process of this machine can listen: far away, or images."""
PSEUDO = {
    "proc", "sysfs", "devtmpfs", "devpts", "cgroup", "cgroup2", "debugfs", "tracefs", "securityfs", "configfs",
    "mqueue", "bpf", "pstore", "efivarfs", "rpc_pipefs", "fusectl", "binfmt_misc", "selinuxfs",
}  # fmt: skip
"""File systems that are windows into the kernel."""


def volatile_places() -> list[str]:
    """Those of `VOLATILE` that there are, where they really are; and windows into the kernel in unusual places."""
    known = [os.path.realpath(place) for place in VOLATILE if os.path.isdir(place)]
    windows = [point for point, kind in mount_points().items() if kind in PSEUDO and os.path.isdir(point)]
    return list(dict.fromkeys([*known, *(point for point in windows if not beneath(point, ("/proc", "/sys", "/dev")))]))


def homes(named: Path) -> list[str]:
    """The home by the name it goes by, where it really is, and the one of the account: mostly one and the same."""
    try:
        account = pwd.getpwuid(os.getuid()).pw_dir
    except KeyError:
        account = str(named)
    places = (str(named), os.path.realpath(named), os.path.realpath(account))
    return [place for place in dict.fromkeys(places) if place != "/" and os.path.isdir(place)]


def beneath(path: str, places: Iterable[str]) -> bool:
    return any(path == place or path.startswith(place.rstrip("/") + "/") for place in places)


def services_places(emptied: list[str]) -> list[str]:
    """Directories where sockets, pipes and locks of others may be, now or later, and nothing is mounted below.

    These are the directories of / that are not all programs, and what is mounted below them; where there is something
    mounted below one, the directories in it, as far as that goes.
    """
    mounted = mount_points()
    local = [root for root in _roots(mounted) if not mounted.get(root, "").startswith(WITHOUT_SERVICES)]
    return [place for root in local for place in _undivided(root, mounted, emptied, 0 if root == "/etc" else PIECES)]


def _roots(mounted: Iterable[str]) -> list[str]:
    """The directories of / that are not all programs, and every place below them where something is mounted."""
    tops = [f"/{name}" for name in sorted(os.listdir("/")) if name not in PROGRAMS]
    there = [top for top in tops if is_real_directory(top)]
    return list(dict.fromkeys([*there, *(point for point in mounted if beneath(point, there))]))


def _undivided(directory: str, mounted: dict[str, str], emptied: list[str], depth: int) -> Iterator[str]:
    """The directory itself, or those in it, that no mount is below: only such can be made a layer."""
    if beneath(directory, emptied) or not is_real_directory(directory):
        return
    if not any(beneath(point, [directory]) and point != directory for point in mounted):
        yield directory
    elif depth > 0:
        for entry in _entries(directory):
            if entry.path not in mounted:
                yield from _undivided(entry.path, mounted, emptied, depth - 1)


def _entries(directory: str) -> list[os.DirEntry[str]]:
    try:
        return list(os.scandir(directory))
    except OSError:
        return []


def mount_points() -> dict[str, str]:
    """Where file systems are mounted, and of which kind."""
    found: dict[str, str] = {}
    for line in Path("/proc/self/mountinfo").read_bytes().splitlines():
        fields, _, rest = line.partition(b" - ")
        found[os.fsdecode(fields.split()[4].decode("unicode_escape").encode("latin-1"))] = rest.split()[0].decode()
    return found


def is_real_directory(path: str) -> bool:
    return os.path.isdir(path) and not os.path.islink(path)


def closed_above(path: str) -> str:
    """The outermost directory above `path`, other than /, that not everybody may enter; empty when all are open."""
    for place in list(reversed(Path(path).parents))[1:]:
        try:
            if not place.stat().st_mode & stat.S_IXOTH:
                return str(place)
        except OSError:
            return ""
    return ""


@cache
def private_paths() -> tuple[str, ...]:
    """Files and directories that this user may read and not everybody may: outermost ones, empty ones left out."""
    emptied = volatile_places()
    roots = [root for root in _roots(mount_points()) if not beneath(root, emptied)]
    depths = {**dict.fromkeys([*roots, *services_places(emptied)], SCANNED_ELSEWHERE), **SCANNED, "/": 1}
    looks = iter(range(LOOKS if os.getuid() else 0))  # what root may read alone, a still hides at any depth
    found = (path for root, depth in depths.items() for path in _private(root, depth, looks))
    return tuple(dict.fromkeys(found))


def _private(path: str, depth: int, looks: Iterator[int]) -> Iterator[str]:
    """The path itself or those below it; `depth` is how far down, `looks` how often one may look further down."""
    try:
        status = os.lstat(path)
    except OSError:
        return
    mode = status.st_mode
    if stat.S_ISLNK(mode) or (stat.S_ISREG(mode) and not status.st_size):
        return
    everybody = stat.S_IROTH | (stat.S_IXOTH if stat.S_ISDIR(mode) else 0)
    if mode & everybody != everybody and os.access(path, os.R_OK):
        yield path
    elif stat.S_ISDIR(mode) and (depth > 0 or (status.st_uid == os.getuid() and next(looks, None) is not None)):
        for entry in _entries(path):
            yield from _private(entry.path, depth - 1, looks)


def listening_sockets() -> tuple[str, ...]:
    """Unix sockets of this machine that exist as files: connecting to one works through a read-only mount."""
    try:
        lines = Path("/proc/net/unix").read_text(errors="surrogateescape").splitlines()[1:]
    except OSError:
        return ()
    named = {line.split(None, 7)[7] for line in lines if len(line.split(None, 7)) == 8}
    return tuple(sorted(path for path in named if path.startswith("/") and os.path.exists(path)))
