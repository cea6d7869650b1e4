"""What the test files of the base say about a test that a runner names: is it skipped there, whose are its parameters?

A base whose tests could not be loaded has no skipped tests in its report. Its files still say which tests they skip.
Existing tests are judged as the base has them, so such a skip is not the work of the candidate. Only what the product
cannot decide is believed: a mark without a condition, or a condition on the platform or on installed packages.
Python, scripts of JavaScript and TypeScript, and Go are read; elsewhere nothing is concluded. Nothing is run here.
"""

import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice
from pathlib import Path

from donewhen.judge.python_test_module import PythonTestModule
from donewhen.judge.runners.script_assertions import SCRIPT_TESTS
from donewhen.judge.runners.test_files import test_files
from donewhen.workspace.beneath import Root

TOOLS = frozenset({"pytest", "unittest", "_pytest"})
MOST_BYTES = 1 << 20
MOST_FILES = 200
SCRIPT = re.compile(r"(\S+\.(?:[cm]?[jt]sx?)) > (.*)", re.DOTALL)
TITLE = r"""\(\s{0,99}(?:"([^"\n]{1,400})"|'([^'\n]{1,400})'|`([^`\n]{1,400})`)"""
SKIPPED_TITLE = re.compile(
    rf"(?:\bx(?:it|test|describe)|\b(?:it|test|describe|suite)\.(?:skip|todo)){TITLE}"
    rf"|\b(?:it|test|describe|suite){TITLE},\s{{0,99}}\{{\s{{0,99}}(?:skip|todo):\s{{0,9}}(?:true|[\"'`])"
)
ONLY = re.compile(r"\b(?:it|test|describe)\.only\s{0,9}\(|\bf(?:it|describe)\s{0,9}\(")
GO_SKIP = re.compile(
    r"\s{0,99}(?:if\s{1,9}!?(?:testing\.Short\(\)|(?:runtime|os)\.\w{1,40}(?:\([^()\n]{0,100}\))?"
    r"(?:\s{0,9}[!=]=\s{0,9}\"[^\"\n]{0,100}\")?)\s{0,9}\{\s{0,99})?\w{1,40}\.Skip(?:f|Now)?\("
)
"""The first statement of a test: a skip, alone or under a condition on the machine."""


@dataclass
class BaseTests:
    files: Root
    """A checkout of the base."""
    dir: str
    """The directory of the check."""
    sites: Sequence[Path]
    """Directories of installed Python packages."""
    _modules: dict[str, PythonTestModule | None] = field(default_factory=dict[str, PythonTestModule | None])
    _titles_of: dict[str, frozenset[str]] = field(default_factory=dict[str, frozenset[str]])

    def skips(self, name: str) -> bool:
        """Return True if the base's files skip a test with this name, whatever the product does."""
        if script := SCRIPT.fullmatch(name):
            return self._script_skips(script[1], script[2])
        if module := self._module_of(name):
            return module[0].skips(module[1])
        return self._go_skips(name) or any(title in name for title in self._titles)

    def skipped_in(self, module: str) -> int:
        """Return how many tests a Python test module of the base skips, by its dotted name."""
        found = self._module_of(f"{module}.x")
        return sum(found[0].skips(path) for path in found[0].tests()) if found else 0

    def takes_foreign_parameters(self, name: str) -> bool:
        """Return True if the parameters of a Python test may come from elsewhere than its own file."""
        found = self._module_of(name)
        return found is not None and found[0].takes_foreign_parameters(found[1])

    def _module_of(self, name: str) -> tuple[PythonTestModule, list[str]] | None:
        """Return the module of a dotted name, and the names of class and function in it."""
        if inner := re.fullmatch(r"(\w+) \(([\w.<>]+)\)", name):  # as unittest writes it
            name = inner[2] if inner[2].endswith(f".{inner[1]}") else f"{inner[2]}.{inner[1]}"
        parts = name.partition("[")[0].split(".")
        for length in range(len(parts) - 1, 0, -1):
            if (module := self._module("/".join(parts[:length]) + ".py")) is not None:
                return module, parts[length:]
        return None

    def _module(self, path: str) -> PythonTestModule | None:
        if path not in self._modules:
            text = self._text(f"{self.dir}/{path}") or self._text(path) or self._search(path)
            self._modules[path] = self._parsed(text) if text else None
        return self._modules[path]

    def _parsed(self, text: str) -> PythonTestModule | None:
        try:
            return PythonTestModule(text, self._is_installed)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return None

    def _text(self, path: str) -> str:
        try:
            content = self.files.read(path, MOST_BYTES + 1) or b""
        except OSError:
            return ""
        return content.decode("utf-8", "replace") if len(content) <= MOST_BYTES else ""

    def _search(self, path: str) -> str:
        """Return a test file somewhere below the check with this path: the runner may start in another directory."""
        found = test_files(self.files.below(self.dir), (path.rpartition("/")[2],), ())
        texts = [text for place, text in found if f"/{place}".endswith(f"/{path}")]
        return texts[0] if len(texts) == 1 else ""

    def _is_installed(self, module: str) -> bool:
        if module in sys.stdlib_module_names or module in TOOLS:
            return True
        return any((site / name).exists() for site in self.sites for name in (module, f"{module}.py"))

    def _script_skips(self, path: str, title: str) -> bool:
        parts = path.split("/")
        texts = (self._text("/".join(parts[start:])) for start in range(len(parts)))
        if path not in self._titles_of:
            self._titles_of[path] = skipped_titles(next(filter(None, texts), ""))
        return any(part in title for part in self._titles_of[path])

    @cached_property
    def _titles(self) -> frozenset[str]:
        """The skipped titles of all test scripts, for runners that do not report the file of a test."""
        scripts = test_files(self.files.below(self.dir), SCRIPT_TESTS, ())
        titles = (skipped_titles(text) for _, text in islice(scripts, MOST_FILES))
        return frozenset[str]().union(*titles) - {""}

    @cached_property
    def _go_files(self) -> list[tuple[str, str]]:
        return [*islice(test_files(self.files.below(self.dir), ("*_test.go",), ()), MOST_FILES)]

    def _go_skips(self, name: str) -> bool:
        package, _, test = name.rpartition("/")[2].partition(".")
        if not re.fullmatch(r"Test\w+", test):
            return False
        for path, text in self._go_files:
            found = re.search(rf"^func {test}\([^)\n]*\)\s*\{{", text, re.MULTILINE)
            if found and path.rpartition("/")[0].rpartition("/")[2] in ("", package):
                return bool(GO_SKIP.match(text, found.end()))
        return False


def skipped_titles(script: str) -> frozenset[str]:
    """Return the titles of tests and suites that a script skips; an empty one, part of every title, for all others."""
    titles = {next(filter(None, match.groups())) for match in SKIPPED_TITLE.finditer(script)}
    return frozenset(titles | {""} if ONLY.search(script) else titles)
