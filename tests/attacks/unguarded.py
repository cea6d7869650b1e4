"""donewhen with its path defences switched off: links are followed, and a pointer opens any repository.

For control arms only: an attack that does not succeed even here proves nothing.
"""

import os
import runpy
import sys
from pathlib import Path

from donewhen.workspace import beneath
from donewhen.workspace.git import repo
from donewhen.workspace.git.landing import commits, reflog
from donewhen.workspace.git.store import dirty, object_mirror
from donewhen.workspace.trees import trees


def nothing(*_: object) -> None:
    return None


def yes(*_: object) -> bool:
    return True


def switch_off() -> None:
    follow = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC

    def opened(self: beneath.Root, path: str | bytes = b"") -> int:
        return os.open(self.full_path(path), follow)

    def made(top: str, _identity: object, parts: tuple[bytes, ...], _share: object) -> int:
        place = os.path.join(os.fsencode(top), *parts)
        os.makedirs(place, exist_ok=True)
        return os.open(place, follow)

    def open_any(self: beneath.Root, path: str | bytes, flags: int, mode: int = 0o666) -> int:
        return os.open(self.full_path(path), flags & ~os.O_NOFOLLOW | os.O_CLOEXEC, mode)

    def status(self: beneath.Root, path: str | bytes = b"") -> os.stat_result | None:
        try:
            return os.stat(self.full_path(path))
        except (FileNotFoundError, NotADirectoryError):
            return None

    def link(above: int, name: str, into: Path, _: str) -> None:
        with open(f"/proc/self/fd/{above}/{name}", "rb") as source:
            (into / name).write_bytes(source.read())

    def append(root: beneath.Root, log: bytes, line: bytes) -> None:
        with open(root.full_path(log), "ab") as file:
            file.write(line)

    off: list[tuple[object, str, object]] = [
        (beneath, "_make_directories", made),
        (beneath.Root, "open_directory", opened),
        (beneath.Root, "open", open_any),
        (beneath.Root, "status", status),
        (beneath.Root, "target", nothing),
        (repo, "_refuse_links", nothing),
        (repo, "_foreign_git_dir", nothing),
        (repo, "_is_declared_safe", yes),
        (object_mirror, "_refuse_links", nothing),
        (trees, "require_shareable", nothing),
        (object_mirror, "_link", link),
        (commits, "_is_plain", bool),
        (dirty, "unsafe_path", nothing),
        (reflog, "_append", append),
    ]
    for module, name, function in off:
        assert hasattr(module, name), f"{module} has no {name}: the defence would stay on"
        setattr(module, name, function)


if __name__ == "__main__":
    switch_off()
    sys.argv[0] = "donewhen"
    runpy.run_module("donewhen", run_name="__main__")
