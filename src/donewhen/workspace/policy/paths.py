"""Decides from its text alone where a path leads: inside the tree, to a scratch directory, outside, or unknown.

Links are not followed and the disk is not read; real confinement is the sandbox's task.
"""

import posixpath
import re
from enum import Enum
from fnmatch import fnmatchcase

from donewhen.workspace.policy.step import HOLE, Word, WorkingDir

HOME = "/~"
"""Stands for the home directory, wherever it is. No real path starts like this."""

NOWHERE = "/(tree)"
"""The root of a tree whose path is unknown: no absolute path is inside it."""

SCRATCH = ("/tmp", "/var/tmp", "/dev/shm")
DEVICES = re.compile(r"/dev/(null|zero|full|u?random|stdin|stdout|stderr|tty|fd/\d+)|/proc/(self|\d+)/fd/\d+")


class Where(Enum):
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
    """Return an absolute path without `.` and `..`. It starts with a `HOLE` if its beginning is unknown."""
    if text.startswith("~"):
        text = f"/{text}"
    if text.startswith(HOLE):
        return text
    path = text if text.startswith("/") else f"{cwd}/{text}"
    return path if path.startswith(HOLE) else normalised(path)


def where(path: str, root: str) -> Where:
    """Return where a resolved path leads."""
    if path.startswith(HOLE):
        return Where.UNKNOWN
    if path == root:
        return Where.TREE
    if path.startswith(f"{root}/"):
        return Where.INSIDE
    if f"{root}/".startswith(f"{path}/"):
        return Where.OUTSIDE
    scratch = path.startswith(tuple(f"{place}/" for place in SCRATCH)) or path in SCRATCH
    return Where.SCRATCH if scratch or DEVICES.fullmatch(path) else Where.OUTSIDE


def leads(word: Word, place: WorkingDir) -> Where:
    return where(resolved(word.text, place.cwd), place.root)


def mentioned(word: Word, place: WorkingDir) -> list[str]:
    """Return the absolute paths that an argument may name: itself, or the part after `=`, `@` or a short option."""
    text = word.text
    candidates = [text, text.partition("=")[2], text.partition("@")[2]]
    if re.match(r"-[A-Za-z][/~.]", text):
        candidates.append(text[2:])
    return [resolved(candidate, place.cwd) for candidate in candidates if candidate]


def holds(path: str, names: tuple[str, ...]) -> bool:
    """Return whether these names follow each other in a path. A glob in the path counts if it could match."""
    parts = path.split("/")
    last = len(parts) - len(names) + 1
    return any(all(map(_same, parts[start : start + len(names)], names)) for start in range(last))


def _same(part: str, name: str) -> bool:
    if fnmatchcase(part, name):
        return True
    # A glob matches a leading dot only with a literal dot. A single star is too general to count.
    return part not in ("*", "**") and part.startswith(".") == name.startswith(".") and fnmatchcase(name, part)
