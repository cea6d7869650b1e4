"""Host paths that a command must not see or touch: private files, sockets, and directories used by services.

This module only inspects the machine and returns paths. `view` and `landlock` decide what to do about them.
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
"""Directories that appear empty: they hold sockets, secrets, other users' files and removable disks."""
PROGRAMS = {"bin", "sbin", "lib", "lib32", "lib64", "libx32", "usr", "proc", "sys", "dev"}
"""Directories of / in which services keep no sockets, pipes or locks."""
SCANNED = {"/etc": 4, "/usr/local/etc": 2}
SCANNED_ELSEWHERE = 2
"""How deep private files are searched for. A private directory is emptied as a whole and not searched."""
PIECES = 2
"""How many levels a directory that contains a mount point is split into its subdirectories."""
MOST_SEARCHED = 2_000
"""How many of an ordinary user's own directories outside the home are searched beyond that depth."""
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
"""Name prefixes of file systems on which no process of this machine can listen: remote ones and images."""
PSEUDO = {
    "proc", "sysfs", "devtmpfs", "devpts", "cgroup", "cgroup2", "debugfs", "tracefs", "securityfs", "configfs",
    "mqueue", "bpf", "pstore", "efivarfs", "rpc_pipefs", "fusectl", "binfmt_misc", "selinuxfs",
}  # fmt: skip
"""File systems that expose the kernel."""


def volatile_places() -> list[str]:
    """Return the real paths of the existing `VOLATILE` directories, and of kernel file systems in unusual places."""
    known = [os.path.realpath(place) for place in VOLATILE if os.path.isdir(place)]
    windows = [point for point, kind in mount_points().items() if kind in PSEUDO and os.path.isdir(point)]
    return list(dict.fromkeys([*known, *(point for point in windows if not beneath(point, ("/proc", "/sys", "/dev")))]))


def homes(named: Path) -> list[str]:
    """Return the home as named, its real path, and the home of the account. Usually they are the same."""
    try:
        account = pwd.getpwuid(os.getuid()).pw_dir
    except KeyError:
        account = str(named)
    places = (str(named), os.path.realpath(named), os.path.realpath(account))
    return [place for place in dict.fromkeys(places) if place != "/" and os.path.isdir(place)]


def beneath(path: str, places: Iterable[str]) -> bool:
    return any(path == place or path.startswith(place.rstrip("/") + "/") for place in places)


def services_places(emptied: list[str]) -> list[str]:
    """Return directories that may hold sockets, pipes and locks of others, now or later, and contain no mount point.

    These are the non-program directories of / and the mount points below them. A directory that contains a mount point
    is replaced by its subdirectories, up to `PIECES` levels.
    """
    mounted = mount_points()
    local = [root for root in _roots(mounted) if not mounted.get(root, "").startswith(WITHOUT_SERVICES)]
    return [
        place for root in local for place in _without_mounts(root, mounted, emptied, 0 if root == "/etc" else PIECES)
    ]


def _roots(mounted: Iterable[str]) -> list[str]:
    """Return the directories of / that are not for programs, and every mount point below them."""
    tops = [f"/{name}" for name in sorted(os.listdir("/")) if name not in PROGRAMS]
    there = [top for top in tops if is_real_directory(top)]
    return list(dict.fromkeys([*there, *(point for point in mounted if beneath(point, there))]))


def _without_mounts(directory: str, mounted: dict[str, str], emptied: list[str], depth: int) -> Iterator[str]:
    """Yield the directory, or those in it, that have no mount point below: only they can be an overlay layer."""
    if beneath(directory, emptied) or not is_real_directory(directory):
        return
    if not any(beneath(point, [directory]) and point != directory for point in mounted):
        yield directory
    elif depth > 0:
        for entry in _entries(directory):
            if entry.path not in mounted:
                yield from _without_mounts(entry.path, mounted, emptied, depth - 1)


def _entries(directory: str) -> list[os.DirEntry[str]]:
    try:
        return list(os.scandir(directory))
    except OSError:
        return []


def mount_points() -> dict[str, str]:
    """Return mount point → file system type."""
    found: dict[str, str] = {}
    for line in Path("/proc/self/mountinfo").read_bytes().splitlines():
        fields, _, rest = line.partition(b" - ")
        found[os.fsdecode(fields.split()[4].decode("unicode_escape").encode("latin-1"))] = rest.split()[0].decode()
    return found


def is_real_directory(path: str) -> bool:
    return os.path.isdir(path) and not os.path.islink(path)


def closed_above(path: str) -> str:
    """Return the outermost parent of `path`, other than /, that is not world-accessible; empty if all are."""
    for place in list(reversed(Path(path).parents))[1:]:
        try:
            if not place.stat().st_mode & stat.S_IXOTH:
                return str(place)
        except OSError:
            return ""
    return ""


@cache
def private_paths() -> tuple[str, ...]:
    """Return files and directories that this user may read but others may not: outermost ones, without empty files."""
    emptied = volatile_places()
    roots = [root for root in _roots(mount_points()) if not beneath(root, emptied)]
    depths = {**dict.fromkeys([*roots, *services_places(emptied)], SCANNED_ELSEWHERE), **SCANNED, "/": 1}
    attempts = iter(
        range(MOST_SEARCHED if os.getuid() else 0)
    )  # for root, a snapshot overlay hides files that only root may read, at any depth
    found = (path for root, depth in depths.items() for path in _private(root, depth, attempts))
    return tuple(dict.fromkeys(found))


def _private(path: str, depth: int, attempts: Iterator[int]) -> Iterator[str]:
    """Yield the path, or private paths up to `depth` levels below it; `looks` limits the search beyond that."""
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
    elif stat.S_ISDIR(mode) and (depth > 0 or (status.st_uid == os.getuid() and next(attempts, None) is not None)):
        for entry in _entries(path):
            yield from _private(entry.path, depth - 1, attempts)


def listening_sockets() -> tuple[str, ...]:
    """Return unix sockets of this machine that exist as files: connecting to one works through a read-only mount."""
    try:
        lines = Path("/proc/net/unix").read_text(errors="surrogateescape").splitlines()[1:]
    except OSError:
        return ()
    named = {line.split(None, 7)[7] for line in lines if len(line.split(None, 7)) == 8}
    return tuple(sorted(path for path in named if path.startswith("/") and os.path.exists(path)))
