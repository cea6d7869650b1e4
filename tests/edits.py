"""Edits of a directory, as data, and the program that carries them out.

It runs inside a mounted tree, with only the standard library: `python -I edits.py DIRECTORY`, with the edits as JSON on
standard input. It prints the content of the directory afterwards. Paths and contents are Latin-1 text, one character
per byte. An edit that is impossible (the file does not exist, for example) is skipped.
"""

import json
import os
import shutil
import stat
import sys
from contextlib import suppress

Edit = list[str]
Holding = dict[str, tuple[str, str]]


def apply(root: str, edits: list[Edit]) -> None:
    for act, path, *rest in edits:
        with suppress(OSError):
            ACTIONS[act](os.path.join(os.fsencode(root), path.encode("latin-1")), *rest)


def holding(root: str) -> Holding:
    """Return path → kind and content of everything that is not a directory, without `.git`."""
    found: Holding = {}
    for above, names, files in os.walk(os.fsencode(root)):
        if above == os.fsencode(root) and b".git" in names:
            names.remove(b".git")
        for path in (os.path.join(above, name) for name in (*names, *files)):
            if not os.path.isdir(path) or os.path.islink(path):
                found[os.path.relpath(path, os.fsencode(root)).decode("latin-1")] = _look(path)
    return found


def _look(path: bytes) -> tuple[str, str]:
    mode = os.lstat(path).st_mode
    if stat.S_ISLNK(mode):
        return "link", os.readlink(path).decode("latin-1")
    with open(path, "rb") as file:
        return ("program" if mode & stat.S_IXUSR else "file"), file.read().decode("latin-1")


def build(root: str, what: Holding) -> None:
    """Make what `holding` returned."""
    for path, (kind, content) in what.items():
        act = ["link", path, content] if kind == "link" else ["write", path, content, kind]
        apply(root, [act])


def _make_way(path: bytes) -> None:
    """Make the directories above a path and remove what is there. No link is followed."""
    above = os.path.dirname(path)
    if not os.path.isdir(above) or os.path.islink(above):
        _make_way(above)
        os.mkdir(above)
    _remove(path)


def _remove(path: bytes) -> None:
    if os.path.isdir(path) and not os.path.islink(path):
        shutil.rmtree(path)
    elif os.path.lexists(path):
        os.unlink(path)


def _write(path: bytes, content: str, kind: str) -> None:
    if not os.path.isfile(path) or os.path.islink(path):
        _make_way(path)
    with open(path, "wb") as file:
        file.write(content.encode("latin-1"))
    os.chmod(path, 0o755 if kind == "program" else 0o644)


def _link(path: bytes, target: str) -> None:
    _make_way(path)
    os.symlink(target.encode("latin-1"), path)


def _move(path: bytes, name: str) -> None:
    """Rename in the same directory."""
    target = os.path.join(os.path.dirname(path), name.encode("latin-1"))
    if os.path.lexists(path) and path != target:
        _remove(target)
        shutil.move(os.fsdecode(path), os.fsdecode(target))


def _mode(path: bytes, kind: str) -> None:
    if not os.path.islink(path) and os.path.isfile(path):
        os.chmod(path, 0o755 if kind == "program" else 0o644)


ACTIONS = {"write": _write, "remove": _remove, "link": _link, "move": _move, "mode": _mode}


if __name__ == "__main__":
    apply(sys.argv[1], json.load(sys.stdin))
    json.dump(holding(sys.argv[1]), sys.stdout)
