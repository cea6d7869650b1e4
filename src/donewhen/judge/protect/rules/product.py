"""What the work may change, of the files that the checks use: declared in the contract, or inferred from the layout.

The inference starts with places that usually contain a product, and adds what the sources there name. These are never
product by inference: tests, the entry points that a check runs, the files of a tool that it finds by itself, and data
that no source of the product names.
"""

import re
from collections.abc import Callable, Sequence
from functools import cache, cached_property

from donewhen.judge import globs
from donewhen.judge.protect.base_files import BaseFiles
from donewhen.judge.protect.names import test_names
from donewhen.judge.protect.names.sources import (
    COMPILED,
    DOCUMENTS,
    MAIN_FILES,
    SCRIPT_DIRECTORIES,
    SCRIPTED,
    may_be_source,
    stem,
    suffix,
    usual_directory,
)
from donewhen.judge.protect.rules.entry_points import EntryPoints
from donewhen.judge.protect.rules.used_sources import UsedSources, name_of
from donewhen.judge.used_paths import UsedPaths
from donewhen.records import frozen

MOST_LOOKED_AT = 20
EXPECTED = re.compile(r"expect|golden|fixture|snapshot|reference|baseline", re.IGNORECASE)


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
        self._used = UsedSources(base, used)
        self._has_tests = cache(self._is_directory_of_tests)

    def covers(self, path: str) -> bool:
        return self.pattern(path) is not None

    def pattern(self, path: str) -> ProductPattern | None:
        """Return the pattern that makes a path product; None if the path is not product."""
        if self._declared:
            found = globs.first_match(self._declared, path)
            return ProductPattern(found, "declared in the contract") if found else None
        if DOCUMENTS.fullmatch(path):
            return ProductPattern(globs.literal(path), "documentation")
        if self._is_test(path) or self._entry_points.include(path):
            return None
        is_source = may_be_source(path) or path in self._sources
        return self._pattern_of_source(path) if is_source else self._pattern_of_data(path)

    def is_named(self, path: str) -> bool:
        """Return True if a file of the base that the checks use names this path, so that no tool found it by itself."""
        words = {word for command in self._used.commands for word in command[1:]}
        return path in words or any(
            self._used.names(other, name_of(path)) for other in self._used.paths if other != path
        )

    # -- sources --

    @cached_property
    def _sources(self) -> dict[str, None]:
        """Used sources that are not tests."""
        return dict.fromkeys(path for path in self._used.paths if not self._is_test(path))

    @cached_property
    def _entry_points(self) -> EntryPoints:
        return EntryPoints(self._base, self._used, tuple(self._sources))

    @cached_property
    def _product_sources(self) -> tuple[str, ...]:
        sources = (path for path in self._sources if not self._entry_points.include(path))
        return tuple(path for path in sources if self._pattern_of_source(path))

    def _is_test(self, path: str) -> bool:
        """Return True for a test, and for a file in a directory that contains mostly tests."""
        return self._is_test_by_name(path) or self._has_tests(path.rpartition("/")[0])

    def _is_directory_of_tests(self, directory: str) -> bool:
        """Return True if most sources of a directory are tests, and what they test is somewhere else."""
        if not directory or usual_directory(f"{directory}/x"):
            return False
        names = [name for name in self._base.names(directory) if suffix(name) in SCRIPTED]
        tests = [f"{directory}/{name}" for name in names if test_names.is_test_module(name)]
        if 2 * len(tests) <= len(names):
            return False
        outside = [path for path in self._used.paths if not path.startswith(f"{directory}/")]
        tested = {name_of(path) for path in outside if not self._is_test_by_name(path)}
        used = [path for path in self._used.paths if path in tests][:MOST_LOOKED_AT]
        return any(self._used.names(test, name) for test in used for name in tested)

    def _pattern_of_source(self, path: str) -> ProductPattern | None:
        directory = path.rpartition("/")[0]
        if usual := usual_directory(path):
            return ProductPattern(f"{globs.literal(usual)}/**", "sources are usually here")
        if not directory:
            return self._pattern_at_root(path)
        top = path.partition("/")[0]
        if not SCRIPT_DIRECTORIES.isdisjoint(directory.split("/")):
            return None
        if suffix(path) in COMPILED or top in self._accepted or not self._base.is_directory(top):
            return ProductPattern(f"{globs.literal(top)}/**", "sources that the checks use")
        return None

    def _pattern_at_root(self, path: str) -> ProductPattern | None:
        is_known = suffix(path) in COMPILED or MAIN_FILES.fullmatch(stem(path)) or path not in self._used.chosen
        if is_known or self.is_named(path) or name_of(path) in self._used.manifest_words:
            ending = path.removeprefix(stem(path))
            return ProductPattern(f"*{globs.literal(ending)}" if ending else globs.literal(path), "sources at the root")
        return None

    @cached_property
    def _accepted(self) -> frozenset[str]:
        """Directories at the root with other names whose sources are product.

        These are packages, and what sources of the product name. If nothing else is product, all of them are.
        """
        unknown = {path.partition("/")[0] for path in self._sources if "/" in path and not usual_directory(path)}
        unknown = {top for top in unknown if not self._entry_points.include(top) and top not in SCRIPT_DIRECTORIES}
        words = self._used.manifest_words
        accepted = {top for top in unknown if self._base.has(f"{top}/__init__.py") or top in words}
        certain = [path for path in self._sources if usual_directory(path) or "/" not in path]
        product = [path for path in certain if not self._entry_points.include(path)]
        if not product and not accepted:
            return frozenset(unknown)
        while True:
            naming = [*product, *(path for path in self._sources if path.partition("/")[0] in accepted)]
            more = {top for top in unknown - accepted if any(self._used.names(path, top) for path in naming)}
            if not more:
                return frozenset(accepted)
            accepted |= more

    # -- data --

    def _pattern_of_data(self, path: str) -> ProductPattern | None:
        """Return why a file that is not source is product: it is among its sources, or they name it."""
        directory, _, name = path.rpartition("/")
        top = path.partition("/")[0]
        if among := usual_directory(path) or (top if top in self._accepted else ""):
            return ProductPattern(f"{globs.literal(among)}/**", "belongs to the sources here")
        nearest = directory.rpartition("/")[2]
        for other in self._product_sources:
            if name in self._used.text(other) or (nearest and self._used.names(other, nearest)):
                return ProductPattern(globs.literal(path), "a source of the product names it")
        return ProductPattern(globs.literal(path), "the checks use no source") if path in self._only_data else None

    @cached_property
    def _only_data(self) -> frozenset[str]:
        """Data that must be product, because the checks use no source of one. Expected data are not, if others are."""
        if self._product_sources:
            return frozenset()
        data = [path for path in self._used.read if path not in self._sources and not self._is_test(path)]
        data = [path for path in data if not self._entry_points.include(path)]
        return frozenset([path for path in data if not EXPECTED.search(path)] or data)
