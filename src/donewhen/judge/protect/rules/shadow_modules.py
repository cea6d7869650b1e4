"""New Python modules that would be imported instead of the standard library, an installed package or the runner.

Only directories from which modules are likely to be imported are examined: the root, `src`, where checks run, and where
tests are. A name that the base already uses in such a directory belongs to the project.
"""

import os
import re
import sys
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path

from donewhen.judge.protect.base_files import BaseFiles
from donewhen.judge.protect.contents.table_merge import table
from donewhen.judge.protect.names.test_names import is_test_module
from donewhen.judge.protect.names.word_set import listed
from donewhen.judge.runners.registry import all_runners
from donewhen.records import frozen
from donewhen.toml import BadToml, parse_toml

LIBRARY = (
    frozenset(sys.stdlib_module_names) - frozenset(sys.builtin_module_names) - {"test", "tests", "this", "__main__"}
)
RUNNERS = listed("coverage hypothesis exceptiongroup").union(*(runner.modules.split() for runner in all_runners()))
ORDINARY = listed(
    "tests test docs doc examples example scripts script tools benchmarks bench samples build dist src lib"
)
"""Names that some packages install by mistake and that many projects use."""
COMPILED = re.compile(r"(?P<module>[^.]+)\.(?:[^/]*\.)?(?:so|pyd)")


@frozen
class _Module:
    parent: str
    name: str
    is_namespace: bool


class ShadowModules:
    def __init__(self, base: BaseFiles, sites: Sequence[Path], module_directories: Collection[str]) -> None:
        self.base = base
        self.sites = sites
        self.module_directories = module_directories
        self._compiled = {
            match["module"] for site in sites for name in _listing(site) if (match := COMPILED.fullmatch(name))
        }
        self._import_directories: dict[str, bool] = {}

    def among(self, added: Collection[str]) -> tuple[str, ...]:
        """Return one line for each new module that hides another."""
        test_directories = {path.rpartition("/")[0] for path in added if _is_python_test(path)}
        found: dict[tuple[str, str], str] = {}
        for path in sorted(added):
            for module in _modules(path):
                if module.parent not in test_directories and not self._is_import_directory(module.parent):
                    continue
                hidden = self._hidden(module)
                if hidden and not self._belongs_to_project(module):
                    found.setdefault((module.parent, module.name), f"{path} would be imported instead of {hidden}")
        return tuple(found.values())

    def _hidden(self, module: _Module) -> str:
        """Return what a module of this name hides. For runners a directory without `__init__.py` is enough."""
        if module.is_namespace and module.name not in RUNNERS:
            return ""
        if module.name in LIBRARY:
            return f"the standard library's {module.name}"
        if module.name in RUNNERS or (module.name not in ORDINARY and self._is_installed(module.name)):
            return f"the installed {module.name}"
        return ""

    def _is_installed(self, name: str) -> bool:
        files = (site / inner for site in self.sites for inner in (f"{name}.py", f"{name}/__init__.py"))
        return name in self._compiled or any(file.is_file() for file in files)

    def _is_import_directory(self, parent: str) -> bool:
        if parent not in self._import_directories:
            self._import_directories[parent] = self._finds_modules_in(parent)
        return self._import_directories[parent]

    def _finds_modules_in(self, parent: str) -> bool:
        if parent in ("", *self.module_directories):
            return True
        if self.base.has(f"{parent}/__init__.py"):
            return False
        return parent in ("src", "lib", "python") or any(_is_python_test(name) for name in self.base.names(parent))

    def _belongs_to_project(self, module: _Module) -> bool:
        parents = dict.fromkeys((module.parent, "", "src", "lib", "python", *self.module_directories))
        return any(self._has(parent, module.name) for parent in parents) or module.name == self._project_module()

    def _has(self, parent: str, name: str) -> bool:
        path = os.path.join(parent, name)
        if self.base.has(f"{path}.py"):
            return True
        return self.base.is_directory(path) and any(inner.endswith(".py") for inner in self.base.names(path))

    def _project_module(self) -> str:
        """Return the name of the project as a module name."""
        try:
            read = parse_toml(self.base.read("pyproject.toml") or "")
        except BadToml:
            return ""
        poetry = table(table(read.get("tool")).get("poetry"))
        name = table(read.get("project")).get("name") or poetry.get("name") or ""
        return str(name).lower().replace("-", "_").replace(".", "_")


def _is_python_test(path: str) -> bool:
    name = path.rpartition("/")[2]
    return name == "conftest.py" or (name.endswith(".py") and is_test_module(name))


def _modules(path: str) -> Iterator[_Module]:
    """Yield the top-level modules that a new file creates, with the directory from which they are imported."""
    parent, _, name = path.rpartition("/")
    if name.endswith(".py") and name != "__init__.py":
        yield _Module(parent, name.removesuffix(".py"), is_namespace=False)
    if compiled := COMPILED.fullmatch(name):
        yield _Module(parent, compiled["module"], is_namespace=False)
    if parent and name.endswith(".py"):
        above, _, package = parent.rpartition("/")
        yield _Module(above, package, is_namespace=name != "__init__.py")


def _listing(site: Path) -> list[str]:
    try:
        return os.listdir(site)
    except OSError:
        return []
