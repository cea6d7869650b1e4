"""Writing into layers as the kernel does: into the topmost one, creating the directories that it lacks.

The caller checks whether the path may be written and what was there before.
"""

import contextlib
import os
import stat
import uuid
from collections.abc import Generator

from donewhen.workspace.trees.capture.read_layer import OPAQUE
from donewhen.workspace.trees.overlay.directory import INTO, is_whiteout
from donewhen.workspace.trees.overlay.resolve import Mount, Parts


def write(mount: Mount, inner_path: Parts, content: bytes, mode: int) -> None:
    """Create or replace a file atomically."""
    with _top_directory(mount, inner_path[:-1]) as above, _new_file(mount, content, mode) as (staging, temporary):
        os.replace(temporary, inner_path[-1], src_dir_fd=staging, dst_dir_fd=above)


@contextlib.contextmanager
def _top_directory(mount: Mount, inner_path: Parts) -> Generator[int]:
    """Open a directory in the topmost layer. Create it with the mode of the layers beneath if it is missing."""
    here = mount.layers[0].open_directory()
    try:
        for number, part in enumerate(inner_path, 1):
            found = _status(here, part)
            if found is None or (mount.overlay and is_whiteout(found)):
                _make(mount, here, inner_path[:number], covers=found is not None)
            inner = os.open(part, INTO, dir_fd=here)
            os.close(here)
            here = inner
        yield here
    finally:
        os.close(here)


def _status(directory: int, name: str) -> os.stat_result | None:
    try:
        return os.lstat(name, dir_fd=directory)
    except FileNotFoundError:
        return None


def _make(mount: Mount, above: int, inner_path: Parts, covers: bool) -> None:
    """Create a directory that is complete when it appears. Over a whiteout it is opaque, so it hides lower layers."""
    name, temporary = inner_path[-1], _fresh_name()
    staging = os.open(mount.staging, INTO)
    try:
        os.mkdir(temporary, 0o700, dir_fd=staging)
        made = os.open(temporary, INTO, dir_fd=staging)
        try:
            if covers:
                os.setxattr(made, OPAQUE, b"y")
            os.fchmod(made, 0o755 if covers else _mode_beneath(mount, inner_path))
        finally:
            os.close(made)
        if covers:
            os.unlink(name, dir_fd=above)
        os.rename(temporary, name, src_dir_fd=staging, dst_dir_fd=above)
    finally:
        os.close(staging)


def _mode_beneath(mount: Mount, inner_path: Parts) -> int:
    try:
        with mount.directory_at(inner_path) as directory:
            return stat.S_IMODE(os.fstat(directory.layers[0]).st_mode)
    except (FileNotFoundError, NotADirectoryError):
        return 0o755


@contextlib.contextmanager
def _new_file(mount: Mount, content: bytes, mode: int) -> Generator[tuple[int, str]]:
    """Write a complete file that is not visible inside yet. It is removed at the end if the caller did not move it."""
    temporary = _fresh_name()
    staging = os.open(mount.staging, INTO)
    try:
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        with os.fdopen(os.open(temporary, flags, 0o600, dir_fd=staging), "wb") as file:
            file.write(content)
            os.fchmod(file.fileno(), mode)
        yield staging, temporary
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(temporary, dir_fd=staging)
        os.close(staging)


def _fresh_name() -> str:
    return f".new-{uuid.uuid4().hex}"
