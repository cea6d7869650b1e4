"""What the settings of the base call tests, and which other files they name: plugins, extended settings.

Default file names are not enough. A project may put its tests into `checks` and call them `check_*.py`, load a module
of the tree into the runner, or keep the rules of a linter in another file.
"""

import ast
import re
from collections.abc import Iterable, Iterator
from fnmatch import fnmatchcase
from typing import cast

from donewhen.judge import globs
from donewhen.judge.protect.base_files import BaseFiles
from donewhen.judge.protect.commands.scripts_run import PRODUCT_DIRECTORIES, SOURCE, ScriptsRun, joined
from donewhen.judge.protect.contents import test_definitions
from donewhen.judge.protect.contents.table_merge import table
from donewhen.judge.protect.names import test_names
from donewhen.judge.protect.names.word_set import listed
from donewhen.judge.protect.rules.step_definitions import StepDefinitions
from donewhen.judge.runners.registry import all_runners
from donewhen.toml import BadToml, parse_toml

SETTINGS = {"pytest.ini": "pytest", ".pytest.ini": "pytest", "tox.ini": "pytest", "setup.cfg": "tool:pytest"}
PLUGIN = re.compile(r"(?:^|\s)-p[\s=]*([\w.]+)")
NAMING = listed("""
    pyproject.toml ruff.toml .ruff.toml setup.cfg mypy.ini .pylintrc tsconfig.json biome.json package.json
    .eslintrc.json .eslintrc.js .eslintrc.cjs eslint.config.js eslint.config.mjs .prettierrc .prettierrc.json
    """).union(*(runner.naming_files.split() for runner in all_runners()))
"""Settings files that may name other files."""
NAMES_A_FILE = re.compile(
    r"\b(?:extends?|config(?:[-_]?file)?|rcfile|baseline|ignorefile|setupFiles\w*|globalSetup|globalTeardown|bootstrap|preset"
    r"|reporters?|transform|require|import|runner|testRunner|testEnvironment)\b[\"']?\s*[=:]\s*"
)
CLOSING = {"[": "]", "{": "}"}
QUOTED = re.compile(r"[\"']([^\"'\n]+)[\"']")
MOST_BESIDE = 200
"""Maximum number of files that are searched for the name of a script beside them."""


class Suite:
    """The tests of the base, according to names and settings."""

    def __init__(self, base: BaseFiles, scripts_run: ScriptsRun) -> None:
        self._base = base
        self._step_definitions = StepDefinitions(base, scripts_run)
        self._directories: set[str] = set()
        self._patterns: set[str] = set()
        self.named_files: dict[str, str] = {}
        """Files that settings name → why they are protected."""
        self.module_directories = set(scripts_run.module_directories)
        """Directories where modules of the product are searched: where commands run, and what settings add."""
        passed = scripts_run.tests
        self._argument_paths = frozenset(path for path in passed if not globs.WILD.search(path))
        self._argument_patterns = {path: passed[path] for path in sorted(passed) if path not in self._argument_paths}
        self._python_names: set[str] = set()
        """Prefixes and patterns of functions and classes that the settings call tests."""
        self._passed_tests: dict[str, bool] = {}
        parents = {path.rpartition("/")[0] for path in self._argument_paths if base.has(path)}
        self.argument_directories = parents - PRODUCT_DIRECTORIES
        """Directories of files that a command passes to a runner: modules are searched there too."""
        for directory in scripts_run.directories:
            self._read(directory)
        for directory in scripts_run.test_directories:
            self._add_directory(directory)

    def is_test(self, path: str) -> bool:
        if test_names.is_test(path) or any(path.startswith(f"{directory}/") for directory in self._directories):
            return True
        if self._step_definitions.includes(path):
            return True
        name = path.rpartition("/")[2]
        if path in self._argument_paths or any(fnmatchcase(name, pattern) for pattern in self._patterns):
            return True
        if path not in self._passed_tests:
            self._passed_tests[path] = self._is_passed_test(path)
        return self._passed_tests[path]

    def fits_argument(self, path: str) -> bool:
        """Return True if a pattern that a command passes to a runner covers a path. It may be a test or product."""
        return bool(globs.first_match(self._argument_patterns, path))

    def is_loaded(self, path: str) -> bool:
        """Return True if a runner executes a path only because a pattern covers it."""
        return self._argument_patterns.get(globs.first_match(self._argument_patterns, path), False)

    def defines_tests(self, path: str, text: str) -> bool:
        return test_definitions.defines_tests(path, text, self._python_names)

    def _is_passed_test(self, path: str) -> bool:
        """Return True if a file of the base that fits a pattern is a test.

        A pattern such as `./*.js` covers product and tests. A test defines tests. A script that defines none is a test
        if the runner executes it and no file beside it names it.
        """
        if not self.fits_argument(path) or not self._base.has(path):
            return False
        if not SOURCE.search(path):
            return self.is_loaded(path)
        text = self._base.read(path)
        if text is None or self.defines_tests(path, text):
            return True
        return self.is_loaded(path) and not path.endswith(".py") and not self._is_named_beside(path)

    def _is_named_beside(self, path: str) -> bool:
        directory, _, name = path.rpartition("/")
        stem = re.compile(rf"(?<![\w-]){re.escape(name.partition('.')[0])}(?![\w-])")
        others = [other for other in self._base.names(directory) if other != name and SOURCE.search(other)]
        return any(stem.search(self._base.read(joined(directory, other)) or "") for other in others[:MOST_BESIDE])

    def is_directory_of_tests(self, directory: str) -> bool:
        within = any(directory == tests or directory.startswith(f"{tests}/") for tests in self._directories)
        return within or directory in self.argument_directories or test_names.is_test_directory(directory.split("/"))

    def _read(self, directory: str) -> None:
        options: list[str] = []
        for settings in self._pytest_settings(directory):
            options.append(" ".join(_words(settings.get("addopts"))))
            self._patterns.update(word for word in _words(settings.get("python_files")) if word not in ("*", "*.py"))
            for key in ("python_functions", "python_classes"):
                self._python_names.update(_words(settings.get(key)))
            self.module_directories.update(joined(directory, word) for word in _words(settings.get("pythonpath")))
            for word in _words(settings.get("testpaths")):
                self._add_directory(joined(directory, word))
        plugins = [name for option in options for name in PLUGIN.findall(option)]
        usual = (joined(directory, "tests"), joined(directory, "test"))
        for inner in dict.fromkeys((directory, *self._directories, *usual)):
            plugins += _plugins_of(self._base.read(joined(inner, "conftest.py")) or "")
        for name in plugins:
            self._add_module(directory, name)
        for name in sorted(NAMING):
            for path in _files_named(self._base.read(joined(directory, name)) or ""):
                named = joined(directory, path)
                if self._base.has(named) and not named.endswith((".md", ".txt", ".rst")):
                    self.named_files[named] = "is named by the settings of a check"

    def _pytest_settings(self, directory: str) -> Iterator[dict[str, object]]:
        tool = table(table(_toml(self._base.read(joined(directory, "pyproject.toml")) or "")).get("tool"))
        yield dict(table(table(tool.get("pytest")).get("ini_options")))
        yield dict(table(tool.get("pytest")))
        for name, section in SETTINGS.items():
            yield _section(self._base.read(joined(directory, name)) or "", section)

    def _add_directory(self, directory: str) -> None:
        if directory in PRODUCT_DIRECTORIES or self._base.has(f"{directory}/__init__.py"):
            return
        if self._base.is_directory(directory):
            self._directories.add(directory)

    def _add_module(self, directory: str, name: str) -> None:
        dotted = name.replace(".", "/")
        for root in dict.fromkeys((directory, "", "src", joined(directory, "tests"))):
            for end in (".py", "/__init__.py"):
                if self._base.has(path := joined(root, dotted + end)):
                    self.named_files[path] = "is loaded into the tests by their settings"


def _words(value: object) -> list[str]:
    if isinstance(value, str):
        return value.split()
    return [item for item in cast("list[object]", value) if isinstance(item, str)] if isinstance(value, list) else []


def _toml(text: str) -> dict[str, object]:
    try:
        return parse_toml(text)
    except BadToml:
        return {}


def _section(text: str, section: str) -> dict[str, object]:
    if f"[{section}]" not in text:
        return {}
    import configparser  # most projects have no such section

    parser = configparser.RawConfigParser()
    try:
        parser.read_string(text)
        return dict(parser.items(section)) if parser.has_section(section) else {}
    except configparser.Error:
        return {}


def _plugins_of(conftest: str) -> Iterable[str]:
    """Return the modules that a conftest loads with `pytest_plugins`."""
    if "pytest_plugins" not in conftest:
        return ()
    try:
        nodes = ast.parse(conftest).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ()
    assigned = [node for node in nodes if isinstance(node, ast.Assign | ast.AnnAssign)]
    loading = [node for node in assigned if "pytest_plugins" in ast.unparse(node).partition("=")[0]]
    inner = [part for node in loading for part in ast.walk(node)]
    return [part.value for part in inner if isinstance(part, ast.Constant) and isinstance(part.value, str)]


def _files_named(settings: str) -> Iterator[str]:
    """Yield the quoted words after a key that names files.

    They are in the list or table after the key, or on the same line if no closing bracket follows.
    """
    last = {close: settings.rfind(close) for close in CLOSING.values()}
    at = 0
    while key := NAMES_A_FILE.search(settings, at):
        start = key.end()
        close = CLOSING.get(settings[start : start + 1], "")
        at = settings.find(close if close and last[close] > start else "\n", start)
        at = len(settings) if at < 0 else at
        for word in QUOTED.findall(settings, start, at):
            yield word.replace("<rootDir>/", "")
