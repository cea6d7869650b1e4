"""Decides from its text alone where a path leads: inside the tree, to a scratch directory, outside, or unknown.

Links are not followed and the disk is not read; real confinement is the sandbox's task.
"""

import posixpath
import re
from enum import Enum
from fnmatch import fnmatchcase

from donewhen.workspace.policy.step import UNKNOWN_TEXT, Word, WorkingDir

HOME = "/~"
"""Stands for the home directory, wherever it is. No real path starts like this."""

NOWHERE = "/(tree)"
"""The root of a tree whose path is unknown: no absolute path is inside it."""

SCRATCH = ("/tmp", "/var/tmp", "/dev/shm")
DEVICES = re.compile(r"/dev/(null|zero|full|u?random|stdin|stdout|stderr|tty|fd/\d+)|/proc/(self|\d+)/fd/\d+")


class Location(Enum):
    INSIDE = "inside"
    TREE = "tree"
    """The root of the tree itself."""
    SCRATCH = "scratch"
    OUTSIDE = "outside"
    UNKNOWN = "unknown"


def tree_root(path: str) -> str:
    """Return the root to compare with; `NOWHERE` for a root that is not absolute or is `/`.

    With such a root, every path would count as inside.
    """
    normal = normalised(path)
    return normal if path.startswith("/") and normal != "/" else NOWHERE


def normalised(path: str) -> str:
    return re.sub(r"^/+", "/", posixpath.normpath(path))


def resolved(text: str, cwd: str) -> str:
    """Return an absolute path without `.` and `..`. It starts with a `UNKNOWN_TEXT` if its beginning is unknown."""
    if text.startswith("~"):
        text = f"/{text}"
    if text.startswith(UNKNOWN_TEXT):
        return text
    path = text if text.startswith("/") else f"{cwd}/{text}"
    return path if path.startswith(UNKNOWN_TEXT) else normalised(path)


def path_location(path: str, root: str) -> Location:
    """Return where a resolved path leads."""
    if path.startswith(UNKNOWN_TEXT):
        return Location.UNKNOWN
    if path == root:
        return Location.TREE
    if path.startswith(f"{root}/"):
        return Location.INSIDE
    if f"{root}/".startswith(f"{path}/"):
        return Location.OUTSIDE
    scratch = path.startswith(tuple(f"{directory}/" for directory in SCRATCH)) or path in SCRATCH
    return Location.SCRATCH if scratch or DEVICES.fullmatch(path) else Location.OUTSIDE


def word_location(word: Word, working_dir: WorkingDir) -> Location:
    return path_location(resolved(word.text, working_dir.cwd), working_dir.root)


def mentioned_paths(word: Word, working_dir: WorkingDir) -> list[str]:
    """Return the absolute paths that an argument may name: itself, or the part after `=`, `@` or a short option."""
    text = word.text
    candidates = [text, text.partition("=")[2], text.partition("@")[2]]
    if re.match(r"-[A-Za-z][/~.]", text):
        candidates.append(text[2:])
    return [resolved(candidate, working_dir.cwd) for candidate in candidates if candidate]


def contains_names(path: str, names: tuple[str, ...]) -> bool:
    """Return whether these names follow each other in a path. A glob in the path counts if it could match."""
    parts = path.split("/")
    last = len(parts) - len(names) + 1
    return any(all(map(_same, parts[start : start + len(names)], names)) for start in range(last))


def _same(part: str, name: str) -> bool:
    if fnmatchcase(part, name):
        return True
    # A glob matches a leading dot only with a literal dot. A single star is too general to count.
    return part not in ("*", "**") and part.startswith(".") == name.startswith(".") and fnmatchcase(name, part)
