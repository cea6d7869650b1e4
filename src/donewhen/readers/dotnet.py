"""Reader of `dotnet test`: the trx reports of its logger, the result line of every test project, and the failures.

Failures are read as the usual logger prints them.
"""

import re
from collections.abc import Iterator, Mapping, Sequence

from donewhen.readers.failures.failure import Failure, FailureReport, Frame
from donewhen.readers.failures.logs import lines as log_lines
from donewhen.readers.failures.traces import blocks, innermost_first, kind_and_message, one_each, whole_message
from donewhen.readers.printed_lines import first_groups, lines
from donewhen.readers.result import LONGEST_PLACE, RunnerReport, Tests, names, tally, that_ran
from donewhen.readers.xml import walk

PROJECT = re.compile(
    r"(?:Passed|Failed|Skipped)! +- Failed: +(\d{1,9}), Passed: +(\d{1,9}), Skipped: +(\d{1,9}), Total: +\d{1,9}, .*"
)
FAILED = re.compile(r" {2}Failed (\S.*?) \[[^\[\]]*\]")
NOT_RUN = ("NotExecuted", "Pending", "Inconclusive", "NotRunnable")
NOTHING = re.compile(r"No test is available in .*|No test matches the given testcase filter .*")


def read_report(content: bytes) -> RunnerReport | None:
    found = _Results()
    complete = walk(content, found.start)
    if not found.is_trx:
        return None
    tests = tally(passed=found.passed, failed=len(found.failures), skipped=found.skipped)
    return RunnerReport("dotnet", tests, names(found.failures), complete and found.summarised, that_ran(found.names()))


class _Results:
    def __init__(self) -> None:
        self.is_first = True
        self.is_trx = False
        self.summarised = False
        self.passed = 0
        self.skipped = 0
        self.failures: list[str] = []
        self.ran: list[tuple[str, str]] = []
        """Name and id of each test. Its class follows later in the report, with its definition."""
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
        """Yield the names with their class. Some frameworks put the class before the name themselves."""
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


def read_text(content: bytes) -> RunnerReport | None:
    printed = lines(content)
    projects = [found for line in printed if (found := PROJECT.fullmatch(line))]
    if not projects:
        return RunnerReport("dotnet", Tests()) if any(NOTHING.fullmatch(line) for line in printed) else None
    failed, passed, skipped = (sum(int(project[group]) for project in projects) for group in (1, 2, 3))
    tests = tally(passed=passed, failed=failed, skipped=skipped)
    return RunnerReport("dotnet", tests, names(first_groups(FAILED, printed)) if tests.failed else ())


MESSAGE = re.compile(r" {2}Error Message:")
STACK = re.compile(r" {2}Stack Trace:")
PLACE = re.compile(r" +at ([^(]{1,400})\([^)]{0,400}\)(?: in (.{1,400}):line (\d{1,9}))?")
PARAMETERS = re.compile(r"\(.*")
THROWN = re.compile(r"(?:System\.\w+|[\w.]+Exception) : .*")
CLOSING = re.compile(r"(?:Failed! .*|Test Run Failed\.)")


def read_failures(log: str) -> FailureReport | None:
    found = list(_failures(log_lines(log)))
    return FailureReport("dotnet test", "test", one_each(found)) if found else None


def _failures(printed: list[str]) -> Iterator[Failure]:
    for heading, begin, end in blocks(printed, FAILED):
        if begin < end and MESSAGE.fullmatch(printed[begin]):
            yield _failure(PARAMETERS.sub("", heading[1]), printed[begin + 1 : min(end, begin + 400)])


def _failure(id: str, body: Sequence[str]) -> Failure:
    stack = next((at for at, line in enumerate(body) if STACK.fullmatch(line)), len(body))
    text = whole_message(body[:stack])
    kind, message = kind_and_message(text.replace(" : ", ": ", 1) if THROWN.fullmatch(text) else text)
    places = (PLACE.fullmatch(line) for line in body[stack + 1 :])
    frames = innermost_first(Frame(at[2], int(at[3]), at[1]) for at in places if at and at[2])
    where = frames[-1] if frames else Frame("")
    return Failure(id=id, kind=kind, message=message, file=where.file, line=where.line, frames=frames)
