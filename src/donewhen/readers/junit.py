"""JUnit XML as pytest, surefire, gradle, phpunit, node, vitest and others write it.

Every `testcase` counts once, wherever the suites nest it; the totals in the attributes of suites are not believed.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from donewhen.readers.reading import Reading
from donewhen.readers.tally import LONGEST_PLACE, names, tally, that_ran, within
from donewhen.readers.xml import walk

ROOTS = ("testsuites", "testsuite")
OF_A_CLASS = ("initializationError", "classMethod", "executionError")
"""What JUnit and Gradle call the failure of a class whose tests could not run."""
SCRIPTS = (".js", ".mjs", ".cjs", ".ts", ".mts", ".cts")


def read(content: bytes, runner: str = "junit") -> Reading | None:
    found = _Suite()
    complete = walk(content, found.start, found.end)
    if not found.is_junit:
        return None
    tests = tally(passed=found.passed, failed=len(found.failures), skipped=found.skipped)
    return Reading(runner, tests, names(found.failures), complete, that_ran(found.names()))


@dataclass(slots=True)
class _Case:
    name: str
    depth: int
    given: Mapping[str, str]
    is_test: bool = True
    """False for what stands for tests that could not be reached."""
    outcome: str = "passed"

    def worsen(self, element: str, kind: str) -> None:
        """A failure outweighs a skip, except where the failure was expected."""
        if self.outcome == "expected":
            return
        if element == "skipped" and kind == "todo":
            self.outcome = "expected"
        elif element in ("failure", "error") and not kind.endswith("RiskyTestError"):
            self.outcome = "failed"
        elif element in ("skipped", "warning", "error", "disabled") and self.outcome == "passed":
            self.outcome = "skipped"


class _Suite:
    def __init__(self) -> None:
        self.is_junit = False
        self.passed = 0
        self.skipped = 0
        self.failures: list[str] = []
        self.ran: list[tuple[str, str, str]] = []
        """File, suites and name, put together when all are known: long paths are shared by many."""
        self.depth = 0
        self.suites = [_Group("")]
        self.open: list[_Case] = []

    def start(self, element: str, given: Mapping[str, str]) -> None:
        self.depth += 1
        if element == "testsuite":
            self.suites.append(self.suites[-1].inner(given.get("name", "")))
        if self.depth == 1:
            self.is_junit = element in ROOTS
        elif element == "testcase" and self.is_junit:
            self.open.append(_Case(_name(given), self.depth, given))
        elif self.open and self.depth == self.open[-1].depth + 1:
            self.open[-1].worsen(element, given.get("type", ""))
            if given.get("message") == "collection failure":
                self.open[-1].is_test = False

    def end(self, element: str) -> None:
        self.depth -= 1
        if element == "testcase" and self.open:
            self._count(self.open.pop())
        elif element == "testsuite":
            self._close(self.suites.pop())

    def names(self) -> Iterator[str]:
        for file, suites, name in self.ran:
            yield within(file, within(suites, name))

    def _count(self, case: _Case) -> None:
        if case.is_test and case.outcome in ("passed", "failed"):
            self._keep(case)
        if case.outcome == "failed":
            self.failures.append(case.name)
        elif case.outcome != "passed":
            self.skipped += 1
        elif not _is_a_file(case.name):
            self.passed += 1

    def _keep(self, case: _Case) -> None:
        """Under its class or, where none is told, under its file and the suites around it."""
        where, name = case.given.get("classname", ""), case.given.get("name", "")
        if where and where != "test":
            self.ran += [] if name in ("", where, *OF_A_CLASS) else [("", "", case.name)]
        elif not _is_a_file(name):
            suite, file = self.suites[-1], case.given.get("file", "")
            self.ran.append((file, suite.path, name))
            suite.file = file

    def _close(self, suite: "_Group") -> None:
        """Node makes a suite of a test that has others in it, so a suite in which something ran has run as well."""
        if suite.file is not None and suite.path:
            self.ran.append((suite.file, "", suite.path))
            self.suites[-1].file = suite.file


@dataclass(slots=True)
class _Group:
    """A suite, named with those around it."""

    path: str
    file: str | None = None
    """Where its tests are; None as long as none of them ran."""

    def inner(self, name: str) -> "_Group":
        """However deep suites nest, the path ends somewhere."""
        is_full = len(self.path) >= LONGEST_PLACE
        return _Group(self.path if is_full else within(self.path, name)[:LONGEST_PLACE])


def _name(given: Mapping[str, str]) -> str:
    where, name = given.get("classname", ""), given.get("name", "")
    return f"{where}.{name}" if where and where != "test" else name


def _is_a_file(name: str) -> bool:
    """Some versions of node call a file without any test a test that passed, under the file's path."""
    return "/" in name and " " not in name and name.endswith(SCRIPTS)
