"""Which files of the base belong to held-out checks alone. No engine, and no check that it can read, may see them.

    files = await find_held_out_files(contract, check_runs)

The tests and scripts that the command of a held-out check names belong to it. Other files that it names, or that its
run on the base opens, belong to it if they are named like tests or are in a directory that nothing else uses. `python
app.py` runs the product: a program beside the product stays visible, and so does what the contract makes editable.

A check that walks through the whole tree, such as a linter, opens these files too, but does not need them: its result
is the same without them. If anything else needs one of them, that is bad input.
"""

import os
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import replace

from donewhen.errors import BadInput
from donewhen.judge import globs
from donewhen.judge.check_run import CheckRun
from donewhen.judge.check_runs import CheckRuns
from donewhen.judge.contract import Check, Contract
from donewhen.judge.mentions import mentioned_names, names_of_file
from donewhen.judge.protect.base_files import BaseFiles
from donewhen.judge.protect.commands.commands import all_words
from donewhen.judge.protect.commands.scripts_run import PRODUCT_DIRECTORIES, find_scripts_run, joined
from donewhen.judge.protect.names.test_names import is_test
from donewhen.judge.protect.rules.guard import CONTRACT_FILE
from donewhen.printable import shortened
from donewhen.workspace.beneath import Root
from donewhen.workspace.git.objects import text

MOST_FILES = 20_000
"""Files below one directory that are looked at."""
MOST_TEXTS, TEXT_BYTES = 2_000, 256 * 1024
"""How much is searched for the names of the files."""
DESCRIBES = re.compile(r"(?:^|/)\.[^/]*$|\.(?:toml|ini|cfg|json|ya?ml|md|rst|txt|lock)$")
"""Settings and documents: they may name a file that nothing needs."""

Owners = dict[str, str]
"""Path → the name of the held-out check that it belongs to."""
FilesOf = Callable[[Iterable[Check]], Iterator[str]]


async def find_held_out_files(contract: Contract, runs: CheckRuns) -> frozenset[str]:
    """Return the files that belong to held-out checks alone. Raise BadInput if something else needs one of them.

    `runs` must show every file of the base to every check.
    """
    named = _NamedFiles(contract, runs.base_files)
    base = {check.name: await runs.run(check, runs.base_tree) for check in contract.checks}
    opened = {name: _read(run) for name, run in base.items()}
    certain, possible = named.certain(), named.possible(opened)
    walkers: set[str] = set()
    for check in named.visible:
        seen = opened[check.name] & (certain.keys() | named.by_command().keys())
        if not seen:
            continue
        record = base[check.name].used
        needed = sorted(certain.keys() & set(record.chosen if record is not None else ()))
        if not needed:
            without = await replace(runs, hidden=frozenset(seen)).run(check, runs.base_tree)
            if _is_same(base[check.name], without, seen):
                walkers.add(check.name)
                continue
            needed = sorted(seen & certain.keys())
        if needed:
            raise _needed(certain, needed[0], f"check {check.name!r} needs it")
    used = {path for check in named.visible if check.name not in walkers for path in opened[check.name]}
    if all(base[check.name].used is not None for check in named.visible):
        certain = {**_beside(certain, possible, used), **certain}
        found = {**named.unused(possible, used), **certain}
    else:
        found = certain
    readers = frozenset[str]().union(*opened.values()) - found.keys()
    named.require_unnamed(found, [path for path in readers if not DESCRIBES.search(path)])
    return frozenset(found)


def _read(run: CheckRun) -> frozenset[str]:
    return frozenset(run.used.read if run.used is not None else ())


def _is_same(full: CheckRun, without: CheckRun, files: Collection[str]) -> bool:
    """Return True if a run did the same without these files."""
    same = [(run.end, run.exit_code, run.reading and (run.reading.tests, run.reading.ran)) for run in (full, without)]
    return same[0] == same[1] and _read(full).difference(files) == _read(without)


def _beside(certain: Owners, possible: Owners, used: Collection[str]) -> Owners:
    """Return the possible files that are next to a certain one, in a directory of which no other check uses a file."""
    directories = {_top(path) for path in certain} - {_top(path) for path in used} - PRODUCT_DIRECTORIES
    return {path: name for path, name in possible.items() if _top(path) in directories}


def _needed(owners: Mapping[str, str], path: str, why: str) -> BadInput:
    return BadInput(
        f"{shortened(path)} belongs to the held-out check {owners[path]!r}, which hides it from engines, but {why};"
        " move it, or let the held-out check use other files"
    )


def _top(path: str) -> str:
    """Return the first directory of a path; empty for a file at the root."""
    return path.partition("/")[0] if "/" in path else ""


class _NamedFiles:
    """The files of the base that the checks of one contract name or open."""

    def __init__(self, contract: Contract, base_files: Root) -> None:
        self._editable = contract.editable
        self._files = base_files
        self._base = BaseFiles(base_files)
        self.visible = [check for check in contract.checks if not check.held_out]
        self.held_out = [check for check in contract.checks if check.held_out]

    def certain(self) -> Owners:
        """Return the tests and scripts that the commands of held-out checks name, and those of other checks do not."""
        return self._owners(self._judging)

    def by_command(self) -> Owners:
        """Return every file that the commands of held-out checks name, as a path or as a module."""
        return self._owners(self._words)

    def possible(self, opened: Mapping[str, Collection[str]]) -> Owners:
        """Return the files that held-out checks name or open and that are apart from the product."""
        found = self.by_command()
        for check in self.held_out:
            found.update((path, check.name) for path in opened[check.name] if self._may_be_hidden(path))
        return {path: name for path, name in found.items() if is_test(path) or _top(path) not in PRODUCT_DIRECTORIES}

    def unused(self, possible: Owners, used: Collection[str]) -> Owners:
        """Return the files that no other check uses, alone or by a directory, and that no used file names."""
        directories = {_top(path) for path in used}
        with self._files.directory() as descriptor, os.scandir(descriptor) as entries:
            at_root = [entry.name for entry in entries if entry.is_file(follow_symlinks=False)]
        names = {name for names in self._names_in((*used, *at_root)).values() for name in names}
        return {
            path: name
            for path, name in possible.items()
            if path not in used
            and names.isdisjoint(names_of_file(path))
            and (is_test(path) or (_top(path) not in directories and names.isdisjoint(_names_of_directory(_top(path)))))
        }

    def require_unnamed(self, found: Owners, readers: Iterable[str]) -> None:
        """Raise BadInput if one of the other files names a file that is found."""
        paths = {name: path for path in sorted(found, reverse=True) for name in names_of_file(path)}
        for reader, names in self._names_in(readers).items():
            if mentioned := sorted(paths[name] for name in names & paths.keys()):
                raise _needed(found, mentioned[0], f"{shortened(reader)} names it")

    def _owners(self, files_of: FilesOf) -> Owners:
        shared = set(files_of(self.visible))
        return {
            path: check.name
            for check in self.held_out
            for path in files_of((check,))
            if path not in shared and self._may_be_hidden(path)
        }

    def _judging(self, checks: Iterable[Check]) -> Iterator[str]:
        found = find_scripts_run(checks, self._base)
        yield from (path for path in (*found.scripts, *found.tests) if self._base.has(path))
        for directory in found.test_directories:
            yield from self._below(directory)

    def _words(self, checks: Iterable[Check]) -> Iterator[str]:
        for check in checks:
            for word in sorted(all_words(check.command)):
                module = word.replace(".", "/")
                for path in dict.fromkeys(joined(check.dir, form) for form in (word, module, f"{module}.py")):
                    if self._base.is_directory(path):
                        yield from self._below(path)
                    elif path and self._base.has(path):
                        yield path

    def _below(self, directory: str) -> Iterator[str]:
        """Yield the files below a directory. Not below the root: then everything would be hidden."""
        if directory:
            for _, path in zip(range(MOST_FILES), self._files.files_below(directory), strict=False):
                yield text(path)

    def _may_be_hidden(self, path: str) -> bool:
        return not globs.first_match(self._editable, path) and os.path.basename(path) != CONTRACT_FILE

    def _names_in(self, paths: Iterable[str]) -> dict[str, frozenset[str]]:
        """Return for each file the names that it mentions."""
        wanted = [path for path in sorted(set(paths)) if os.path.basename(path) != CONTRACT_FILE][:MOST_TEXTS]
        contents = {path: self._files.read_inside(path, TEXT_BYTES) or b"" for path in wanted}
        return {path: mentioned_names(content.decode("utf-8", "replace")) for path, content in contents.items()}


def _names_of_directory(directory: str) -> frozenset[str]:
    return frozenset({f"{directory}/", f"import {directory}"})
