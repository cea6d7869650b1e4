"""The user's home as a command sees it: empty except for toolchains, which are read-only and without secrets.

HOME keeps its path: version managers find their toolchains only under the path they were installed to. What is not
listed here and not on PATH does not exist inside.
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
"""Below those places: credentials, and configuration that may contain them."""


def toolchains(
    home: Path, search_path: Iterable[str], emptied: Iterable[str] = (), trees: Iterable[str] = ()
) -> list[Path]:
    """Return what is shown of the home and of other emptied places: known toolchains, and directories on PATH.

    If a directory on PATH contains a tree, only its programs are shown, and nothing else beside the tree.
    """
    found = [home / name for name in TOOLCHAINS if os.path.exists(home / name)]
    hidden, apart = [home, *map(Path, emptied)], [Path(tree) for tree in trees]
    for entry in search_path:
        place = Path(entry)
        # This user may not be allowed to read a directory on PATH: os.path returns False where Path raises.
        if any(root in place.parents for root in hidden) and os.path.isdir(place) and not _is_covered(place, found):
            found.extend(_installation(place, hidden, apart) or _programs(place))
    return sorted({place for place in found if not _is_covered(place.parent, found)})


def secrets(home: Path, shown: Iterable[Path]) -> list[Path]:
    """Return the paths in the shown toolchains that must be masked."""
    bases = {home, *(place.parent for place in shown)}
    return sorted(base / name for base in bases for name in SECRETS if os.path.exists(base / name))


def _installation(directory: Path, hidden: list[Path], trees: list[Path]) -> list[Path]:
    """For …/tool/bin, return all of …/tool if it is an installation; never a home or a project.

    If …/tool contains a tree, return the parts of the installation beside the tree; nothing if the directory itself
    contains one.
    """
    for place in (directory, *directory.parents):
        if place.name in TOOLCHAINS and not _contains_tree(place, trees):
            return [place]
    if _contains_tree(directory, trees):
        return []
    prefix = directory.parent
    if directory.name not in ("bin", "sbin", "shims") or prefix in hidden or os.path.isdir(prefix / ".git"):
        return [directory]
    parts = [prefix / name for name in ("lib", "lib64", "libexec", "versions", "share") if os.path.isdir(prefix / name)]
    if not parts:
        return [directory]
    return (
        [place for place in (directory, *parts) if not _contains_tree(place, trees)]
        if _contains_tree(prefix, trees)
        else [prefix]
    )


def installations(program: Path, emptied: list[Path], shown: list[Path], tree: Path) -> list[Path]:
    """Return what must be shown for one program in an emptied place, including the targets of its links.

    Not what is shown anyway, and nothing that is in the tree or would cover it.
    """
    found: set[Path] = set()
    for path in dict.fromkeys((program, Path(os.path.realpath(program)))):
        if (
            not any(root in path.parents for root in emptied)
            or _is_covered(path, [*shown, tree])
            or path in tree.parents
        ):
            continue
        packages = _packages(path, tree)
        alone = path.parent in emptied
        found.update([packages] if packages else [] if alone else _installation(path.parent, emptied, [tree]))
        if not _is_covered(path, list(found)):
            found.add(path)
    return sorted(found)


def installation_within(program: Path, tree: Path) -> Path:
    """Return the outermost directory of the tree that belongs only to this program; the program if there is none."""
    if packages := _packages(program, tree):
        return packages
    place, *_ = _installation(program.parent, [tree, tree.parent], [tree]) or [program]
    return program if place == program.parent else place


def _packages(path: Path, tree: Path) -> Path | None:
    """Return the outermost `node_modules` above a path, unless it contains the tree."""
    return next(
        (
            place
            for place in reversed(path.parents)
            if place.name == "node_modules" and not _contains_tree(place, [tree])
        ),
        None,
    )


def _programs(directory: Path) -> list[Path]:
    """Return the executable files in a directory."""
    try:
        return [
            Path(entry.path) for entry in os.scandir(directory) if entry.is_file() and os.access(entry.path, os.X_OK)
        ]
    except OSError:
        return []


def _contains_tree(place: Path, trees: list[Path]) -> bool:
    return any(place == tree or place in tree.parents for tree in trees)


def _is_covered(place: Path, by: list[Path]) -> bool:
    return any(other == place or other in place.parents for other in by)


def search_path(value: str) -> Iterator[str]:
    """Yield the absolute entries of a PATH. A relative one would mean another program in every directory."""
    seen: set[str] = set()
    for entry in value.split(":"):
        if entry.startswith("/") and entry not in seen:
            seen.add(entry)
            yield entry
