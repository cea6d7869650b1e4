"""The user's home as a command sees it: empty, but for the toolchains that live there, read-only and without secrets.

HOME keeps its path: version managers find their toolchains only under the path they were installed to. What is not
listed here and not on PATH is not there at all.
"""

import os
from collections.abc import Iterable, Iterator
from pathlib import Path

TOOLCHAINS = (
    ".pyenv", ".rustup", ".cargo", ".nvm", ".fnm", ".volta", ".nodenv", ".n", ".bun", ".deno", ".asdf", ".rbenv",
    ".rvm", ".goenv", "go", ".jenv", ".sdkman", ".ghcup", ".cabal", ".opam", ".dotnet", ".mix", ".hex", ".juliaup",
    ".julia", ".swiftly", ".poetry", ".gem", ".bundle", ".composer", ".m2", ".gradle", ".conda", "miniconda3",
    "anaconda3", "miniforge3", "mambaforge", ".local/bin", ".local/lib", ".local/share/uv", ".local/share/pipx",
    ".local/share/mise", ".local/share/fnm", ".local/share/pnpm", ".local/share/rtx", ".local/share/virtualenvs",
    ".config/composer", ".npm-global", ".yarn", ".tenv", ".kiex", ".elan", ".platformio",
)  # fmt: skip
"""Places under HOME where version managers and package managers keep programs."""

SECRETS = (
    ".cargo/credentials", ".cargo/credentials.toml", ".gem/credentials", ".bundle/config", ".composer/auth.json",
    ".config/composer/auth.json", ".m2/settings.xml", ".m2/settings-security.xml", ".gradle/gradle.properties",
    ".gradle/init.gradle", ".gradle/init.d", ".hex/hex.config", ".hex/cache.ets", ".conda/.condarc",
    ".local/share/uv/credentials", ".julia/servers", ".julia/config", ".cabal/config", ".npm-global/etc/npmrc",
    ".yarn/berry/.yarnrc.yml",
)  # fmt: skip
"""Below those places: credentials, and configuration that may hold them."""


def toolchains(home: Path, search_path: Iterable[str], emptied: Iterable[str] = ()) -> list[Path]:
    """What is shown again of the home and of other emptied places: known toolchains, and directories on PATH."""
    found = [home / name for name in TOOLCHAINS if os.path.exists(home / name)]
    hidden = [home, *map(Path, emptied)]
    for entry in search_path:
        place = Path(entry)
        # A directory on PATH may well be one that this user cannot look into: os.path says no, where Path raises.
        if any(root in place.parents for root in hidden) and os.path.isdir(place) and not _covered(place, found):
            found.append(_installation(place, hidden))
    return sorted({place for place in found if not _covered(place.parent, found)})


def secrets(home: Path, shown: Iterable[Path]) -> list[Path]:
    """What of the shown toolchains is masked again."""
    bases = {home, *(place.parent for place in shown)}
    return sorted(base / name for base in bases for name in SECRETS if os.path.exists(base / name))


def _installation(directory: Path, hidden: list[Path]) -> Path:
    """For …/tool/bin the whole of …/tool where that is an installation; never a home or somebody's project."""
    for place in (directory, *directory.parents):
        if place.name in TOOLCHAINS:
            return place
    prefix = directory.parent
    if directory.name not in ("bin", "sbin", "shims") or prefix in hidden or os.path.isdir(prefix / ".git"):
        return directory
    parts = ("lib", "lib64", "libexec", "versions", "share")
    return prefix if any(os.path.isdir(prefix / part) for part in parts) else directory


def installations(program: Path, emptied: list[Path]) -> list[Path]:
    """What has to be shown for one program that lies in an emptied place, where its links lead included."""
    found: set[Path] = set()
    for path in (program, Path(os.path.realpath(program))):
        if any(root in path.parents for root in emptied):
            packages = [place for place in path.parents if place.name == "node_modules"]
            alone = path.parent in emptied
            found.add(packages[-1] if packages else path if alone else _installation(path.parent, emptied))
    return sorted(found)


def _covered(place: Path, by: list[Path]) -> bool:
    return any(other == place or other in place.parents for other in by)


def search_path(value: str) -> Iterator[str]:
    """The absolute entries of a PATH: a relative one would mean another program in every directory."""
    seen: set[str] = set()
    for entry in value.split(":"):
        if entry.startswith("/") and entry not in seen:
            seen.add(entry)
            yield entry
