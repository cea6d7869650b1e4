"""Reader of the user's git configuration, with its includes, from plain files. It runs no git and applies no setting.

Only landing uses it, for the name on a commit. `entries` parses the text of one file into keys and values, in order; it
does not follow includes. It is lenient where git would stop: it skips an invalid line. `Configuration` follows includes
up to a fixed depth. Files are read without blocking and up to a size limit. An unknown include condition is false.
"""

import os
import re
import stat
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from donewhen.workspace.beneath import Root
from donewhen.workspace.git.repo import Repo, is_true
from donewhen.workspace.wildcards import Element, Wildcard, expression

SECTION = re.compile(r'\[\s*([A-Za-z0-9.-]+)(?:\s+"((?:[^"\\\n]|\\.)*)")?\s*\]')
KEY = re.compile(r"([A-Za-z][A-Za-z0-9-]*)[ \t]*(=?)")
ESCAPES = {"n": "\n", "t": "\t", "b": "\b"}
LONGEST = 1 << 20


def entries(text: str) -> Iterator[tuple[str, str]]:
    """Yield each key and its value. Keys are `section.subsection.key`; only the subsection keeps its case."""
    text = text[:LONGEST].removeprefix("\ufeff").replace("\r\n", "\n")
    section, at = "", 0
    while at < len(text):
        if text[at].isspace():
            at += 1
        elif found := SECTION.match(text, at):
            inner = re.sub(r"\\(.)", r"\1", found[2]) if found[2] is not None else None
            section = found[1].lower() + (f".{inner}" if inner is not None else "")
            at = found.end()
        elif found := KEY.match(text, at):
            value, at = _value(text, found.end()) if found[2] else ("true", _line_end(text, found.end()))
            yield f"{section}.{found[1].lower()}", value
        else:
            at = _line_end(text, at)


def _line_end(text: str, at: int) -> int:
    end = text.find("\n", at)
    return len(text) if end < 0 else end


def _value(text: str, at: int) -> tuple[str, int]:
    """Return the value after `=`, and where it ends. Spaces at both ends are removed unless they are quoted."""
    kept: list[str] = []
    solid, quoted = 0, False
    while at < len(text) and text[at] != "\n":
        letter = text[at]
        if letter == "\\":
            at += 1
            follower = text[at : at + 1]
            kept.append("" if follower == "\n" else ESCAPES.get(follower, follower))
            solid = len(kept)
        elif letter == '"':
            quoted = not quoted
            solid = len(kept)
        elif letter in "#;" and not quoted:
            at = _line_end(text, at)
            break
        elif quoted or not letter.isspace() or kept:
            kept.append(letter)
            solid = len(kept) if quoted or not letter.isspace() else solid
        at += 1
    return "".join(kept[:solid]), at


DEEPEST = 10
MOST_FILES = 100
LONGEST_PATTERN = 4_096


@dataclass(slots=True)
class Configuration:
    """The last value of each key, with files read in git's order."""

    repo: Repo
    values: dict[str, str] = field(default_factory=dict[str, str], init=False)
    users: dict[str, str] = field(default_factory=dict[str, str], init=False)
    """The same without the repository's own files, which may come from another person."""
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
        content = root.read(name, LONGEST) or b""
        self._read(Path(root.full_path(name)), content.decode("utf-8", "surrogateescape"), 0)

    def _read(self, file: Path, text: str, depth: int) -> None:
        """Add the settings of one file. Relative includes are resolved against the directory of `file`."""
        self._files += 1
        if depth > DEEPEST or self._files > MOST_FILES:
            return
        for key, value in entries(text):
            self.values[key] = value
            if key == "include.path" or (key.startswith("includeif.") and key.endswith(".path")):
                condition = key.removeprefix("includeif.").removesuffix(".path") if key != "include.path" else ""
                if value and (not condition or _is_condition_met(condition, file, self.repo)):
                    named = file.parent / os.path.expanduser(value)
                    self._read(named, _text(named), depth + 1)


def _users_files() -> Iterator[Path]:
    yield Path("/etc/gitconfig")
    yield Path(os.environ.get("XDG_CONFIG_HOME") or os.path.expanduser("~/.config"), "git", "config")
    yield Path(os.path.expanduser("~/.gitconfig"))


def _text(file: Path) -> str:
    """Return the content of a file; empty if it is missing or not a regular file."""
    try:
        with os.fdopen(os.open(file, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as opened:
            if not stat.S_ISREG(os.fstat(opened.fileno()).st_mode):
                return ""
            content = opened.read(LONGEST) or b""  # read() returns None for a /proc file that would block
            return content.decode("utf-8", "surrogateescape")
    except (OSError, ValueError):
        return ""


# -- conditions --


def _is_condition_met(condition: str, file: Path, repo: Repo) -> bool:
    kind, _, pattern = condition.partition(":")
    match kind.lower():
        case "gitdir" | "gitdir/i":
            flags = re.IGNORECASE if kind.lower() == "gitdir/i" else re.NOFLAG
            return _is_match(_place_pattern(pattern, file), str(repo.git_dir), flags)
        case "onbranch":
            return bool(repo.branch) and _is_match(pattern + "**" if pattern.endswith("/") else pattern, repo.branch)
        case "hasconfig" if pattern.startswith("remote.*.url:"):
            wanted = pattern.removeprefix("remote.*.url:")
            urls = [url for key, found in repo.settings.items() if _is_remote_url(key) for url in found]
            return any(_is_match(wanted, url) for url in urls)
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


def _is_match(pattern: str, text: str, flags: re.RegexFlag = re.NOFLAG) -> bool:
    if len(pattern) > LONGEST_PATTERN:
        return False
    try:
        return re.fullmatch(expression(list(_translate(pattern))), text, flags | re.DOTALL) is not None
    except re.error:
        return False


PIECES = re.compile(r"(?P<deep>(?<![^/])\*\*/)|(?P<rest>(?<![^/])\*\*\Z)|\*+|\?|\[[!^]?\]?[^\]]*\]|\\.|.", re.DOTALL)


def _translate(pattern: str) -> Iterator[Element]:
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
