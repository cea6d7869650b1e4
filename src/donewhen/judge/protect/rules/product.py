"""What the work may change, of the files that the checks use: declared in the contract, or inferred from the layout.

The inference starts with places that usually contain a product, and adds what the sources there name. These are never
product by inference: tests, the entry points that a check runs, the files of a tool that it finds by itself, and data
that no source of the product names. `init` proposes the same as patterns.
"""

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import cache, cached_property

from donewhen.judge.protect.base_files import BaseFiles
from donewhen.judge.protect.commands.scripts_run import SCRIPT_DIRECTORIES
from donewhen.judge.protect.names import globs, test_names
from donewhen.judge.protect.names.deciding_files import LINTERS
from donewhen.judge.protect.names.sources import (
    COMPILED,
    DOCUMENTS,
    MAIN_FILES,
    SCRIPTED,
    USUAL_DIRECTORIES,
    is_source,
    may_be_source,
    stem,
    suffix,
)
from donewhen.judge.protect.names.word_set import listed
from donewhen.judge.runners.registry import all_runners
from donewhen.judge.used_paths import UsedPaths
from donewhen.records import frozen

MOST_READ, MOST_BYTES = 4_000, 32 << 20
"""Files, and bytes, of the base that are read to find out which names they contain."""
TOKEN = re.compile(r"[A-Za-z0-9_]+")
MANIFESTS = ("pyproject.toml", "setup.cfg", "setup.py", "package.json", "Cargo.toml", "go.mod", "composer.json")
GENERIC = frozenset({"index", "main", "lib", "mod", "__init__", "__main__", "init"})
"""Stems that name nothing: the directory of such a file has the name."""
WORKS_ON_FILES = listed("""
    cc gcc g++ c++ clang clang++ cc1 cc1plus as ld collect2 ar ranlib rustc rustdoc javac kotlinc scalac tsc compile
    link asm vet swiftc ghc ocamlc ocamlopt gfortran csc py_compile compileall make gmake ninja cmake ctest meson bazel
    cat cp mv ln rm mkdir touch grep sed awk diff cmp head tail wc sort uniq tr cut ls chmod find xargs install tar git
    env timeout nice stdbuf tee basename dirname readlink realpath npm npx pnpm yarn prove
""").union(*(words.split() for words in LINTERS), *(runner.programs for runner in all_runners()))
"""Programs that read the files among their words, or that start others with them. They do not run them."""
OWN_WORDS = {
    "go": listed("build test vet fmt get install list mod generate tool doc env clean fix work version telemetry"),
    "cargo": listed("build b test t check c clippy fmt doc bench fetch update metadata add install nextest clean tree"),
}
"""Words after which a tool does not run a file of the tree by its name."""
MOST_LOOKED_AT = 20


@frozen
class ProductPattern:
    """A pattern for paths that the work may change, and why."""

    pattern: str
    reason: str


class Product:
    """Tells which of the used paths are product."""

    def __init__(
        self, declared: Sequence[str], base: BaseFiles, is_test: Callable[[str], bool], used: Sequence[UsedPaths]
    ) -> None:
        self._declared = declared
        self._base = base
        self._is_test_by_name = is_test
        self._used = used
        self._tokens = cache(self._read_tokens)
        self._has_tests = cache(self._is_directory_of_tests)

    def covers(self, path: str) -> bool:
        return self.pattern(path) is not None

    def pattern(self, path: str) -> ProductPattern | None:
        """Return the pattern that makes a path product; None if the path is not product."""
        if self._declared:
            found = globs.first_match(self._declared, path)
            return ProductPattern(found, "declared in the contract") if found else None
        if DOCUMENTS.fullmatch(path):
            return ProductPattern(path, "documentation")
        if self.is_test(path) or self.is_entry_point(path):
            return None
        return self._pattern_of_source(path) if self._is_source(path) else self._pattern_of_data(path)

    def is_test(self, path: str) -> bool:
        """Return True for a test, and for a file in a directory that contains mostly tests."""
        return self._is_test_by_name(path) or self._has_tests(path.rpartition("/")[0])

    def is_entry_point(self, path: str) -> bool:
        """Return True for a file that a check runs to judge the product, and for everything in its directory."""
        return _is_inside(path, self._entry_points)

    def is_named(self, path: str) -> bool:
        """Return True if a file of the base that the checks use names this path, so that no tool found it by itself."""
        name = _name(path)
        words = {word for command in self._commands for word in command[1:]}
        return path in words or any(self._names(other, name) for other in self._corpus if other != path)

    # -- sources --

    def _is_source(self, path: str) -> bool:
        return may_be_source(path) or path in self._sources

    def _pattern_of_source(self, path: str) -> ProductPattern | None:
        directory, _, _ = path.rpartition("/")
        if usual := _usual_directory(path):
            return ProductPattern(f"{usual}/**", "sources are usually here")
        if not directory:
            return self._pattern_at_root(path)
        top = path.partition("/")[0]
        if not SCRIPT_DIRECTORIES.isdisjoint(directory.split("/")):
            return None
        if suffix(path) in COMPILED or top in self._accepted or not self._base.is_directory(top):
            return ProductPattern(f"{top}/**", "sources that the checks use")
        return None

    def _pattern_at_root(self, path: str) -> ProductPattern | None:
        is_known = suffix(path) in COMPILED or MAIN_FILES.fullmatch(stem(path)) or not self._base.has(path)
        if is_known or self.is_named(path) or _name(path) in self._manifest_tokens:
            return ProductPattern(f"*{suffix(path)}" if suffix(path) else path, "sources at the root")
        return None

    @cached_property
    def _accepted(self) -> frozenset[str]:
        """Directories at the root with other names whose sources are product.

        These are packages, and what sources of the product name. If nothing else is product, all of them are.
        """
        unknown = {path.partition("/")[0] for path in self._sources if "/" in path and not _usual_directory(path)}
        unknown = {top for top in unknown if not self.is_entry_point(top) and top not in SCRIPT_DIRECTORIES}
        accepted = {top for top in unknown if self._base.has(f"{top}/__init__.py") or top in self._manifest_tokens}
        certain = [path for path in self._sources if _usual_directory(path) or "/" not in path]
        product = [path for path in certain if not self.is_entry_point(path)]
        if not product and not accepted:
            return frozenset(unknown)
        while True:
            inside = [path for path in self._sources if path.partition("/")[0] in accepted]
            more = {top for top in unknown - accepted if any(self._names(path, top) for path in (*product, *inside))}
            if not more:
                return frozenset(accepted)
            accepted |= more

    def _is_directory_of_tests(self, directory: str) -> bool:
        """Return True if most sources of a directory are tests, and what they test is somewhere else."""
        if not directory or _usual_directory(f"{directory}/x"):
            return False
        names = [name for name in self._base.names(directory) if suffix(name) in SCRIPTED]
        tests = [f"{directory}/{name}" for name in names if test_names.is_test_module(name)]
        if 2 * len(tests) <= len(names):
            return False
        outside = [path for path in self._corpus if not path.startswith(f"{directory}/")]
        tested = {_name(path) for path in outside if not self._is_test_by_name(path)}
        used = [path for path in self._corpus if path in tests][:MOST_LOOKED_AT]
        return any(self._names(test, name) for test in used for name in tested)

    @cached_property
    def _product_sources(self) -> tuple[str, ...]:
        sources = (path for path in self._sources if not self.is_entry_point(path))
        return tuple(path for path in sources if self._pattern_of_source(path))

    # -- entry points --

    @cached_property
    def _entry_points(self) -> frozenset[str]:
        """Files and directories that a check runs, and that no test and no source of the product names.

        Without them something must be left that the work may change. If nothing is left, a file at the root is rather
        the product than a directory.
        """
        units = {unit for path in self._run_files() if (unit := self._unit(path))}
        found = {unit for unit in units if not self._named_by(unit)}
        while more := {unit for unit in units - found if self._is_named_by_entries_only(unit, found)}:
            found |= more
        if not self._sources_outside(found):
            found = {unit for unit in found if self._base.is_directory(unit)}
        return frozenset(found) if self._sources_outside(found) else frozenset()

    def _is_named_by_entries_only(self, unit: str, entries: Collection[str]) -> bool:
        """Return True for a directory that only entry points name: it is a part of them."""
        return self._base.is_directory(unit) and all(_is_inside(path, entries) for path in self._named_by(unit))

    def _sources_outside(self, units: Collection[str]) -> list[str]:
        return [path for path in self._sources if not _is_inside(path, units)]

    def _unit(self, path: str) -> str:
        """Return the file or directory that belongs to an entry point; empty in a usual place of a product."""
        directory = path if self._base.is_directory(path) else path.rpartition("/")[0]
        last = directory.rpartition("/")[2]
        if last in USUAL_DIRECTORIES or (not directory and MAIN_FILES.fullmatch(stem(path))):
            return ""
        usual = _usual_directory(f"{directory}/x")
        if usual and not self._base.is_directory(path):
            return ""
        return directory or path

    def _run_files(self) -> Iterator[str]:
        """Yield the files and directories of the base that programs of the checks run."""
        for program, *words in self._commands:
            if program.startswith("./"):
                yield program.removeprefix("./")
            name = program.rpartition("/")[2]
            known = {name, *(word.rpartition("/")[2] for word in words[:2])}
            own = OWN_WORDS.get(name)
            if not known.isdisjoint(WORKS_ON_FILES) or (own and words and words[0] in own):
                continue
            for word in words[:2]:
                yield from self._meant(word)

    def _meant(self, word: str) -> Iterator[str]:
        """Yield what a word stands for: a path, a module by its dotted name, a class or package by its name."""
        dotted = word.removesuffix("/...").replace(".", "/") if "/" not in word else word
        forms = (word, f"{dotted}.py", dotted)
        found = next((form for form in forms if self._base.has(form) or self._base.is_directory(form)), "")
        if found and found not in ("", "."):
            yield found
        elif "/" not in word:
            yield from (path for path in self._sources if stem(path) == word)

    def _named_by(self, unit: str) -> list[str]:
        """Return the files outside of a unit that name it. The project's own name is named by its manifest."""
        name = unit.rpartition("/")[2] if self._base.is_directory(unit) else _name(unit)
        outside = (path for path in self._corpus if not _is_inside(path, (unit,)))
        return [*self._manifest_names & {name}, *(path for path in outside if self._names(path, name))]

    # -- data --

    def _pattern_of_data(self, path: str) -> ProductPattern | None:
        """Return why a file that is not source is product: it is among its sources, or they name it."""
        if usual := _usual_directory(path):
            return ProductPattern(f"{usual}/**", "belongs to the sources here")
        directory, _, name = path.rpartition("/")
        if path.partition("/")[0] in self._accepted:
            return ProductPattern(f"{path.partition('/')[0]}/**", "belongs to the sources here")
        nearest = directory.rpartition("/")[2]
        if any(
            name in self._text(other) or (nearest and self._names(other, nearest)) for other in self._product_sources
        ):
            return ProductPattern(path, "a source of the product names it")
        return None

    # -- what the base contains --

    @cached_property
    def _commands(self) -> tuple[tuple[str, ...], ...]:
        return tuple(command for used in self._used for command in used.commands)

    @cached_property
    def _corpus(self) -> tuple[str, ...]:
        """Sources and programs that the checks use, tests included."""
        programs = {command[0].removeprefix("./") for command in self._commands if command[0].startswith("./")}
        read = dict.fromkeys(path for used in self._used for path in used.read)
        return tuple(path for path in read if may_be_source(path) or path in programs)[:MOST_READ]

    @cached_property
    def _sources(self) -> dict[str, None]:
        """The same without tests."""
        return dict.fromkeys(path for path in self._corpus if not self.is_test(path))

    @cached_property
    def _manifest_tokens(self) -> frozenset[str]:
        """Names in the manifests: packages, entry points of the product."""
        return frozenset(token for name in MANIFESTS for token in TOKEN.findall(self._base.read(name) or ""))

    @cached_property
    def _manifest_names(self) -> frozenset[str]:
        """The names of the project."""
        found = (re.search(r'"?name"?\s*[:=]\s*"([^"]+)"', self._base.read(name) or "") for name in MANIFESTS)
        return frozenset(match[1].replace("-", "_").lower() for match in found if match)

    def _names(self, path: str, name: str) -> bool:
        parts = TOKEN.findall(name)
        return bool(parts) and self._tokens(path).issuperset(parts)

    def _read_tokens(self, path: str) -> frozenset[str]:
        return frozenset(TOKEN.findall(self._text(path)))

    def _text(self, path: str) -> str:
        return self._texts.get(path, "")

    @cached_property
    def _texts(self) -> dict[str, str]:
        texts: dict[str, str] = {}
        left = MOST_BYTES
        for path in self._corpus:
            text = self._base.read(path) or "" if left > 0 else ""
            texts[path] = text
            left -= len(text)
        return texts


def proposed(product: Product, paths: Iterable[str]) -> tuple[ProductPattern, ...]:
    """Return the patterns for these paths, each once, in the order of their text."""
    found = {match.pattern: match for path in paths if (match := product.pattern(path))}
    return tuple(found[pattern] for pattern in sorted(found))


def _usual_directory(path: str) -> str:
    """Return the part of a path up to the first directory that usually contains a product; empty if there is none."""
    parts = path.split("/")[:-1]
    for at, part in enumerate(parts):
        if part in USUAL_DIRECTORIES:
            return "/".join(parts[: at + 1])
        if part in SCRIPT_DIRECTORIES or test_names.is_test_directory([part]):
            return ""
    return ""


def _is_inside(path: str, units: Iterable[str]) -> bool:
    return any(path == unit or path.startswith(f"{unit}/") for unit in units)


def _name(path: str) -> str:
    """Return the name by which other files mean this one. In a language that is not known, that is the whole name."""
    directory, _, name = path.rpartition("/")
    if suffix(path) and not is_source(path):
        return name
    return directory.rpartition("/")[2] or stem(path) if stem(path) in GENERIC else stem(path)
