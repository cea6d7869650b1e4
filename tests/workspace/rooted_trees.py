"""Trees of files, directories and links below a root, and every operation of a root in them.

Used by the tests of `workspace.beneath`, also in a separate process that may mount file systems.
"""

import contextlib
import os
from collections.abc import Generator, Iterator, Mapping
from pathlib import Path

from donewhen.workspace.beneath import LeavesRoot, Root
from repositories import digest

SECRET = b"the private key"
NAMES = ("a", "b", "c")


@contextlib.contextmanager
def two_places(place: Path) -> Generator[tuple[Path, Path]]:
    """A root to work in, and a directory next to it that must not change."""
    root, outside = place / "root", place / "outside"
    (root / "dir").mkdir(parents=True)
    (root / "dir" / "file").write_bytes(b"inside")
    (outside / "deep").mkdir(parents=True)
    (outside / "secret").write_bytes(SECRET)
    (outside / "deep" / "secret").write_bytes(SECRET)
    before = digest(outside)
    yield root, outside
    assert digest(outside) == before


def plant(place: Path, outside: Path, nodes: Mapping[str, tuple[str, str]]) -> None:
    for path, (kind, target) in sorted(nodes.items()):
        full = place / path
        if os.path.lexists(full) or any(above.is_symlink() for above in full.parents if place in above.parents):
            continue
        with contextlib.suppress(OSError):
            full.parent.mkdir(parents=True, exist_ok=True)
            if kind == "dir":
                full.mkdir()
            elif kind == "file":
                full.write_bytes(b"inside")
            else:
                full.symlink_to(target.replace("OUTSIDE", str(outside)) or ".")


def attempts(root: Root, path: str) -> Iterator[bytes]:
    """Do every operation of a root with a path; return what was read."""
    with contextlib.suppress(LeavesRoot, OSError):
        yield root.read(path, 100) or b""
    yield from (content for content in [safely(root, path)] if content)
    with contextlib.suppress(LeavesRoot, OSError):
        os.close(root.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND))
    with contextlib.suppress(LeavesRoot, OSError), root.directory(path, make=True) as fd:
        os.close(os.open("made", os.O_CREAT | os.O_WRONLY, dir_fd=fd))
    with contextlib.suppress(LeavesRoot, OSError), root.above(path, make=True) as (fd, name):
        os.symlink("anywhere", b"planted-" + name, dir_fd=fd)
    with contextlib.suppress(LeavesRoot, OSError):
        for name in root.files_below(path):
            yield root.read(name, 100) or b""
    with contextlib.suppress(LeavesRoot, OSError):
        yield repr((root.names(path), root.status(path) is not None, root.directories_below(path))).encode()


def safely(root: Root, path: str) -> bytes | None:
    try:
        return root.read_inside(path, 100)
    except LeavesRoot:
        return None
