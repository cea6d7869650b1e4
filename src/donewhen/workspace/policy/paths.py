"""Where a path leads, told from its text alone: inside the tree, in a scratch place, outside, or not known.

Links are not followed and nothing is looked up on a disk; that is the sandbox's part.
"""

import posixpath
import re
from enum import Enum
from fnmatch import fnmatchcase

from donewhen.workspace.policy.step import HOLE, Place, Word

HOME = "/~"
"""The home directory, wherever it is. No real path starts like this."""

NOWHERE = "/(tree)"
"""The root of a tree whose path is not known: then no absolute path is inside it."""

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
    """The root to compare with. A root that is not absolute, or is `/`, would make everything inside."""
    normal = normalised(path)
    return normal if path.startswith("/") and normal != "/" else NOWHERE


def normalised(path: str) -> str:
    return re.sub(r"^/+", "/", posixpath.normpath(path))


def resolved(text: str, cwd: str) -> str:
    """An absolute path without `.` and `..`; it starts with a hole when its beginning is not known."""
    if text.startswith("~"):
        text = f"/{text}"
    if text.startswith(HOLE):
        return text
    path = text if text.startswith("/") else f"{cwd}/{text}"
    return path if path.startswith(HOLE) else normalised(path)


def where(path: str, root: str) -> Where:
    """Where a resolved path leads."""
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


def leads(word: Word, place: Place) -> Where:
    return where(resolved(word.text, place.cwd), place.root)


def mentioned(word: Word, place: Place) -> list[str]:
    """The absolute paths that an argument may be meant to name: itself, or what follows `=`, `@` or a short option."""
    text = word.text
    candidates = [text, text.partition("=")[2], text.partition("@")[2]]
    if re.match(r"-[A-Za-z][/~.]", text):
        candidates.append(text[2:])
    return [resolved(candidate, place.cwd) for candidate in candidates if candidate]


def holds(path: str, names: tuple[str, ...]) -> bool:
    """Whether these names follow each other in a path; a glob in it counts as what it could stand for."""
    parts = path.split("/")
    last = len(parts) - len(names) + 1
    return any(all(map(_same, parts[start : start + len(names)], names)) for start in range(last))


def _same(part: str, name: str) -> bool:
    if fnmatchcase(part, name):
        return True
    # A pattern matches a leading dot only with a dot of its own, and a lone star names nothing in particular.
    return part not in ("*", "**") and part.startswith(".") == name.startswith(".") and fnmatchcase(name, part)
