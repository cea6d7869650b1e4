"""Canary: tests that must fail, added to the tests that a command runs.

They fail through the assertions that their file itself uses, so that a product that weakens an assertion is noticed. A
runner that does not report one of them can no longer fail. The places are guessed from names and contents of files of
the base. Each guess is proven on the base first, so a wrong one costs only that test.
"""

import posixpath
import re
import zlib
from collections.abc import Collection, Iterator, Mapping
from itertools import islice
from string import Template

from donewhen.judge.runners.calls import calls
from donewhen.judge.runners.instrument import InstrumentedCommand
from donewhen.judge.runners.registry import runners
from donewhen.judge.runners.runner import CanaryFile
from donewhen.records import frozen
from donewhen.workspace.beneath import Root

BY_RUNNER = {runner.name: runner.make_canary for runner in runners() if runner.make_canary}
MOST_FILES, MOST_TESTS = 50, 100


@frozen
class AddedTest:
    """A test that must fail."""

    number: int
    """It depends on the files of the base only, not on the token."""
    name: str
    """Part of the name with which the runner reports the failure."""
    path: str


@frozen
class Canary:
    files: Mapping[str, bytes]
    """Path from the root of the repository → its whole content, written over the tree for one run."""
    tests: tuple[AddedTest, ...]


def canary(
    instrumented: InstrumentedCommand, root: Root, dir: str, token: str, numbers: Collection[int] | None = None
) -> Canary | None:
    """Return a canary for a command; None if no sensible one can be added.

    `root` is a checkout of the base. `token` must be unguessable. With `numbers`, only these tests are added.
    """
    directory, mark = root.below(dir), re.sub(r"\W", "_", token)
    for call in calls(instrumented.command, directory):
        add = BY_RUNNER.get(call.runner)
        found = list(islice(add(directory, call, mark), MOST_FILES)) if add else []
        if found:
            return _written(found, dir, mark, numbers)
    return None


def _written(found: list[CanaryFile], dir: str, mark: str, numbers: Collection[int] | None) -> Canary:
    """Write the chosen tests into their files. Their values are different each time, like their names."""
    random = zlib.crc32(mark.encode())
    left = 1000 + random % 4000
    right = left + 1 + random // 4000 % 4000
    files, tests = dict[str, bytes](), list[AddedTest]()
    for file, chosen in _chosen(found).items():
        wanted = [(number, test) for number, test in chosen.items() if numbers is None or number in numbers]
        names = {number: f"{mark}_{number:02}" for number, _ in wanted}
        texts = [Template(test).safe_substitute(name=names[n], left=left, right=right) for n, test in wanted]
        path = posixpath.normpath(posixpath.join(dir, file.path))
        if texts:
            files[path] = (file.before + "".join(f"\n\n{text}\n" for text in texts) + file.after).encode()
        tests += [AddedTest(number, name, path) for number, name in names.items()]
    return Canary(files, tuple(tests))


def _chosen(found: list[CanaryFile]) -> dict[CanaryFile, dict[int, str]]:
    """Return the tests of each file by number. Where there are too many, every file keeps its first ones."""
    chosen: dict[CanaryFile, dict[int, str]] = {file: {} for file in found}
    for number, (file, test) in enumerate(islice(_in_turn(found), MOST_TESTS)):
        chosen[file][number] = test
    return chosen


def _in_turn(found: list[CanaryFile]) -> Iterator[tuple[CanaryFile, str]]:
    """Yield the first test of every file, then the second of every file, and so on."""
    for at in range(max(len(file.tests) for file in found)):
        yield from ((file, file.tests[at]) for file in found if at < len(file.tests))
