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
LOOKS = 2_000
"""Into how many of an ordinary user's own directories outside the home one looks beyond that depth."""
WITHOUT_SERVICES = ("nfs", "cifs", "smb", "9p", "fuse", "autofs", "ceph", "afs", "lustre", "squashfs", "erofs", "iso9660")
"""Beginnings of the names of file systems on which no process of this machine can listen: far away, or images."""


def volatile_places() -> list[str]:
    """Those of `VOLATILE` that there are, where they really are."""
    return list(dict.fromkeys(os.path.realpath(place) for place in VOLATILE if os.path.isdir(place)))


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


def services_places(emptied: list[str]) -> dict[str, bool]:
    """Directories where sockets, pipes and locks of others may be, now or later; outer ones before inner ones.

    A directory of / that is not all programs, and what is mounted below one. False stands for something that is only
    there to be seen again when its surroundings are replaced.
    """
    mounted = mount_points()
    tops = [f"/{name}" for name in sorted(os.listdir("/")) if name not in PROGRAMS]
    tops = [top for top in tops if is_real_directory(top) and not beneath(top, emptied)]
    inner = [point for point in sorted(mounted) if beneath(point, tops) and not beneath(point, [*emptied, *_is(tops)])]
    return places


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
    """The outermost directory above `path` that not everybody may enter; nothing when all are open."""
    for place in reversed(Path(path).parents):
        try:
            if not place.stat().st_mode & stat.S_IXOTH:
                return str(place)
        except OSError:
            return ""
    return ""


@cache
def private_paths() -> tuple[str, ...]:
    """Files and directories that this user may read and not everybody may: outermost ones, empty ones left out."""
    depths = {**dict.fromkeys(services_places(volatile_places()), SCANNED_ELSEWHERE), **SCANNED, "/": 1}
    looks = iter(range(LOOKS if os.getuid() else 0))  # what root may read alone, a still hides at any depth
    return tuple(path for root, depth in depths.items() for path in _private_beneath(root, depth, looks))


def _private_beneath(directory: str, depth: int, looks: Iterator[int]) -> Iterator[str]:
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
        elif stat.S_ISDIR(mode) and (depth > 1 or (status.st_uid == os.getuid() and next(looks, None) is not None)):
            yield from _private_beneath(entry.path, depth - 1, looks)


def listening_sockets() -> tuple[str, ...]:
    """Unix sockets of this machine that exist as files: connecting to one works through a read-only mount."""
    try:
        lines = Path("/proc/net/unix").read_text(errors="surrogateescape").splitlines()[1:]
    except OSError:
        return ()
    named = {line.split(None, 7)[7] for line in lines if len(line.split(None, 7)) == 8}
    return tuple(sorted(path for path in named if path.startswith("/") and os.path.exists(path)))
