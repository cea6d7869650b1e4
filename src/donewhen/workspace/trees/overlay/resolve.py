"""Path resolution in a tree: in which layers a path is, through which links, and what is there.

Links are followed step by step by this code, and only as far as they stay below the root. Nothing is written here.
"""

import contextlib
import os
import re
import stat
from collections.abc import Callable, Generator, Iterator, Sequence
from pathlib import Path
from typing import BinaryIO

from donewhen.records import frozen
from donewhen.workspace.beneath import Root
from donewhen.workspace.trees.overlay.directory import Directory, Kind, kind_of
from donewhen.workspace.trees.overlay.problems import NotFound, OutsideTree, as_file_problem

MOST_HOPS = 40
LONE_SURROGATE = re.compile("[\ud800-\udc7f\udd00-\udfff]")
"""Surrogates that do not stand for a byte."""

Parts = tuple[str, ...]
Enter = Callable[[str], bool]


@frozen
class PathEntry:
    path: str
    """Relative to the root; bytes that are not valid UTF-8 are surrogate escapes."""
    kind: Kind


@frozen
class Mount:
    """Layers and the path at which they appear."""

    at: Parts
    layers: tuple[Root, ...]
    """From top to bottom; writes go to the first one."""
    overlay: bool
    staging: Path
    """A directory on the same file system as the first layer, not visible inside."""
    inner: Parts = ()
    """The path in the layers that appears at `at`: a shared file is stored in its own directory."""

    def path_in_layers(self, parts: Parts) -> Parts:
        """Return a path of the tree as a path in the layers."""
        return (*self.inner, *parts[len(self.at) :])

    @contextlib.contextmanager
    def directory_at(self, inner_path: Parts) -> Generator[Directory]:
        here = Directory.at(self.layers, self.overlay)
        try:
            for part in inner_path:
                inner = here.below(part)
                here.close()
                here = inner
                if not here.layers:
                    raise NotADirectoryError(part)
            yield here
        finally:
            here.close()


class View:
    def __init__(self, root: str, mounts: Sequence[Mount]) -> None:
        self.root = root.rstrip("/")
        """The path of the tree inside. Absolute paths and links that begin with it are accepted."""
        self._mounts = sorted(mounts, key=lambda mount: len(mount.at), reverse=True)

    def mount(self, parts: Parts) -> Mount:
        return next(mount for mount in self._mounts if parts[: len(mount.at)] == mount.at)

    def parts(self, path: str, label: str = "") -> Parts:
        """Return the names of a path below the root. `label` names the path in the error message if it is outside."""
        if "\0" in path or LONE_SURROGATE.search(path):
            raise NotFound(f"{path!r} is not a valid path")
        if path.startswith("/"):
            inside = os.path.normpath(path).replace("//", "/") + "/"
            if not inside.startswith(f"{self.root}/"):
                raise OutsideTree(f"{label or path} is outside {self.root}; paths are relative to it")
            path = inside[len(self.root) :]
        return tuple(part for part in path.split("/") if part not in ("", "."))

    def resolve(self, path: str) -> Parts:
        """Return the path with every link in it resolved, the last one included."""
        here: list[str] = []
        todo = list(reversed(self.parts(path)))
        hops = 0
        while todo:
            part = todo.pop()
            if part == "..":
                if not here:
                    raise OutsideTree(f"{path} leads out of {self.root}")
                here.pop()
                continue
            here.append(part)
            with as_file_problem(path):
                found = self.status(tuple(here))
                is_link = found is not None and stat.S_ISLNK(found.st_mode)
                link = self.target(tuple(here)) if is_link else None
            if link is None:
                continue
            hops += 1
            if hops > MOST_HOPS:
                raise NotFound(f"{path} is a broken link")
            here.pop()
            if link.startswith("/"):
                here.clear()
            todo += reversed(self.parts(link, f"{path} goes through a link to {link}, which"))
        return tuple(here)

    def status(self, parts: Parts) -> os.stat_result | None:
        """Return the status of a path, no link followed; None if nothing is there or a parent is not a directory."""
        mount = self.mount(parts)
        inner_path = mount.path_in_layers(parts)
        if not inner_path:
            return mount.layers[0].status()
        try:
            with mount.directory_at(inner_path[:-1]) as directory:
                return directory.status(inner_path[-1])
        except (FileNotFoundError, NotADirectoryError):
            return None

    def target(self, parts: Parts) -> str:
        """Return the target of the link at a path."""
        mount = self.mount(parts)
        *above, name = mount.path_in_layers(parts)
        with mount.directory_at(tuple(above)) as directory:
            return directory.target(name)

    def file(self, parts: Parts) -> BinaryIO:
        """Open the file at a path for reading."""
        mount = self.mount(parts)
        *above, name = mount.path_in_layers(parts)
        with mount.directory_at(tuple(above)) as directory:
            return directory.open(name)

    @contextlib.contextmanager
    def directory(self, parts: Parts) -> Generator[Directory]:
        mount = self.mount(parts)
        with mount.directory_at(mount.path_in_layers(parts)) as directory:
            yield directory

    def entries(self, parts: Parts, directory: Directory) -> list[PathEntry]:
        """Return the entries of a directory, including mounts that appear in it."""
        names = directory.names()
        for mount in self._mounts:
            if mount.at and mount.at[:-1] == parts and (found := self.status(mount.at)) is not None:
                names[mount.at[-1]] = kind_of(found.st_mode)
        return [PathEntry("/".join((*parts, name)), kind) for name, kind in sorted(names.items())]

    def below(self, parts: Parts, directory: Directory, deepest: int, enter: Enter) -> Iterator[PathEntry]:
        """Yield everything below a directory, in order, without `.git` and other mounts."""
        for entry in self.entries(parts, directory):
            inner = (*parts, entry.path.rpartition("/")[2])
            if inner[-1] == ".git" or self.mount(inner).at == inner:
                continue
            yield entry
            if entry.kind == "directory" and deepest > 1 and enter(entry.path):
                with contextlib.suppress(PermissionError), contextlib.closing(directory.below(inner[-1])) as below:
                    yield from self.below(inner, below, deepest - 1, enter)
