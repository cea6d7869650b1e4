"""One directory with a manifest, as the finders of each language see it: its files, and commands that use them."""

import os
import posixpath
import shlex
from collections.abc import Callable, Iterator
from itertools import islice

from donewhen.judge.detect.ci_commands import CiCommand
from donewhen.judge.detect.recognise import RecognisedTool, recognise
from donewhen.judge.detect.survey import Survey, Table, is_within, joined
from donewhen.records import frozen

Programs = Callable[[str], bool]
LONG_TESTS = ("integration", "e2e", "functional", "acceptance", "smoke", "slow", "bench", "benchmark")
MOST_OPENED = 40
"""Maximum number of files that are opened to find out which test framework a project uses."""


@frozen
class Package:
    survey: Survey
    dir: str
    nested: tuple[str, ...]
    """Directories of other packages inside of this one."""
    called: tuple[CiCommand, ...]
    programs: Programs

    def path(self, name: str) -> str:
        return joined(self.dir, name)

    def has(self, name: str) -> bool:
        return self.survey.has(self.path(name))

    def first(self, *names: str) -> str:
        """Return the path of the first of these files that exists; empty if none does."""
        return next((self.path(name) for name in names if self.has(name)), "")

    def text(self, name: str) -> str:
        return self.survey.text(self.path(name))

    def toml(self, name: str) -> Table:
        return self.survey.toml(self.path(name))

    def json(self, name: str) -> Table:
        return self.survey.json(self.path(name))

    def exists(self, path: str) -> bool:
        """Return True if a path, written relative to this directory, exists. Paths outside of the repository do not."""
        full = posixpath.normpath(posixpath.join(self.dir, path))
        return not full.startswith(("..", "/")) and self.survey.exists(full)

    def below(self, *patterns: str) -> Iterator[str]:
        """Yield the paths of matching files of this package, without nested packages."""
        for path in self.survey.below(self.dir, *patterns):
            if not any(is_within(path, inner) for inner in self.nested):
                yield path

    def upward(self) -> Iterator[str]:
        """Yield this directory and those above it, up to the root."""
        yield self.dir
        if self.dir != ".":
            parts = self.dir.split("/")
            yield from ("/".join(parts[:count]) for count in range(len(parts) - 1, 0, -1))
            yield "."

    def above(self, *names: str) -> str:
        """Return the nearest of these files, here or upward; empty if there is none."""
        here = (joined(directory, name) for directory in self.upward() for name in names)
        return next((path for path in here if self.survey.has(path)), "")

    def relative(self, path: str) -> str:
        """Return a path of the repository relative to this directory, for use in a command."""
        return os.path.relpath(path, self.dir)

    def first_with(self, words: str, *patterns: str, nested: bool = False) -> str:
        """Return the first matching file of this package that contains these words; empty if there is none."""
        paths = self.survey.below(self.dir, *patterns) if nested else self.below(*patterns)
        return next((path for path in islice(paths, MOST_OPENED) if words in self.survey.text(path)), "")

    def first_where(self, fits: Callable[[str], object], *patterns: str) -> str:
        """Return the first matching file of this package whose text fits; empty if there is none."""
        return next((path for path in islice(self.below(*patterns), MOST_OPENED) if fits(self.survey.text(path))), "")

    def own_call(self, runner: str) -> tuple[CiCommand, RecognisedTool] | None:
        """Return how the project itself calls a tool here. Quick tests are preferred to long ones."""
        found = [
            (called, tool)
            for called in self.called
            if called.dir == self.dir and (tool := recognise(called.words)) is not None and tool.runner == runner
        ]
        quick = [pair for pair in found if not any(word in " ".join(pair[0].words) for word in LONG_TESTS)]
        return next(iter(quick or found), None)


def quoted(*words: str) -> str:
    return shlex.join(words)


def shown(words: tuple[str, ...]) -> str:
    """Return a command as it is quoted in a reason."""
    return f"`{' '.join(words)}`"
