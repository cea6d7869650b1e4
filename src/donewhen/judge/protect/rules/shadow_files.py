"""New files that would be used instead of a file that counts: a script, a tool, a test helper, the product.

Only paths that the base does not have are examined. Modules that hide the standard library or an installed package are
examined in `shadow_modules`.
"""

from donewhen.judge.protect.base_files import BaseFiles
from donewhen.judge.protect.commands.scripts_run import ScriptsRun
from donewhen.judge.protect.names.judging_tools import TOOLS
from donewhen.judge.protect.names.test_names import is_test_module
from donewhen.judge.protect.rules.suite import Suite
from donewhen.records import frozen

SCRIPT_SUFFIXES = (".js", ".jsx", ".ts", ".tsx", ".mjs", ".cjs", ".mts", ".cts", ".json", ".node")
PROGRAM_DIRECTORIES = frozenset({"bin", "sbin", ".bin", "scripts", "Scripts"})


@frozen
class ShadowFiles:
    base: BaseFiles
    scripts_run: ScriptsRun
    suite: Suite

    def reason(self, path: str) -> str:
        return self._of_script(path) or self._of_tool(path) or self._of_lock(path) or self._among_tests(path)

    def _of_script(self, path: str) -> str:
        parts = path.split("/")
        for at in range(1, len(parts)):
            module = "/".join(parts[:at]) + ".py"
            if module in self.scripts_run.scripts:
                return f"would be run instead of {module}"
        return ""

    def _of_tool(self, path: str) -> str:
        parent, _, name = path.rpartition("/")
        looked_at = parent in self.scripts_run.directories or parent.rpartition("/")[2] in PROGRAM_DIRECTORIES
        if looked_at and name in TOOLS and name in self.scripts_run.programs:
            return f"would be run instead of {name}"
        return ""

    def _of_lock(self, path: str) -> str:
        parent, _, name = path.rpartition("/")
        other = f"{parent}/package-lock.json".removeprefix("/")
        return f"would be used instead of {other}" if name == "npm-shrinkwrap.json" and self.base.has(other) else ""

    def _among_tests(self, path: str) -> str:
        parent, _, name = path.rpartition("/")
        above, _, package = parent.rpartition("/")
        if name == "__init__.py":
            if self.suite.is_directory_of_tests(parent) and self.base.is_directory(parent):
                return "runs before the tests beside it"
            return self._of_module(above, package) if above else ""
        if not self.suite.is_directory_of_tests(parent) or is_test_module(path):
            return ""
        if name.endswith(".py"):
            return self._of_product(parent, name.removesuffix(".py"))
        return self._of_import(parent, name)

    def _of_module(self, parent: str, module: str) -> str:
        """Return why a package would be imported: it takes precedence over a module of the same name next to it."""
        if not self.suite.is_directory_of_tests(parent):
            return ""
        if self.base.has(f"{parent}/{module}.py"):
            return f"would be imported instead of {parent}/{module}.py"
        return self._of_product(parent, module)

    def _of_product(self, parent: str, module: str) -> str:
        """Return why a module would be imported: the directory of a test is searched first, unless it is a package."""
        if self.base.has(f"{parent}/__init__.py") or self.base.has(f"{parent}/{module}.py"):
            return ""
        others = (f"{directory}/" for directory in sorted(self.suite.module_directories) if directory)
        for root in ("", "src/", *others):
            for product in (f"{root}{module}.py", f"{root}{module}/__init__.py"):
                if self.base.has(product) and not self.suite.is_test(product):
                    return f"would be imported instead of {product}"
        return ""

    def _of_import(self, parent: str, name: str) -> str:
        """Return why a file would be imported: `require` without a suffix prefers files and certain suffixes."""
        stem = next((name.removesuffix(end) for end in SCRIPT_SUFFIXES if name.endswith(end)), "")
        if not stem or not self.base.is_directory(parent):
            return ""
        others = [f"{parent}/{stem}{end}" for end in SCRIPT_SUFFIXES if not name.endswith(end)]
        found = next((other for other in others if self.base.has(other)), "")
        if not found and self.base.is_directory(f"{parent}/{stem}"):
            found = f"{parent}/{stem}/"
        return f"would be imported instead of {found}" if found else ""
