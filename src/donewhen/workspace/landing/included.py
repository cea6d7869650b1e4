"""The user's git configuration with what it includes, read as plain files; no git runs, and nobody obeys what it says.

Only landing asks, for the name on a commit. A file is read without waiting for it and up to a limit, includes are
followed only so deep, and a condition that is not known here does not hold.
"""

import os
import re
import stat
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from donewhen.workspace.beneath import Root
from donewhen.workspace.landing import config_text
from donewhen.workspace.repo import Repo, is_true
from donewhen.workspace.wildcards import Element, Wildcard, expression

DEEPEST = 10
MOST_FILES = 100
LONGEST_PATTERN = 4_096


@dataclass(slots=True)
class Configuration:
    """Keys and the last value of each, in the order in which git reads them."""

    repo: Repo
    values: dict[str, str] = field(default_factory=dict[str, str], init=False)
    users: dict[str, str] = field(default_factory=dict[str, str], init=False)
    """The same without what the repository's own files say, which may come from somebody else."""
    _files: int = field(default=0, init=False)

    @classmethod
    def of(cls, repo: Repo) -> "Configuration":
        found = cls(repo)
        for file in _users_files():
            found._read(file, _text(file), 0)
        found.users = dict(found.values)
        found._read_own(repo.common, "config")
        if is_true(repo.setting("extensions.worktreeconfig")):
            found._read_own(repo.git, "config.worktree")
        return found

    def _read_own(self, root: Root, name: str) -> None:
        content = root.read(name, config_text.LONGEST) or b""
        self._read(Path(root.place(name)), content.decode("utf-8", "surrogateescape"), 0)

    def _read(self, file: Path, text: str, depth: int) -> None:
        """Take in what a file says; `file` is where relative includes are looked for."""
        self._files += 1
        if depth > DEEPEST or self._files > MOST_FILES:
            return
        for key, value in config_text.entries(text):
            self.values[key] = value
            if key == "include.path" or (key.startswith("includeif.") and key.endswith(".path")):
                condition = key.removeprefix("includeif.").removesuffix(".path") if key != "include.path" else ""
                if value and (not condition or _holds(condition, file, self.repo)):
                    named = _beside(file, value)
                    self._read(named, _text(named), depth + 1)


def _users_files() -> Iterator[Path]:
    yield Path("/etc/gitconfig")
    yield Path(os.environ.get("XDG_CONFIG_HOME") or os.path.expanduser("~/.config"), "git", "config")
    yield Path(os.path.expanduser("~/.gitconfig"))


def _text(file: Path) -> str:
    """What a file says; nothing when it is missing or no file."""
    try:
        with os.fdopen(os.open(file, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as opened:
            if not stat.S_ISREG(os.fstat(opened.fileno()).st_mode):
                return ""
            return opened.read(config_text.LONGEST).decode("utf-8", "surrogateescape")
    except (OSError, ValueError):
        return ""


def _beside(file: Path, named: str) -> Path:
    return file.parent / os.path.expanduser(named)


# -- conditions --


def _holds(condition: str, file: Path, repo: Repo) -> bool:
    kind, _, pattern = condition.partition(":")
    match kind.lower():
        case "gitdir" | "gitdir/i":
            flags = re.IGNORECASE if kind.lower() == "gitdir/i" else re.NOFLAG
            return _fits(_place_pattern(pattern, file), str(repo.git_dir), flags)
        case "onbranch":
            return bool(repo.branch) and _fits(pattern + "**" if pattern.endswith("/") else pattern, repo.branch)
        case "hasconfig" if pattern.startswith("remote.*.url:"):
            wanted = pattern.removeprefix("remote.*.url:")
            urls = [url for key, found in repo.settings.items() if _is_remote_url(key) for url in found]
            return any(_fits(wanted, url) for url in urls)
        case _:
            return False


def _is_remote_url(key: str) -> bool:
    return key.startswith("remote.") and key.endswith(".url")


def _place_pattern(pattern: str, file: Path) -> str:
    if pattern.startswith("~/"):
        pattern = os.path.realpath(os.path.expanduser("~")) + pattern[1:]
    elif pattern.startswith("./"):
        pattern = os.path.realpath(file.parent) + pattern[1:]
    elif not pattern.startswith("/"):
        pattern = f"**/{pattern}"
    return pattern + "**" if pattern.endswith("/") else pattern


def _fits(pattern: str, text: str, flags: re.RegexFlag = re.NOFLAG) -> bool:
    if len(pattern) > LONGEST_PATTERN:
        return False
    try:
        return re.fullmatch(expression(list(_translated(pattern))), text, flags | re.DOTALL) is not None
    except re.error:
        return False


PIECES = re.compile(r"(?P<deep>(?<![^/])\*\*/)|(?P<rest>(?<![^/])\*\*\Z)|\*+|\?|\[[!^]?\]?[^\]]*\]|\\.|.", re.DOTALL)


def _translated(pattern: str) -> Iterator[Element]:
    for found in PIECES.finditer(pattern):
        piece = found[0]
        if found["deep"]:
            yield Wildcard.DIRECTORIES
        elif found["rest"]:
            yield ".*"
        elif piece.startswith("*"):
            yield Wildcard.STAR
        elif piece == "?":
            yield "[^/]"
        elif piece.startswith("[") and len(piece) > 1:
            yield (
                "(?!/)["
                + ("^" if piece[1] in "!^" else "")
                + piece[2 if piece[1] in "!^" else 1 : -1].replace("\\", r"\\")
                + "]"
            )
        else:
            yield re.escape(piece[-1])
