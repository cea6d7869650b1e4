"""`dotnet test`: the trx reports of its logger, and the line that it prints for every test project."""

import re
from collections.abc import Iterator, Mapping

from donewhen.readers.printed import heard, lines
from donewhen.readers.reading import Reading, Tests
from donewhen.readers.tally import LONGEST_PLACE, names, tally, that_ran
from donewhen.readers.xml import walk

PROJECT = re.compile(
    r"(?:Passed|Failed|Skipped)! +- Failed: +(\d{1,9}), Passed: +(\d{1,9}), Skipped: +(\d{1,9}), Total: +\d{1,9}, .*"
)
FAILED = re.compile(r" {2}Failed (\S.*?) \[[^\]]*\]")
NOT_RUN = ("NotExecuted", "Pending", "Inconclusive", "NotRunnable")
NOTHING = re.compile(r"No test is available in .*|No test matches the given testcase filter .*")


def read_report(content: bytes) -> Reading | None:
    found = _Results()
    complete = walk(content, found.start)
    if not found.is_trx:
        return None
    tests = tally(passed=found.passed, failed=len(found.failures), skipped=found.skipped)
    return Reading("dotnet", tests, names(found.failures), complete and found.summarised, that_ran(found.names()))


class _Results:
    def __init__(self) -> None:
        self.is_first = True
        self.is_trx = False
        self.summarised = False
        self.passed = 0
        self.skipped = 0
        self.failures: list[str] = []
        self.ran: list[tuple[str, str]] = []
        """Name and id of each test. Its class stands further down, with its definition."""
        self.defined = ""
        self.classes: dict[str, str] = {}

    def start(self, element: str, given: Mapping[str, str]) -> None:
        if self.is_first:
            self.is_first, self.is_trx = False, element == "TestRun"
        elif element == "UnitTestResult":
            self._count(given)
        elif element == "UnitTest":
            self.defined = given.get("id", "")
        elif element == "TestMethod":
            self.classes[self.defined] = given.get("className", "")
        elif element == "ResultSummary":
            self.summarised = True

    def names(self) -> Iterator[str]:
        """Some frameworks put the class before the name themselves."""
        for name, test in self.ran:
            where = self.classes.get(test, "")[:LONGEST_PLACE]
            yield name if name.startswith(where) else f"{where}.{name}"

    def _count(self, given: Mapping[str, str]) -> None:
        name, outcome = given.get("testName", ""), given.get("outcome", "")
        if outcome in NOT_RUN:
            self.skipped += 1
            return
        self.ran.append((name, given.get("testId", "")))
        if outcome == "Passed":
            self.passed += 1
        else:
            self.failures.append(name)


def read_text(content: bytes) -> Reading | None:
    printed = lines(content)
    projects = [found for line in printed if (found := PROJECT.fullmatch(line))]
    if not projects:
        return Reading("dotnet", Tests()) if any(NOTHING.fullmatch(line) for line in printed) else None
    tests = sum((_counted(project) for project in projects), Tests())
    return Reading("dotnet", tests, names(heard(FAILED, printed)) if tests.failed else ())


def _counted(project: re.Match[str]) -> Tests:
    failed, passed, skipped = (int(group) for group in project.groups())
    return tally(passed=passed, failed=failed, skipped=skipped)
