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
PROGRAM_PLACES = frozenset({"bin", "sbin", ".bin", "scripts", "Scripts"})


@frozen
class ShadowFiles:
    base: BaseFiles
    executed: ScriptsRun
    suite: Suite

    def reason(self, path: str) -> str:
        return self._of_script(path) or self._of_tool(path) or self._among_tests(path)

    def _of_script(self, path: str) -> str:
        parts = path.split("/")
        for at in range(1, len(parts)):
            module = "/".join(parts[:at]) + ".py"
            if module in self.executed.scripts:
                return f"would be run instead of {module}"
        return ""

    def _of_tool(self, path: str) -> str:
        place, _, name = path.rpartition("/")
        looked_at = place in self.executed.directories or place.rpartition("/")[2] in PROGRAM_PLACES
        if looked_at and name in TOOLS and name in self.executed.programs:
            return f"would be run instead of {name}"
        return ""

    def _among_tests(self, path: str) -> str:
        place, _, name = path.rpartition("/")
        above, _, package = place.rpartition("/")
        if name == "__init__.py":
            if self.suite.is_directory_of_tests(place) and self.base.is_directory(place):
                return "runs before the tests beside it"
            return self._of_module(above, package) if above else ""
        if not self.suite.is_directory_of_tests(place) or is_test_module(path):
            return ""
        if name.endswith(".py"):
            return self._of_product(place, name.removesuffix(".py"))
        return self._of_import(place, name)

    def _of_module(self, place: str, module: str) -> str:
        """Return why a package would be imported: it takes precedence over a module of the same name next to it."""
        if not self.suite.is_directory_of_tests(place):
            return ""
        if self.base.has(f"{place}/{module}.py"):
            return f"would be imported instead of {place}/{module}.py"
        return self._of_product(place, module)

    def _of_product(self, place: str, module: str) -> str:
        """Return why a module would be imported: the directory of a test is searched first, unless it is a package."""
        if self.base.has(f"{place}/__init__.py") or self.base.has(f"{place}/{module}.py"):
            return ""
        for root in ("", "src/", *(f"{directory}/" for directory in sorted(self.suite.homes) if directory)):
            for product in (f"{root}{module}.py", f"{root}{module}/__init__.py"):
                if self.base.has(product) and not self.suite.is_test(product):
                    return f"would be imported instead of {product}"
        return ""

    def _of_import(self, place: str, name: str) -> str:
        """Return why a file would be imported: `require` without a suffix prefers files and certain suffixes."""
        stem = next((name.removesuffix(end) for end in SCRIPT_SUFFIXES if name.endswith(end)), "")
        if not stem or not self.base.is_directory(place):
            return ""
        others = [f"{place}/{stem}{end}" for end in SCRIPT_SUFFIXES if not name.endswith(end)]
        found = next((other for other in others if self.base.has(other)), "")
        if not found and self.base.is_directory(f"{place}/{stem}"):
            found = f"{place}/{stem}/"
        return f"would be imported instead of {found}" if found else ""
