"""Which paths of the tree a run used: files that it read, and paths that it looked for and did not find. Pure.

On the base nothing is forged: the work did not exist yet. What the base's runs used decides what the work may change,
for tools that no table knows. `protect.rules.used_files` has the rules.
"""

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from itertools import islice

from donewhen.records import frozen
from donewhen.workspace.process.launcher.messages import FOUND, LISTED, MISSED, READ
from donewhen.workspace.process.observed import Observed, ProgramRun

MOST_MISSED = 50_000
"""Paths that a run looked for. Beyond it the record is not complete."""
MOST_COMMANDS, MOST_WORDS, LONGEST_WORD = 2_000, 4, 300
"""A program that runs a file of the tree has it among its first words."""
MOST_PARTS, SPACE = 500, " "
SEPARATORS = re.compile(r"[\s=:;,'\"()|&<>]+")


@frozen(kw_only=True)
class UsedPaths:
    """What a run did with the paths of its tree."""

    read: tuple[str, ...] = ()
    """Files of the base that it read or executed."""
    commands: tuple[tuple[str, ...], ...] = ()
    """Each program that it started, and its first words that are not options.

    A program or a word that is a path of the base is relative to the root, a program with `./`. Another program is its
    name alone.
    """
    named: tuple[str, ...] = ()
    """Paths of the base in the words of the check's own programs: no program above them has such a word."""
    chosen: tuple[str, ...] = ()
    """Files of the base that a program read by a name of its own: not one of its words, not from a list."""
    missed: Mapping[str, str] = field(default_factory=dict[str, str])
    """Path that it looked for and that is not there → the file that the same program used instead; empty if none."""
    missed_by: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    """Command → the paths that it looked for and that are not there."""
    made: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    """File that was made during the run → the commands that read it and did not write it."""
    is_complete: bool = False


def used_paths(
    observed: Observed, root: str, exists: Callable[[str], bool], made: Mapping[str, Sequence[ProgramRun]]
) -> UsedPaths:
    """Return what a run used below `root`. `exists` tells whether the base has a file or directory.

    `made` are the files that were made during the run, with the programs that read them.
    """
    read: dict[str, None] = {}
    commands: dict[tuple[str, ...], None] = {}
    missed: dict[str, str] = {}
    missed_by: dict[str, set[str]] = {}
    chosen: set[str] = set()

    def command_of(run: ProgramRun) -> tuple[str, ...]:
        return _program(run, root, exists), *_words(run, root, exists)

    for run in observed.runs:
        command = command_of(run)
        commands[command] = None
        found = [inner for path, deed in run.seen.items() if deed & READ and exists(inner := below(root, path))]
        read.update(dict.fromkeys(found))
        chosen.update(_chosen(run, root, found))
        for path, answer in _missed(run):
            inner = below(root, path)
            if inner and not inner.startswith(".git/") and not exists(inner):
                missed[inner] = missed.get(inner) or below(root, answer) or answer
                missed_by.setdefault(SPACE.join(command), set()).add(inner)
    is_short = sum(map(len, missed_by.values())) <= MOST_MISSED
    return UsedPaths(
        read=tuple(sorted(read)),
        commands=tuple(commands)[:MOST_COMMANDS],
        named=tuple(sorted(_named(observed, root, exists))),
        chosen=tuple(sorted(chosen)),
        missed=dict(sorted(missed.items())[:MOST_MISSED]),
        missed_by={command: tuple(sorted(paths)) for command, paths in missed_by.items()} if is_short else {},
        made={
            inner: tuple(sorted({SPACE.join(command_of(run)) for run in readers}))
            for path, readers in made.items()
            if (inner := below(root, path)) and not inner.startswith(".git/")
        },
        is_complete=observed.is_complete and len(missed) <= MOST_MISSED,
    )


def below(root: str, path: str) -> str:
    """Return a path relative to the tree; empty if it is outside of the tree."""
    return path.removeprefix(f"{root}/") if path.startswith(f"{root}/") else ""


def _chosen(run: ProgramRun, root: str, read: Iterable[str]) -> set[str]:
    listed = {
        below(root, path) for path, deed in run.seen.items() if deed & LISTED and f"{path}/".startswith(f"{root}/")
    }
    named = {below(root, os.path.normpath(os.path.join(run.directory, word))) for word in run.argv[1:]}
    return {path for path in read if path.rpartition("/")[0] not in listed and path not in named} - {
        below(root, run.program)
    }


def _missed(run: ProgramRun) -> Iterator[tuple[str, str]]:
    """Yield each path that a program did not find, and the file that it used instead.

    A search tries the same name in several places, one after the other. So a file answers the paths of its name that
    were missed before it, unless the program read another file in between.
    """
    pending: dict[str, list[str]] = {}
    for path, deed in run.seen.items():
        name = path.rpartition("/")[2]
        if deed & MISSED and not deed & (READ | FOUND):
            pending.setdefault(name, []).append(path)
            yield path, ""
        elif deed & (READ | FOUND):
            yield from ((before, path) for before in pending.pop(name, ()))
            if deed & READ:
                pending.clear()


def _named(observed: Observed, root: str, exists: Callable[[str], bool]) -> set[str]:
    named: set[str] = set()
    below_named: set[int] = set()
    for number, run in enumerate(observed.runs):
        paths = set(_paths_in(run, root, exists))
        if run.parent in below_named:
            below_named.add(number)
        elif paths:
            below_named.add(number)
            named |= paths
    return named


def _paths_in(run: ProgramRun, root: str, exists: Callable[[str], bool]) -> Iterator[str]:
    """Yield the paths of the base anywhere in the words of a program: also in the text that a shell gets."""
    for part in islice((part for word in run.argv[1:] for part in SEPARATORS.split(word)), MOST_PARTS):
        inner = below(root, os.path.normpath(os.path.join(run.directory, part))) if part else ""
        if inner and exists(inner):
            yield inner


def _program(run: ProgramRun, root: str, exists: Callable[[str], bool]) -> str:
    inner = below(root, run.program)
    return f"./{inner}" if inner and exists(inner) else run.program.rpartition("/")[2]


def _words(run: ProgramRun, root: str, exists: Callable[[str], bool]) -> Iterator[str]:
    """Yield the first words that are not options. A text such as `.read FILE` stands for the files that it names.

    The text of `sh -c` is left out: the programs that it starts have words of their own.
    """
    plain = (word for word in run.argv[1:] if word and not word.startswith("-") and len(word) <= LONGEST_WORD)
    for word in islice(plain, MOST_WORDS):
        if SPACE in word and run.argv[1].startswith("-") and run.argv[1].endswith("c"):
            continue
        parts = [word] if SPACE not in word else SEPARATORS.split(word)
        inner = [below(root, os.path.normpath(os.path.join(run.directory, part))) for part in parts if part]
        yield from [path for path in inner if path and exists(path)] or [word]
