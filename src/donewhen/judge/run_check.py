"""Runs one check once in one tree, and returns facts: what the run did and what it left. `evidence` draws conclusions.

The command runs in a throw-away layer over the judged tree. It writes reports to a directory outside of the tree. It
writes no Python bytecode. Protected files are mounted read-only from the base, where mounts are available.
"""

import contextlib
import os
import stat
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from donewhen.judge import runners
from donewhen.judge.check_run import CheckRun, SealedWrites
from donewhen.judge.contract import Check
from donewhen.judge.defences import Defences
from donewhen.judge.judge_host import JudgeEnvironment, JudgeHost
from donewhen.judge.made_files import NOTHING_MADE, MadeFiles, made_files
from donewhen.judge.output_tail import redacted, tail_of
from donewhen.judge.started import started_programs
from donewhen.judge.surroundings import PYTHON, REPORTS_INSIDE, report_variables, with_surroundings
from donewhen.judge.used_paths import below, used_paths
from donewhen.readers.result import RunnerReport
from donewhen.records import frozen
from donewhen.workspace.beneath import Root
from donewhen.workspace.process.command import End, Finished
from donewhen.workspace.process.launcher.messages import READ
from donewhen.workspace.process.output import Output
from donewhen.workspace.sandbox.level import Level
from donewhen.workspace.sandbox.sandbox import SandboxTree, ShellCommand
from donewhen.workspace.sandbox.view import Bind
from donewhen.workspace.trees.trees import Tree

if TYPE_CHECKING:
    from donewhen.workspace.process.observed import Observed
    from donewhen.workspace.sandbox.seccomp import ObservedCalls

REPORT_BYTES = 64 * 1024 * 1024
REPORT_FILES = 200
OUTPUT_BYTES = 4 * 1024 * 1024
"""Bytes kept of the start and of the end of the output: the tests of some runners are counted line by line."""
LOG_BYTES = 256 * 1024
"""Bytes kept of the end of the output, for code that reads the failures from it."""
NOT_STARTED = (126, 127)
"""Exit codes of a shell that could not start the command."""


@frozen(kw_only=True)
class RunMode:
    """The settings of a run, besides the check itself."""

    base_files: Root
    """A checkout of the base. It decides how a runner is recognised."""
    environment: JudgeEnvironment
    defences: Defences
    forbidden_writes: Callable[[Iterable[str]], SealedWrites] = lambda _: SealedWrites()
    """Returns which of the written paths the run should not write."""
    seals_outside: bool = False
    """Shares and the private home are examined after the run as well."""
    read_only_files: tuple[str, ...] = ()
    """Protected files that are mounted read-only from the base."""
    added_files: Mapping[str, bytes] = field(default_factory=dict[str, bytes])
    """Files that are added to the tree, or replace files of it, for this run."""
    observe: "ObservedCalls | None" = None
    """What is recorded of the programs that the run starts."""
    added_tests: Mapping[int, str] = field(default_factory=dict[int, str])
    """Number → name of each test in `added_files` that must be reported as failed."""


async def run(host: JudgeHost, tree: Tree, check: Check, mode: RunMode) -> CheckRun:
    """Run a check in a tree that is used for this run only."""
    _add_files(tree, mode.added_files)
    reports = tree.directory / "reports"
    reports.mkdir(mode=0o755, exist_ok=True)
    mounts = host.probe.level is Level.BUBBLEWRAP
    inside = REPORTS_INSIDE if mounts else str(reports)
    instrumented = runners.instrument_command(
        check.command, mode.base_files.below(check.dir), inside, keep_going=bool(mode.added_tests)
    )
    reports_mount = Bind(str(reports), inside, writable=True)
    sandbox_tree = _with_mounts(tree.sandbox_tree, mode, instrumented.variables, reports_mount, mounts)
    search = _Search(check.output_contains.encode())
    printed = {number: _Search(name.encode()) for number, name in mode.added_tests.items()}

    def see(chunk: bytes) -> None:
        for each in (search, *printed.values()):
            each.see(chunk)

    command = ShellCommand(
        text=instrumented.command,
        dir=check.dir,
        timeout_secs=check.timeout_secs,
        keep_bytes=OUTPUT_BYTES,
        observe=mode.observe,
    )
    finished = await host.sandbox_of(sandbox_tree).run(command, stdout=see)
    observed, has = finished.observed, _exists_in(mode.base_files)
    made = made_files(observed, tree.sandbox_tree.layers, os.environ.get("HOME", "/")) if observed else NOTHING_MADE
    left = await _left_outside(host, tree, observed, made) if mode.seals_outside else ()
    written = await host.trees.written(tree)
    gone = [inner for path in sorted(made.gone) if (inner := below(sandbox_tree.root, path))]
    found = runners.read(
        _read_reports(reports, sorted(os.listdir(reports))),
        _read_reports(tree.upper, [path for path in written if runners.in_tree_reports(path)]),
        finished.stdout.whole(),
        instrumented,
    )
    report, evidence = found or (None, "exit")
    sealed = mode.forbidden_writes(path for path in (*written, *gone) if path not in mode.added_files)
    used_bytecode = _used_bytecode(sealed.bytecode, sandbox_tree.root, observed)
    caught = _caught(mode.added_tests, finished, report, [number for number in printed if printed[number].found])
    is_read = not mode.added_tests and not (finished.ok and check.expect_exit_zero and search.found)
    return CheckRun(
        end=_end(finished),
        exit_code=finished.exit_code,
        signal=finished.signal,
        reason=finished.reason,
        duration_ms=round(finished.duration_secs * 1000),
        tail=tail_of(finished.stdout, mode.environment.secrets),
        log=_log(finished.stdout, mode.environment.secrets) if is_read else "",
        printed=search.found,
        reading=report,
        evidence=evidence,
        expected=instrumented.expected,
        touched=(*sealed.lines, *left),
        bytecode=tuple(directory for directory in sealed.bytecode if directory in used_bytecode),
        data_written=sealed.data,
        started=observed and started_programs(observed, sandbox_tree.root, lambda path: has(path) == "file"),
        all_started=observed is not None and observed.is_complete,
        used=observed and used_paths(observed, sandbox_tree.root, lambda path: bool(has(path)), made.readers),
        caught=caught,
        not_caught=tuple(number for number in mode.added_tests if number not in caught),
        keepable=finished.end is End.EXITED,
    )


async def _left_outside(host: JudgeHost, tree: Tree, observed: "Observed | None", made: MadeFiles) -> tuple[str, ...]:
    """Return one line for each forbidden write in the shares and in the home of a run, also if it is gone."""
    shares = await host.trees.written_to_shares(tree)
    home = dict(observed.home) if observed is not None else dict[str, int]()
    root, own_home = tree.sandbox_tree.root, os.environ.get("HOME", "/")
    for path in made.gone:
        share = next((share for share in tree.facts.shares if below(f"{root}/{share}", path)), "")
        if share:
            shares.setdefault(share, {})[below(f"{root}/{share}", path)] = stat.S_IFREG
        elif not below(root, path):
            home[below(own_home, path)] = stat.S_IFREG
    if not shares and not home:
        return ()
    from donewhen.judge.left_behind import forbidden_in_home, forbidden_in_share  # most runs leave nothing there

    lines = [line for share, files in shares.items() for line in forbidden_in_share(share, files)]
    above_tree = os.path.relpath(os.path.dirname(root), own_home)
    return tuple(dict.fromkeys((*lines, *forbidden_in_home(home, above_tree))))


def _used_bytecode(directories: Collection[str], root: str, observed: "Observed | None") -> Collection[str]:
    """Return those of the directories with bytecode in which a program read something; all if that is not known.

    `python -m compileall` leaves bytecode that nobody uses.
    """
    if not directories or observed is None or not observed.is_complete:
        return directories
    read = (path for run in observed.runs for path, deed in run.seen.items() if deed & READ)
    return {below(root, path).rpartition("/")[0] for path in read}


def _exists_in(base_files: Root) -> Callable[[str], str]:
    @cache
    def exists(path: str) -> str:
        """Return `file` or `directory`; empty if the base has nothing there."""
        try:
            found = base_files.status(path) if path else None
        except OSError:
            return ""
        return "" if found is None else "directory" if stat.S_ISDIR(found.st_mode) else "file"

    return exists


def _with_mounts(
    tree: SandboxTree, mode: RunMode, variables: Mapping[str, str], reports: Bind, mounts: bool
) -> SandboxTree:
    path = {"PATH": mode.environment.path} if mode.defences.tools else {}
    binds = (
        [
            Bind(mode.base_files.full_path(name), f"{tree.root}/{name}", within=tree.root)
            for name in mode.read_only_files
        ]
        if mounts
        else []
    )
    added = report_variables(variables, mode.environment)
    return with_surroundings(tree, {**PYTHON, **path, **added}, (*binds, reports))


def _log(output: Output, secrets: Mapping[str, str]) -> str:
    """Return the end of an output, starting at the beginning of a line."""
    data = redacted(output.whole().decode("utf-8", "replace"), secrets).encode()
    kept = data[-LOG_BYTES:]
    return (kept if kept == data else kept[kept.find(b"\n") + 1 :]).decode("utf-8", "ignore")


def _end(finished: Finished) -> str:
    started = finished.end is not End.EXITED or finished.exit_code not in NOT_STARTED
    return finished.end.value if started else End.COULD_NOT_START.value


def _caught(
    added: Mapping[int, str], finished: Finished, report: RunnerReport | None, printed: Collection[int]
) -> tuple[int, ...]:
    """Return the numbers of the added tests that were reported as failed. Not every report names its failures."""
    if finished.ok:
        return ()
    if not report or not report.failures:
        return tuple(printed)
    failures = "\n".join(report.failures)
    return tuple(number for number, name in added.items() if name in failures)


class _Search:
    """Searches for a text in a stream, also across the borders of chunks."""

    def __init__(self, wanted: bytes) -> None:
        self._wanted = wanted
        self._rest = b""
        self.found = not wanted

    def see(self, chunk: bytes) -> None:
        if not self.found:
            window = self._rest + chunk
            self.found = self._wanted in window
            self._rest = window[-(len(self._wanted) - 1) :] if len(self._wanted) > 1 else b""


def _add_files(tree: Tree, files: Mapping[str, bytes]) -> None:
    """Write our files into the layer of a fresh tree, before any command has run in it."""
    for path, content in files.items():
        with Root(tree.upper).above(path, make=True) as (directory, name):
            with contextlib.suppress(FileNotFoundError):
                os.unlink(name, dir_fd=directory)
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
            with open(os.open(name, flags, 0o644, dir_fd=directory), "wb") as file:
                file.write(content)


def _read_reports(directory: Path, names: list[str]) -> dict[str, bytes]:
    """Return reports by name. A command can leave anything there, so only regular files of a limited size are read."""
    found: dict[str, bytes] = {}
    left = REPORT_BYTES
    for name in names[:REPORT_FILES]:
        try:
            with Root(directory).file(name) as file:
                if os.fstat(file.fileno()).st_size <= left:
                    found[name] = file.read(left)
                    left -= len(found[name])
        except OSError:
            continue
    return found
