"""One run of one check in one tree: what it did, and what it left behind. Facts only; `evidence` draws conclusions.

The command runs in a throw-away layer over the judged tree, with its reports going to a directory outside of it, its
caches going nowhere that anybody will look again, and the protected files that it reads fixed in place.
"""

import contextlib
import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import field, replace
from pathlib import Path

from donewhen.judge import runners
from donewhen.judge.contract import Check
from donewhen.judge.defences import Defences
from donewhen.judge.ground import Ground, Surroundings
from donewhen.judge.ran import Ran
from donewhen.judge.tail import redacted, tail_of
from donewhen.readers.reading import Reading
from donewhen.records import frozen
from donewhen.workspace.beneath import Root
from donewhen.workspace.command import End, Finished
from donewhen.workspace.output import Output
from donewhen.workspace.sandbox.level import Level
from donewhen.workspace.sandbox.room import Place, ShellCommand
from donewhen.workspace.sandbox.view import Bind
from donewhen.workspace.trees import Tree

REPORTS_INSIDE = "/tmp/reports"
REPORT_BYTES = 64 * 1024 * 1024
REPORT_FILES = 200
OUTPUT_BYTES = 4 * 1024 * 1024
"""Kept of the beginning and of the end of the output: some runners are counted line by line."""
LOG_BYTES = 256 * 1024
"""Of the end of the output, for those who read what failed out of it."""
NOT_STARTED = (126, 127)
"""What a shell says when it could not start the command."""
NO_BYTECODE = {"PYTHONDONTWRITEBYTECODE": "1", "PYTHONNOUSERSITE": "1"}
"""No honest run leaves bytecode in the tree then. (A place of its own for bytecode would also work, and make Python
compile its whole library again in every run.)"""


@frozen(kw_only=True)
class How:
    """What shapes a run besides the check itself."""

    base_files: Root
    """A checkout of the base, which decides how a runner is recognised."""
    surroundings: Surroundings
    defences: Defences
    broken: Callable[[Iterable[str]], tuple[str, ...]] = lambda _: ()
    """Which of the written paths should not have been written, one line each."""
    fixed: tuple[str, ...] = ()
    """Protected files that are mounted read-only from the base."""
    laid_over: Mapping[str, bytes] = field(default_factory=dict[str, bytes])
    """Files put over the tree for this run."""
    must_fail: str = ""
    """The name of a test among them that has to be reported as failed."""


async def run(ground: Ground, tree: Tree, check: Check, how: How) -> Ran:
    """Run a check in a tree that nobody else uses."""
    _lay_over(tree, how.laid_over)
    reports = tree.directory / "reports"
    reports.mkdir(mode=0o755, exist_ok=True)
    mounts = ground.probe.level is Level.BUBBLEWRAP
    inside = REPORTS_INSIDE if mounts else str(reports)
    ask = runners.ask(check.command, how.base_files.below(check.dir), inside)
    place = _place(tree.place, how, ask.variables, Bind(str(reports), inside, writable=True), mounts)
    search, canary = _Search(check.output_contains.encode()), _Search(how.must_fail.encode())

    def see(chunk: bytes) -> None:
        search.see(chunk)
        canary.see(chunk)

    command = ShellCommand(text=ask.command, dir=check.dir, timeout_secs=check.timeout_secs, keep_bytes=OUTPUT_BYTES)
    finished = await ground.room_of(place).run(command, stdout=see)
    written = await ground.trees.written(tree)
    found = runners.read(
        _read_reports(reports, sorted(os.listdir(reports))),
        _read_reports(tree.upper, [path for path in written if runners.in_tree_reports(path)]),
        finished.stdout.whole(),
        ask,
    )
    is_read = not how.must_fail and not (finished.ok and check.expect_exit_zero and search.found)
    return Ran(
        end=_end(finished),
        exit_code=finished.exit_code,
        signal=finished.signal,
        reason=finished.reason,
        duration_ms=round(finished.duration_secs * 1000),
        tail=tail_of(finished.stdout, how.surroundings.secrets),
        log=_log(finished.stdout, how.surroundings.secrets) if is_read else "",
        printed=search.found,
        reading=found[0] if found else None,
        evidence=found[1] if found else "exit",
        expected=ask.expected,
        touched=how.broken(path for path in written if path not in how.laid_over),
        caught=_caught(how.must_fail, finished, found[0] if found else None, canary.found) if how.must_fail else None,
        keepable=finished.end is End.EXITED,
    )


def _place(place: Place, how: How, variables: Mapping[str, str], reports: Bind, mounts: bool) -> Place:
    caches = NO_BYTECODE if how.defences.caches else {}
    path = {"PATH": how.surroundings.path} if how.defences.tools else {}
    fixed = (
        [Bind(how.base_files.place(name), f"{place.root}/{name}", within=place.root) for name in how.fixed]
        if mounts
        else []
    )
    return replace(
        place,
        layers=(*place.layers, *fixed, reports),
        variables={**place.variables, **caches, **path, **_joined(variables, how.surroundings.passed)},
    )


def _joined(ours: Mapping[str, str], theirs: Mapping[str, str]) -> dict[str, str]:
    """Options for runners come on top of those that the person passes through."""
    return {name: f"{theirs[name]} {value}" if name in theirs else value for name, value in ours.items()}


def _log(output: Output, secrets: Mapping[str, str]) -> str:
    """The end of an output, from the beginning of a line on."""
    data = redacted(output.whole().decode("utf-8", "replace"), secrets).encode()
    kept = data[-LOG_BYTES:]
    return (kept if kept == data else kept[kept.find(b"\n") + 1 :]).decode("utf-8", "ignore")


def _end(finished: Finished) -> str:
    started = finished.end is not End.EXITED or finished.exit_code not in NOT_STARTED
    return finished.end.value if started else End.COULD_NOT_START.value


def _caught(name: str, finished: Finished, reading: Reading | None, printed: bool) -> bool:
    named = any(name in failure for failure in reading.failures) if reading and reading.failures else printed
    return named and not finished.ok


class _Search:
    """Looks for a text in a stream, wherever the chunks are cut."""

    def __init__(self, wanted: bytes) -> None:
        self._wanted = wanted
        self._rest = b""
        self.found = not wanted

    def see(self, chunk: bytes) -> None:
        if not self.found:
            window = self._rest + chunk
            self.found = self._wanted in window
            self._rest = window[-(len(self._wanted) - 1) :] if len(self._wanted) > 1 else b""


def _lay_over(tree: Tree, files: Mapping[str, bytes]) -> None:
    """Put files of ours into the layer of a fresh tree, before anything has run in it."""
    for path, content in files.items():
        with Root(tree.upper).above(path, make=True) as (directory, name):
            with contextlib.suppress(FileNotFoundError):
                os.unlink(name, dir_fd=directory)
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
            with open(os.open(name, flags, 0o644, dir_fd=directory), "wb") as file:
                file.write(content)


def _read_reports(directory: Path, names: list[str]) -> dict[str, bytes]:
    """Reports by name. What a command left there may be anything, so only plain files of a sane size are opened."""
    found: dict[str, bytes] = {}
    room = REPORT_BYTES
    for name in names[:REPORT_FILES]:
        try:
            with Root(directory).file(name) as file:
                if os.fstat(file.fileno()).st_size <= room:
                    found[name] = file.read(room)
                    room -= len(found[name])
        except OSError:
            continue
    return found
