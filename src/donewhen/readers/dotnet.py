"""`dotnet test`: the trx reports of its logger, and the line that it prints for every test project."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from donewhen.readers.printed import heard, lines
from donewhen.readers.reading import Reading, Tests
from donewhen.readers.tally import names, tally
from donewhen.readers.xml import walk

PROJECT = re.compile(
    r"(?:Passed|Failed|Skipped)! +- Failed: +(\d{1,9}), Passed: +(\d{1,9}), Skipped: +(\d{1,9}), Total: +\d{1,9}, .*"
)
FAILED = re.compile(r" {2}Failed (\S.*?) \[[^\]]*\]")
NOTHING = re.compile(r"No test is available in .*|No test matches the given testcase filter .*")


def read_report(content: bytes) -> Reading | None:
    found = _Results()
    complete = walk(content, found.start)
    if not found.is_trx:
        return None
    tests = tally(passed=found.passed, failed=len(found.failures), skipped=found.skipped)
    return Reading("dotnet", tests, names(found.failures), complete and found.summarised)


@dataclass(slots=True)
class _Results:
    is_first: bool = True
    is_trx: bool = False
    summarised: bool = False
    passed: int = 0
    skipped: int = 0
    failures: list[str] = field(default_factory=list[str])

    def start(self, element: str, given: Mapping[str, str]) -> None:
        if self.is_first:
            self.is_first, self.is_trx = False, element == "TestRun"
        elif element == "UnitTestResult":
            self._count(given.get("testName", ""), given.get("outcome", ""))
        elif element == "ResultSummary":
            self.summarised = True

    def _count(self, name: str, outcome: str) -> None:
        if outcome == "Passed":
            self.passed += 1
        elif outcome in ("NotExecuted", "Pending", "Inconclusive", "NotRunnable"):
            self.skipped += 1
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
