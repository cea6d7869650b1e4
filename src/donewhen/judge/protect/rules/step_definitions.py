"""Which files of the base carry out scenarios: step definitions of behave and cucumber, libraries of Robot Framework.

They decide what a scenario asks of the product, so they are tests. Directories such as `features/support` may also
belong to a product: they count only if scenarios are in the same `features` directory.
"""

import posixpath
import re
from collections.abc import Iterator
from functools import lru_cache
from itertools import islice

from donewhen.judge.protect.base_files import BaseFiles
from donewhen.judge.protect.commands.scripts_run import ScriptsRun, joined
from donewhen.judge.runners.test_files import test_files

FEATURES = "features"
STEPS = frozenset({"steps", "step_definitions", "support"})
HOOKS = "environment.py"
MOST_ENTRIES = 1_000
ROBOT = ("robot", "pabot")
MOST_ROBOT_FILES = 500
NAMED = re.compile(
    r"^(?:\| ?)?(?:Library|Resource|Variables)(?:\t| {2}| \|)[\t |]*+([^\s|]++)", re.MULTILINE | re.IGNORECASE
)
HERE = re.compile(r"\$\{CURDIR\}(?:/|\$\{/\})?")
ROOT = re.compile(r"\$\{EXECDIR\}(?:/|\$\{/\})?")


class StepDefinitions:
    """The step definitions of one base."""

    def __init__(self, base: BaseFiles, scripts_run: ScriptsRun) -> None:
        self._base = base
        self._has_scenarios = lru_cache(1 << 10)(self._find_scenario)
        is_used = not scripts_run.words.isdisjoint(ROBOT)
        self.libraries = frozenset(self._robot_libraries(scripts_run)) if is_used else frozenset[str]()
        """Files and directories that suites of Robot Framework name by their paths."""

    def includes(self, path: str) -> bool:
        """Return True if a path is a step definition, or belongs to step definitions."""
        *directories, name = path.split("/")
        for at, directory in enumerate(directories):
            below = directories[at + 1 :]
            if directory == FEATURES and (not STEPS.isdisjoint(below) or (not below and name == HOOKS)):
                return self._has_scenarios("/".join(directories[: at + 1]))
        return path in self.libraries or any(path.startswith(f"{library}/") for library in self.libraries)

    def _find_scenario(self, directory: str) -> bool:
        """Search a directory and what is below it, within a limit."""
        waiting, entries = [directory], 0
        while waiting and entries <= MOST_ENTRIES:
            above = waiting.pop(0)
            names = self._base.names(above)
            entries += len(names)
            if any(name.endswith(".feature") for name in names):
                return True
            waiting += [f"{above}/{name}" for name in names if "." not in name and name not in STEPS]
        return False

    def _robot_libraries(self, scripts_run: ScriptsRun) -> Iterator[str]:
        places = sorted({*scripts_run.test_directories, *(path for path in scripts_run.tests if self._base.has(path))})
        for path, text in islice(test_files(self._base.root, ("*.robot", "*.resource"), places), MOST_ROBOT_FILES):
            for name in files_named_by_robot(text):
                start = "" if ROOT.match(name) else posixpath.dirname(path)
                found = joined(start, ROOT.sub("", HERE.sub("", name)).replace("${/}", "/"))
                if found and (self._base.has(found) or self._base.is_directory(found)):
                    yield found


def files_named_by_robot(text: str) -> list[str]:
    """Return the libraries, resources and variables that a suite names by their paths."""
    return [name for name in NAMED.findall(text) if "/" in name or name.endswith((".py", ".yaml", ".json"))]
