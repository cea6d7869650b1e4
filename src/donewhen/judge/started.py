"""Which programs a check started, and which of them a green run must start again. Pure.

A check that no longer starts what it started on the base proves less than before: `make` finds a file with the name of
its target, or a runner was told to leave a test out. The exit code does not show that. A program counts if the check's
own shell and tools started it. What product code starts does not count, because the work may change it.
"""

import os
import re
from collections.abc import Callable, Iterator, Sequence

from donewhen.judge.check_run import StartedProgram
from donewhen.judge.used_paths import below
from donewhen.workspace.process.launcher.messages import READ
from donewhen.workspace.process.observed import NO_PARENT, Observed, ProgramRun

SHELLS = frozenset({"sh", "bash", "dash", "zsh", "ksh", "mksh", "busybox", "fish"})
"""They start some programs only if something failed. A shell that starts nothing may be right."""
NUMBERED = re.compile(r"[0-9a-f]{8,}|\d{4,}")
"""Parts of a name that differ from build to build."""

IsProtected = Callable[[str], bool]
"""Tells whether a path of the base is protected from the work."""


Chain = tuple[str, ...]
"""A program with the protected files among its words, after the programs above it in the same form."""


def started_programs(observed: Observed, root: str, has: Callable[[str], bool]) -> tuple[StartedProgram, ...]:
    """Return the programs of a run in the order of their start.

    `root` is the path of the tree. `has` tells whether the base has a file.
    """
    starters = {run.parent for run in observed.runs}
    return tuple(
        StartedProgram(
            name=_name(run, root),
            parent=run.parent,
            succeeded=run.exit_code == 0,
            files=tuple(dict.fromkeys(path for path in _named_files(run, root) if has(path))),
            read=tuple(path for path in _read_files(run, root) if has(path)) if number in starters else (),
        )
        for number, run in enumerate(observed.runs)
    )


def no_longer_started(
    base: Sequence[StartedProgram], now: Sequence[StartedProgram], is_protected: IsProtected
) -> tuple[str, ...]:
    """Return the programs that the check started on the base, and that it must start now but does not.

    Counted are programs of the tree, programs with a protected file among their words, and a tool that started others
    and starts none now. What was started after the first failure does not count: it may deal with the failure. A
    program must be started by the same programs as on the base, so that product code cannot start it for show.
    """
    base = base[: _first_failure(base) + 1]
    own = [number for number in range(len(base)) if _is_own(base, number, is_protected)]
    chains, chains_now = _chains(base, is_protected), _chains(now, is_protected)
    starters = {chains_now[program.parent] for program in now if program.parent != NO_PARENT}
    idle = set(chains_now) - starters
    missing: dict[str, None] = {}
    for number in own:
        name, chain = base[number].name, chains[number]
        if (name.startswith("./") or chain[-1] != name) and chain not in chains_now:
            missing[chain[-1]] = None
        is_starter = any(base[inner].parent == number for inner in own)
        if is_starter and name not in SHELLS and not name.startswith("./") and chain in idle:
            missing[f"anything by {chain[-1]}"] = None
    return tuple(missing)


def _chains(programs: Sequence[StartedProgram], is_protected: IsProtected) -> list[Chain]:
    chains: list[Chain] = []
    for program in programs:
        above = chains[program.parent] if program.parent != NO_PARENT else ()
        chains.append((*above, " ".join((program.name, *filter(is_protected, program.files)))))
    return chains


def _name(run: ProgramRun, root: str) -> str:
    """Return the path of a program of the tree as `./path`; of another program only the name."""
    inside = below(root, run.program)
    return f"./{NUMBERED.sub('*', inside)}" if inside else NUMBERED.sub("*", run.program.rpartition("/")[2])


def _named_files(run: ProgramRun, root: str) -> Iterator[str]:
    for word in run.argv[1:]:
        if word and not word.startswith("-"):
            yield below(root, os.path.normpath(os.path.join(run.directory, word)))


def _read_files(run: ProgramRun, root: str) -> Iterator[str]:
    for path, deed in run.seen.items():
        if deed & READ and path != run.program:
            yield below(root, path)


def _first_failure(programs: Sequence[StartedProgram]) -> int:
    """Return the number of the first program that failed by itself, and not because a program that it started did."""
    failed = {number for number, program in enumerate(programs) if not program.succeeded}
    above: set[int] = set()
    for number in failed:
        parent = programs[number].parent
        while parent != NO_PARENT and parent not in above:
            above.add(parent)
            parent = programs[parent].parent
    return min(failed - above, default=len(programs) - 1)


def _is_own(programs: Sequence[StartedProgram], number: int, is_protected: IsProtected) -> bool:
    """Return True if only the check's own shell and tools are above a program: none runs or reads product code."""
    parent = programs[number].parent
    while parent != NO_PARENT:
        above = programs[parent]
        if any(not is_protected(path) for path in above.read):
            return False
        if above.name.startswith("./") and not is_protected(above.name.removeprefix("./")):
            return False
        parent = programs[parent].parent
    return number == 0 or programs[number].parent != NO_PARENT
