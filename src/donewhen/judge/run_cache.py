"""Cache of runs that need not be repeated because nothing that they depend on has changed. One plain file per run.

Only the facts of a run are kept, never the conclusions. The rules are applied again each time, so a kept run cannot
improve a result. A run that ended by a timeout or a machine problem, or that had different results on the same tree, is
not kept.
"""

import contextlib
import hashlib
import json
import os
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from donewhen.judge.check_run import CheckRun, StartedProgram
from donewhen.judge.used_paths import UsedPaths
from donewhen.workspace.files import write_atomically

if TYPE_CHECKING:
    from donewhen.readers.result import RunnerReport

KEPT = 4000
RUNS = "runs"
"""The directory for kept runs, in the state directory of a repository."""


class RunCache:
    """Runs by key. Without a directory nothing is kept. With `fresh` no kept run is returned."""

    def __init__(self, directory: Path | None, fresh: bool = False) -> None:
        self._directory = directory
        self._fresh = fresh

    def get(self, key: str) -> CheckRun | None:
        if self._directory is None or self._fresh or not key:
            return None
        try:
            known: dict[str, Any] = json.loads((self._directory / key).read_text())
            lists = ("touched", "expected", "bytecode", "data_written", "caught", "not_caught")
            known |= {name: tuple(known[name]) for name in lists}
            facts: dict[str, Any] = {
                **known,
                "reading": _reading(known["reading"]),
                "started": _started(known["started"]),
                "used": _used(known["used"]),
                "cached": True,
            }
            return CheckRun(**facts)
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def put(self, key: str, run: CheckRun) -> None:
        if self._directory is None or not key or run.end != "exited" or not run.keepable:
            return
        self._directory.mkdir(parents=True, exist_ok=True, mode=0o700)
        with contextlib.suppress(OSError):  # a run that cannot be kept only costs time later
            write_atomically(self._directory / key, json.dumps(asdict(run)))

    def drop(self, key: str) -> None:
        if self._directory is not None and key:
            (self._directory / key).unlink(missing_ok=True)


def forget_old_runs(state: Path, kept: int = KEPT) -> None:
    """Remove all but the newest runs in the state directory of a repository."""
    try:
        entries = sorted(os.scandir(state / RUNS), key=lambda entry: entry.stat().st_mtime, reverse=True)
    except FileNotFoundError:
        return
    for entry in entries[kept:]:
        Path(entry.path).unlink(missing_ok=True)


def key_of(*parts: object) -> str:
    return hashlib.sha256(json.dumps(parts, default=str).encode("utf-8", "surrogateescape")).hexdigest()


def _started(known: list[dict[str, Any]] | None) -> tuple[StartedProgram, ...] | None:
    if known is None:
        return None
    for program in known:
        program.update({name: tuple(program[name]) for name in ("files", "read")})
    return tuple(StartedProgram(**program) for program in known)


def _used(known: dict[str, Any] | None) -> UsedPaths | None:
    if known is None:
        return None
    commands: list[list[str]] = known["commands"]
    lists = {name: tuple(known[name]) for name in ("read", "named", "chosen")}
    tables = {name: {key: tuple(values) for key, values in known[name].items()} for name in ("missed_by", "made")}
    facts: dict[str, Any] = {**known, **lists, **tables, "commands": tuple(tuple(one) for one in commands)}
    return UsedPaths(**facts)


def _reading(known: dict[str, Any] | None) -> "RunnerReport | None":
    if known is None:
        return None
    from donewhen.readers.result import RunnerReport, Tests  # many checks start no known runner

    facts: dict[str, Any] = {**known, "tests": Tests(**known["tests"])}
    facts.update({name: tuple(known[name]) for name in ("failures", "ran", "skipped")})
    return RunnerReport(**facts)
