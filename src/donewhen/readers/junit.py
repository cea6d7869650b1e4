"""Reader of JUnit XML as pytest, surefire, gradle, phpunit, node, vitest and others write it.

Every `testcase` counts once, however the suites nest it. The totals in the attributes of suites are ignored.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from donewhen.readers.result import LONGEST_PLACE, RunnerReport, names, tally, that_ran, within
from donewhen.readers.xml import walk

ROOTS = ("testsuites", "testsuite")
OF_A_CLASS = ("initializationError", "classMethod", "executionError")
"""Names that JUnit and Gradle give to the failure of a class whose tests could not run."""
SCRIPTS = (".js", ".mjs", ".cjs", ".ts", ".mts", ".cts")


def read(content: bytes, runner: str = "junit") -> RunnerReport | None:
    found = _Suite()
    complete = walk(content, found.start, found.end)
    if not found.is_junit:
        return None
    tests = tally(passed=found.passed, failed=len(found.failures), skipped=found.skipped)
    return RunnerReport(
        runner, tests, names(found.failures), complete, that_ran(_names(found.ran)), that_ran(_names(found.skips))
    )


@dataclass(slots=True)
class _Case:
    name: str
    depth: int
    given: Mapping[str, str]
    is_test: bool = True
    """False for an entry that stands for tests that could not be reached."""
    outcome: str = "passed"

    def worsen(self, element: str, kind: str) -> None:
        """Apply a child element to the outcome. A failure outweighs a skip, except if the failure was expected."""
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
        """File, suites and name. Joined only at the end, because many tests share long paths."""
        self.skips: list[tuple[str, str, str]] = []
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

    def _count(self, case: _Case) -> None:
        if case.is_test:
            self._keep(case)
        if case.outcome == "failed":
            self.failures.append(case.name)
        elif case.outcome != "passed":
            self.skipped += 1
        elif not _is_a_file(case.name):
            self.passed += 1

    def _keep(self, case: _Case) -> None:
        """Record a test under its class or, if there is none, under its file and the suites around it."""
        where, name = case.given.get("classname", ""), case.given.get("name", "")
        kept = self.ran if case.outcome in ("passed", "failed") else self.skips
        if where and where != "test":
            kept += [] if name in ("", where, *OF_A_CLASS) else [("", "", case.name)]
        elif not _is_a_file(name):
            suite, file = self.suites[-1], case.given.get("file", "")
            kept.append((file, suite.path, name))
            suite.file = file if kept is self.ran else suite.file

    def _close(self, suite: "_Group") -> None:
        """Record a suite in which something ran as a test: node turns a test that contains others into a suite."""
        if suite.file is not None and suite.path:
            self.ran.append((suite.file, "", suite.path))
            self.suites[-1].file = suite.file


def _names(found: list[tuple[str, str, str]]) -> Iterator[str]:
    for file, suites, name in found:
        yield within(file, within(suites, name))


@dataclass(slots=True)
class _Group:
    """A suite with the path of the suites around it."""

    path: str
    file: str | None = None
    """The file of its tests; None as long as none of them ran."""

    def inner(self, name: str) -> "_Group":
        """Return a nested suite. The length of its path is bounded, however deep suites nest."""
        is_full = len(self.path) >= LONGEST_PLACE
        return _Group(self.path if is_full else within(self.path, name)[:LONGEST_PLACE])


def _name(given: Mapping[str, str]) -> str:
    where, name = given.get("classname", ""), given.get("name", "")
    return f"{where}.{name}" if where and where != "test" else name


def _is_a_file(name: str) -> bool:
    """Return True for the path of a script: some node versions report a file without tests as a passed test."""
    return "/" in name and " " not in name and name.endswith(SCRIPTS)
