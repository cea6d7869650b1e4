"""What a check may not leave outside of the tree: in the shared directories, and in its private home. Pure.

A check may have several stages, and code of the candidate runs in one of them: `pytest && lint`. Shares and the home
are writable, because many tools need that. So a stage could replace the linter in a share, or leave settings in the
home that the next stage reads. `seal` has the rules for the tree itself.

Caches may be written. Everything else is forbidden, unless the run on the base writes it too; `evidence` makes that
comparison. So a line names a package or a settings file, and not each file: names of files differ from run to run.
"""

import os
import re
import stat
from collections.abc import Iterator, Mapping

Files = Mapping[str, int]
"""Path below a shared directory or the home → mode."""
SHARE_CACHES = frozenset({".cache", ".vite", ".vite-temp", ".vitest", ".tmp", ".turbo", ".nyc_output", ".astro"})
"""Directories in which tools keep their own data, inside of an installation."""
HISTORY = re.compile(r"\.[\w.-]*(?:history|hist|hsts|sentinel|\.log|\.lock|\.pid)|\.rnd|\.v8flags\.[^/]*|\.babel\.json")
"""Files at the top of the home that no tool takes for settings."""
CONFIG_DATA = frozenset({"chromium", "configstore", "dconf", "google-chrome", "jgit", "matplotlib", "nextjs-nodejs"})
"""Directories of ~/.config that hold data. The telemetry of go is there too."""
LOADED = re.compile(
    r"\.(?:py|pyc|pyo|pth|so|dylib|node|[cm]?js|[cm]?ts|jsx|tsx|rb|pl|pm|php|phar|jar|class|lua|sh|bash|exe|dll|wasm)$"
)
SETTINGS = re.compile(
    r"(?:^|/)(?:config|[^/]*config\.\w+|settings\.\w+|init\.\w+|init\.d|gradle\.properties|credentials|auth\.json"
    r"|package\.json|composer\.json|startup\.jl|[^/]*rc|[^/]*rc\.\w+)$",
    re.IGNORECASE,
)
"""Names of settings inside of the directories of tools, such as ~/.cargo/config.toml."""
INSTALLED = (".dist-info", ".egg-info", ".data")


def forbidden_in_share(share: str, files: Files) -> Iterator[str]:
    """Yield one line for each part of a shared directory that was changed."""
    for path, mode in files.items():
        parts = path.split("/")
        at = next((at for at, part in enumerate(parts[:-1]) if part in SHARE_CACHES), None)
        if at is None:
            yield f"{os.path.join(share, _installed_part(parts)).rstrip('/')} (is shared)"
        elif _is_loaded(path, mode):
            yield f"{os.path.join(share, *parts[: at + 1])} (is shared; a program or a module was put there)"


def _installed_part(parts: list[str]) -> str:
    """Return the package that a file belongs to, without its version; the file itself outside of a package."""
    for at, part in enumerate(parts[:-1]):
        if part in ("site-packages", "dist-packages"):
            return "/".join((*parts[: at + 1], _without_version(parts[at + 1])))
    depth = 2 if parts[0].startswith("@") or parts[0] in ("bin", ".bin", "Scripts") else 1
    return "/".join(parts[:depth] if parts[0] not in ("lib", "lib64") else parts[:3])


def _without_version(name: str) -> str:
    package, dot, kind = name.rpartition(".")
    return f"{package.partition('-')[0]}{dot}{kind}" if f"{dot}{kind}" in INSTALLED else name


def forbidden_in_home(files: Files, above_tree: str) -> Iterator[str]:
    """Yield one line for each settings file, program or module that was left in the home.

    `above_tree` is the path below the home of the directory that contains the tree; empty if the home does not.
    """
    for path, mode in files.items():
        first, _, rest = path.partition("/")
        directory = os.path.dirname(path)
        if not path or not mode:
            yield f"~/{path} (cannot be examined)"
        elif directory and f"{above_tree}/".startswith(f"{directory}/"):
            yield f"~/{path} (is above the tree)"
        elif not rest:
            if not HISTORY.fullmatch(path):
                yield f"~/{path} (is in the home)"
        elif first == ".config":
            name = rest.partition("/")[0]
            if name not in CONFIG_DATA and not rest.startswith("go/telemetry/"):
                yield f"~/.config/{name} (is in the home)"
        elif _is_loaded(path, mode) or (first != ".cache" and SETTINGS.search(path) is not None):
            yield f"~/{'/'.join(path.split('/')[:2])} (is in the home; a program, a module or settings)"


def _is_loaded(path: str, mode: int) -> bool:
    if stat.S_ISCHR(mode):
        return False  # the mark of an overlay for a deleted file
    return not stat.S_ISREG(mode) or bool(mode & 0o111) or LOADED.search(path) is not None
