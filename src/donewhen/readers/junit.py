"""JUnit XML as pytest, surefire, gradle, phpunit, node, vitest and others write it.

Every `testcase` counts once, wherever the suites nest it; the totals in the attributes of suites are not believed.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from donewhen.readers.reading import Reading
from donewhen.readers.tally import names, tally, that_ran
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
    return Reading(runner, tests, names(found.failures), complete, that_ran(found.ran))


@dataclass(slots=True)
class _Case:
    name: str
    depth: int
    known_as: tuple[str, ...]
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


@dataclass(slots=True)
class _Suite:
    is_junit: bool = False
    passed: int = 0
    skipped: int = 0
    failures: list[str] = field(default_factory=list[str])
    ran: list[str] = field(default_factory=list[str])
    depth: int = 0
    suites: list[str] = field(default_factory=list[str])
    open: list[_Case] = field(default_factory=list[_Case])

    def start(self, element: str, given: Mapping[str, str]) -> None:
        self.depth += 1
        if element == "testsuite":
            self.suites.append(given.get("name", ""))
        if self.depth == 1:
            self.is_junit = element in ROOTS
        elif element == "testcase" and self.is_junit:
            self.open.append(_Case(_name(given), self.depth, _known_as(given, self.suites)))
        elif self.open and self.depth == self.open[-1].depth + 1:
            self.open[-1].worsen(element, given.get("type", ""))
            if given.get("message") == "collection failure":
                self.open[-1].known_as = ()

    def end(self, element: str) -> None:
        self.depth -= 1
        if element == "testcase" and self.open:
            self._count(self.open.pop())
        elif element == "testsuite" and self.suites:
            self.suites.pop()

    def _count(self, case: _Case) -> None:
        if case.outcome in ("passed", "failed") and not _is_a_file(case.name):
            self.ran += case.known_as
        if case.outcome == "failed":
            self.failures.append(case.name)
        elif case.outcome != "passed":
            self.skipped += 1
        elif not _is_a_file(case.name):
            self.passed += 1


def _name(given: Mapping[str, str]) -> str:
    where, name = given.get("classname", ""), given.get("name", "")
    return f"{where}.{name}" if where and where != "test" else name


def _known_as(given: Mapping[str, str], suites: Sequence[str]) -> tuple[str, ...]:
    """A test's name where its class, or the class that could not be set up, is told; else with the suites around it.

    Node makes a suite of a test that has others in it, and so such a suite ran as well.
    """
    where, name = given.get("classname", ""), given.get("name", "")
    if where and where != "test":
        return () if name in ("", where, *OF_A_CLASS) else (f"{where}.{name}",)
    path = [part for part in (given.get("file", ""), *suites, name) if part]
    first = 1 + int("file" in given)
    return tuple(" > ".join(path[:end]) for end in range(first, len(path) + 1))


def _is_a_file(name: str) -> bool:
    """Some versions of node call a file without any test a test that passed, under the file's path."""
    return "/" in name and " " not in name and name.endswith(SCRIPTS)
