"""Which files one program of a run made and another program read, also if they are gone when the run ends.

A check may have several stages. A stage that runs product code could leave settings for the next one, and remove them
afterwards. The record of a run shows who read what. A file that the tree did not have was made during the run.
"""

import os
import stat
from collections.abc import Iterable, Iterator, Mapping, Sequence

from donewhen.records import frozen
from donewhen.workspace.beneath import Root
from donewhen.workspace.process.launcher.messages import READ, WRITTEN
from donewhen.workspace.process.observed import Observed, ProgramRun
from donewhen.workspace.sandbox.view import Bind, Overlay

Layer = Bind | Overlay


@frozen
class MadeFiles:
    readers: Mapping[str, tuple[ProgramRun, ...]]
    """Path as the command sees it → the programs that read it and did not write it."""
    gone: frozenset[str]
    """Those of the paths that are no longer there."""


NOTHING_MADE = MadeFiles({}, frozenset())


def made_files(observed: Observed, layers: Sequence[Layer], home: str) -> MadeFiles:
    """Return the files of a finished run that were made below these layers or in the private home."""
    places = _Places(layers, home, observed.home)
    readers: dict[str, list[ProgramRun]] = {}
    for run in observed.runs:
        for path, deed in run.seen.items():
            if deed & READ and not deed & WRITTEN and (path in readers or places.was_made(path)):
                readers.setdefault(path, []).append(run)
    gone = frozenset(path for path in readers if not places.has(path))
    return MadeFiles({path: tuple(runs) for path, runs in readers.items()}, gone)


class _Places:
    """The files of a sandbox, before and after a run. What is neither in a layer nor in the home is not known."""

    def __init__(self, layers: Sequence[Layer], home: str, left_in_home: Mapping[str, int]) -> None:
        self._layers = sorted(layers, key=lambda layer: len(layer.at), reverse=True)
        self._home = home
        self._left = left_in_home
        self._made: dict[str, bool] = {}

    def was_made(self, path: str) -> bool:
        if path not in self._made:
            self._made[path] = self._was_made(path)
        return self._made[path]

    def _was_made(self, path: str) -> bool:
        if layer := self._layer_of(path):
            return not _has_any(_sources(layer), path[len(layer.at) :])
        return path.startswith(f"{self._home}/") and not os.path.lexists(path)

    def has(self, path: str) -> bool:
        if layer := self._layer_of(path):
            upper = [Root(layer.directory, layer.upper)] if isinstance(layer, Overlay) else []
            return _has_any((*upper, *_sources(layer)), path[len(layer.at) :])
        return path.removeprefix(f"{self._home}/") in self._left

    def _layer_of(self, path: str) -> Layer | None:
        return next((layer for layer in self._layers if f"{path}/".startswith(f"{layer.at}/")), None)


def _sources(layer: Layer) -> Iterator[Root]:
    """Yield the content of a layer before the run, top first."""
    if isinstance(layer, Bind):
        yield Root(layer.source)
    elif layer.borrowed:
        yield Root(*layer.borrowed)
    else:
        yield from (Root(layer.directory, name) for name in layer.lower)


def _has_any(sources: Iterable[Root], path: str) -> bool:
    """Return True if the first source that has this path has a file there. An overlay marks a deleted file."""
    for source in sources:
        try:
            found = source.status(path.strip("/"))
        except OSError:
            return True  # behind a link: not known
        if found is not None:
            return not stat.S_ISCHR(found.st_mode)
    return False
