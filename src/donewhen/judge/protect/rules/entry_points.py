"""The files and directories that a check runs to judge the product: `python -m acceptance`, `java Verify`, `./prove`.

They are found by the words of the programs that were started on the base. A program that works on files, such as a
compiler or a linter, does not run them.
"""

from collections.abc import Collection, Iterator, Sequence
from functools import cached_property

from donewhen.judge.protect.base_files import BaseFiles
from donewhen.judge.protect.names.deciding_files import LINTERS
from donewhen.judge.protect.names.sources import MAIN_FILES, USUAL_DIRECTORIES, stem, usual_directory
from donewhen.judge.protect.names.word_set import listed
from donewhen.judge.protect.rules.used_sources import UsedSources, is_inside, name_of
from donewhen.judge.runners.registry import all_runners

WORKS_ON_FILES = listed("""
    cc gcc g++ c++ clang clang++ cc1 cc1plus as ld collect2 ar ranlib rustc rustdoc javac kotlinc scalac tsc compile
    link asm vet swiftc ghc ocamlc ocamlopt gfortran csc py_compile compileall make gmake ninja cmake ctest meson bazel
    cat cp mv ln rm mkdir touch grep sed awk diff cmp head tail wc sort uniq tr cut ls chmod find xargs install tar git
    env timeout nice stdbuf tee basename dirname readlink realpath npm npx pnpm yarn prove
""").union(*(words.split() for words in LINTERS), *(runner.programs for runner in all_runners())) - {"awk"}
"""Programs that read the files among their words, or that start others with them. They do not run them."""
OWN_WORDS = {
    "go": listed("build test vet fmt get install list mod generate tool doc env clean fix work version telemetry"),
    "cargo": listed("build b test t check c clippy fmt doc bench fetch update metadata add install nextest clean tree"),
}
"""Words after which a tool does not run a file of the tree by its name."""


class EntryPoints:
    """Tells which paths belong to entry points. `sources` are used sources that are not tests."""

    def __init__(self, base: BaseFiles, used: UsedSources, sources: Sequence[str]) -> None:
        self.base = base
        self.used = used
        self.sources = sources

    def include(self, path: str) -> bool:
        """Return True if a path belongs to an entry point. Files are read only if a check runs it, or what is above."""
        return is_inside(path, self._units) and is_inside(path, self._found)

    @cached_property
    def _units(self) -> frozenset[str]:
        return frozenset(unit for path in self._run_files() if (unit := self._unit(path)))

    @cached_property
    def _found(self) -> frozenset[str]:
        """Return the files and directories that a check runs, and that no test and no source of the product names.

        Without them something must be left that the work may change. If nothing is left, a file at the root is rather
        the product than a directory.
        """
        found = {unit for unit in self._units if not self._named_by(unit)}
        while more := {unit for unit in self._units - found if self._is_named_by_entries_only(unit, found)}:
            found |= more
        if not self._sources_outside(found):
            found = {unit for unit in found if self.base.is_directory(unit)}
        return frozenset(found) if self._sources_outside(found) else frozenset()

    def _is_named_by_entries_only(self, unit: str, entries: Collection[str]) -> bool:
        """Return True for a directory that only entry points name: it is a part of them."""
        return self.base.is_directory(unit) and all(is_inside(path, entries) for path in self._named_by(unit))

    def _sources_outside(self, units: Collection[str]) -> list[str]:
        return [path for path in self.sources if not is_inside(path, units)]

    def _named_by(self, unit: str) -> list[str]:
        """Return the files outside of a unit that name it. The project's own name is named by its manifest."""
        name = unit.rpartition("/")[2] if self.base.is_directory(unit) else name_of(unit)
        outside = (path for path in self.used.paths if not is_inside(path, (unit,)))
        return [*self.used.project_names & {name}, *(path for path in outside if self.used.names(path, name))]

    def _unit(self, path: str) -> str:
        """Return the file or directory that belongs to an entry point; empty in a usual place of a product."""
        is_directory = self.base.is_directory(path)
        directory = path if is_directory else path.rpartition("/")[0]
        if directory.rpartition("/")[2] in USUAL_DIRECTORIES or (not directory and MAIN_FILES.fullmatch(stem(path))):
            return ""
        if usual_directory(f"{directory}/x") and not is_directory:
            return ""
        return directory or path

    def _run_files(self) -> Iterator[str]:
        """Yield the files and directories of the base that programs of the checks run."""
        for program, *words in self.used.commands:
            if program.startswith("./"):
                yield program.removeprefix("./")
            name = program.rpartition("/")[2]
            known = {name, *(word.rpartition("/")[2] for word in words[:2])}
            own = OWN_WORDS.get(name)
            if known.isdisjoint(WORKS_ON_FILES) and not (own and words and words[0] in own):
                yield from (path for word in words[:2] for path in self._meant(word))

    def _meant(self, word: str) -> Iterator[str]:
        """Yield what a word stands for: a path, a module by its dotted name, a class or package by its name."""
        dotted = word.removesuffix("/...").replace(".", "/") if "/" not in word else word
        forms = (word, f"{dotted}.py", dotted)
        found = next((form for form in forms if self.base.has(form) or self.base.is_directory(form)), "")
        if found and found != ".":
            yield found
        elif "/" not in word:
            yield from (path for path in self.sources if stem(path) == word)
