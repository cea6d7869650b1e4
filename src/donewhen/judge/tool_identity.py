"""Which programs a check would use, found without starting any of them.

trusted_path   a PATH without the tree, so that no program is looked up in the candidate
identity       a digest that changes when an installed tool or package changes
python_sites   the directories of installed Python packages
"""

import functools
import hashlib
import os
from collections.abc import Iterable, Iterator
from pathlib import Path

TOOLS = (
    "sh", "make", "just", "python", "python3", "uv", "poetry", "tox", "nox", "pytest", "ruff", "mypy", "node", "npm",
    "npx", "pnpm", "yarn", "bun", "deno", "tsc", "cargo", "rustc", "go", "java", "mvn", "gradle", "ruby", "bundle",
    "rspec", "php", "composer", "phpunit", "dotnet", "elixir", "mix", "gcc", "cc", "clang", "cmake", "ninja", "git",
    "bash", "perl", "docker", "psql",
)  # fmt: skip
MACHINE = ("/var/lib/dpkg/status", "/var/lib/rpm", "/lib/apk/db/installed", "/etc/os-release", "/nix/var/nix/profiles")
"""Files and directories that change when the packages of the machine change."""
VERSION_CHOICES = (
    ".pyenv/version", ".pyenv/versions", ".rustup/settings.toml", ".rustup/toolchains", ".nvm/alias/default",
    ".nvm/versions/node", ".asdf/installs", ".local/share/mise/installs", ".sdkman/candidates", ".tool-versions",
    ".cargo/config.toml", ".npmrc", ".gitconfig",
)  # fmt: skip
"""Paths below the home directory that decide which version a version-manager shim starts."""


def trusted_path(path: str, root: Path, allowed: Iterable[str]) -> str:
    """Return PATH without the entries inside of the repository, except those below the `allowed` paths."""
    inside = [root / name for name in allowed]
    return ":".join(entry for entry in path.split(":") if _is_trusted(Path(os.path.normpath(entry)), root, inside))


def _is_trusted(entry: Path, root: Path, inside: list[Path]) -> bool:
    within = entry == root or root in entry.parents
    return not within or any(place == entry or place in entry.parents for place in inside)


def identity(path: str, home: Path, words: Iterable[str], shared: tuple[Path, ...]) -> str:
    """Return a digest of every tool that a check may start, and of the shared directories."""
    digest = hashlib.sha256()
    for place in _places(path, home, words, shared):
        digest.update(_look(place))
    for directory in shared:
        for place in _walk(directory):
            digest.update(place)
    return digest.hexdigest()


def key(identity: str, names: Iterable[str]) -> str:
    return hashlib.sha256("\0".join([identity, *names]).encode()).hexdigest()


def _places(path: str, home: Path, words: Iterable[str], shared: tuple[Path, ...]) -> Iterator[str]:
    yield from MACHINE
    yield from (str(home / choice) for choice in VERSION_CHOICES)
    wanted = {name for name in (*TOOLS, *words) if "/" not in name}
    for entry in path.split(":"):
        for name in sorted(wanted.intersection(_listed(entry))):
            yield f"{entry}/{name}"
            yield os.path.realpath(f"{entry}/{name}")
    yield from map(str, python_sites(path, shared))


def _listed(directory: str) -> list[str]:
    try:
        return os.listdir(directory)
    except OSError:
        return []


def _look(place: str) -> bytes:
    try:
        seen = os.stat(place)
    except OSError:
        return f"{place}\0-\0".encode("utf-8", "surrogateescape")
    return f"{place}\0{seen.st_ino}\0{seen.st_size}\0{seen.st_mtime_ns}\0".encode("utf-8", "surrogateescape")


def _walk(directory: Path) -> Iterator[bytes]:
    """Yield a line for each file below a directory, in a fixed order.

    The line of a file contains its inode data, the line of a link its target.
    """
    waiting = [str(directory)]
    while waiting:
        place = waiting.pop()
        try:
            entries = sorted(os.scandir(place), key=lambda entry: entry.name)
        except NotADirectoryError:
            yield _stat_line(place, os.stat(place))
            continue
        except OSError:
            continue
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                waiting.append(entry.path)
            elif entry.is_symlink():
                yield f"{entry.path}\0{os.readlink(entry.path)}\0".encode("utf-8", "surrogateescape")
            else:
                yield _stat_line(entry.path, entry.stat(follow_symlinks=False))


def _stat_line(path: str, seen: os.stat_result) -> bytes:
    line = f"{path}\0{seen.st_ino}\0{seen.st_size}\0{seen.st_mtime_ns}\0{seen.st_ctime_ns}\0{seen.st_mode}\0"
    return line.encode("utf-8", "surrogateescape")


@functools.lru_cache(maxsize=8)
def python_sites(path: str, environments: tuple[Path, ...]) -> tuple[Path, ...]:
    """Return the directories of installed packages.

    They belong to the interpreters on PATH, to the versions of pyenv, and to virtual environments.
    """
    prefixes = [Path(entry).parent for entry in path.split(":") if entry.endswith("/bin")]
    shims = [Path(entry).parent / "versions" for entry in path.split(":") if entry.endswith("/.pyenv/shims")]
    prefixes += [place / version for place in shims for version in sorted(_listed(str(place)))]
    sites = [Path("/usr/lib/python3/dist-packages")]
    # PATH may contain directories of other users: os.path returns False there, but Path raises.
    for prefix in [prefix for prefix in (*prefixes, *environments) if os.path.isdir(prefix / "lib")]:
        sites += sorted(prefix.glob("lib/python3*/site-packages"))
        sites += sorted(prefix.glob("lib/python3*/dist-packages"))
    return tuple(dict.fromkeys(site for site in sites if os.path.isdir(site)))
