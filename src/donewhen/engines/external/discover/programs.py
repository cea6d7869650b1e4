"""Locations of an agent's program: on PATH, except where other users or the repository could have put one.

Inspects directories and files; starts nothing.
"""

import os
import re
import shlex
import stat
from pathlib import Path

from donewhen.records import frozen
from donewhen.workspace.sandbox.home import search_path

BUILT_IN = {
    ".", ":", "[", "alias", "case", "cd", "eval", "export", "for", "if", "read", "set", "test", "trap", "umask",
    "unset", "until", "wait", "while",
}  # fmt: skip
"""Words that the shell handles itself."""
PREFIXES = {"exec", "command"}
SHELL_SYNTAX = "({!$`"
"""First characters of words whose meaning only the shell knows."""


ABSOLUTE = re.compile(r"(?<![\w./~}-])(?:~|\$HOME|\$\{HOME\})?/[^\s'\"`;|&<>(){}$*?]+")
"""A path in a shell command, as far as it can be recognised without running the command."""


@frozen
class ProgramLocation:
    path: str
    problem: str = ""
    """Why it is not used, as text that follows the path."""
    is_skipped: bool = False
    """True if it may work but is not tried because of its location."""


def on_path(program: str, path: str, repository: Path | None) -> list[ProgramLocation]:
    """Return every program of this name in the order of PATH, with the problem of each."""
    paths = (f"{entry.rstrip('/')}/{program}" for entry in search_path(path))
    return [_location(path, repository) for path in paths if os.path.isfile(path)]


def pinned(path: str) -> ProgramLocation:
    """Return the program at a path that the user has pinned: any location is accepted, if the program is usable."""
    if not os.path.exists(path):
        return ProgramLocation(path, "does not exist")
    return ProgramLocation(path, _problem(path))


def is_inside(program: str, repository: Path | None) -> bool:
    """Return True if a program, or the target of its links, is in the repository."""
    return repository is not None and any(
        _is_within(name, repository) for name in (os.path.abspath(program), os.path.realpath(program))
    )


def first_word(command: str) -> str:
    """Return the program that a shell command starts with; empty if the shell itself does the work."""
    words = shlex.split(command)
    while words and (words[0] in PREFIXES or _is_assignment(words[0])):
        words.pop(0)
    if not words or words[0] in BUILT_IN or words[0].startswith(tuple(SHELL_SYNTAX)):
        return ""
    return words[0]


def mentioned_paths(command: str, home: str) -> list[str]:
    """Return existing files and directories that a command names by an absolute path, or below the home as the shell
    writes it."""
    found = [re.sub(r"^(?:~|\$HOME|\$\{HOME\})(?=/)", home, path) for path in ABSOLUTE.findall(command)]
    return [path for path in dict.fromkeys(found) if os.path.exists(path)]


def _is_assignment(word: str) -> bool:
    name, equals, _ = word.partition("=")
    return bool(equals) and name.isidentifier()


def _location(path: str, repository: Path | None) -> ProgramLocation:
    real = os.path.realpath(path)
    if repository is not None and any(_is_within(name, repository) for name in (os.path.abspath(path), real)):
        return ProgramLocation(path, "is ignored: it is inside the repository", is_skipped=True)
    if any(_is_world_writable(name) for name in (path, real)):
        return ProgramLocation(path, "is ignored: it is world-writable", is_skipped=True)
    return ProgramLocation(path, _problem(path))


def _problem(path: str) -> str:
    if not os.path.isfile(path):
        return "is not a program"
    return "" if os.access(path, os.X_OK) else "is not executable"


def _is_within(path: str, repository: Path) -> bool:
    roots = (repository, Path(os.path.realpath(repository)))
    return any(root in Path(path).parents for root in roots)


def _is_world_writable(program: str) -> bool:
    """Return True if any user could replace the program: the file, its directory, or an unprotected directory above."""
    directory = os.path.dirname(program)
    try:
        if os.stat(program).st_mode & stat.S_IWOTH or os.stat(directory).st_mode & stat.S_IWOTH:
            return True
        return any(_is_unprotected(path.stat().st_mode) for path in Path(directory).parents)
    except OSError:
        return True


def _is_unprotected(mode: int) -> bool:
    """Return True if a directory is unprotected. In a sticky one, such as /tmp, all users may add names, but not change
    those of others."""
    return bool(mode & stat.S_IWOTH) and not mode & stat.S_ISVTX
