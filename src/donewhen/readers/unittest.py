"""Reader of Python's unittest (Django's runner too): the counts at its end and the failures. It has no other report."""

import re
from collections.abc import Iterator, Sequence

from donewhen.readers.failures.failure import Failure, FailureReport, Frame, Phase
from donewhen.readers.failures.logs import lines as log_lines
from donewhen.readers.failures.traces import error, one_each, python_frames
from donewhen.readers.printed_lines import first_groups, last, lines
from donewhen.readers.result import RunnerReport, Tests, names, tally, that_ran

RAN = re.compile(r"Ran (\d{1,9}) tests? in \d+\.\d+s")
ENDED = re.compile(r"(OK|FAILED|NO TESTS RAN)(?: \((.*)\))?")
COUNT = re.compile(r"(failures|errors|skipped|expected failures|unexpected successes)=(\d{1,9})")
BEGUN = re.compile(r"((?!setUp|tearDown)\w+ \([\w.<>]+\))(?: \.\.\.(?: .*)?)?")
SKIPPED = re.compile(r"(?:^|\.\.\. )(?:skipped ['\"].*|expected failure)$", re.DOTALL)
FAILED = re.compile(r"(?:FAIL|ERROR|UNEXPECTED SUCCESS): (\S.*)")


def read_text(content: bytes) -> RunnerReport | None:
    printed = lines(content)
    found = last(RAN, printed)
    if found is None:
        return None
    at, ran = found
    text = next((line for line in printed[at + 1 : at + 4] if line), "")
    ended = ENDED.fullmatch(text)
    if ended is None:
        return RunnerReport("unittest", Tests(), complete=False)
    counts = {kind: int(count) for kind, count in COUNT.findall(ended[2] or "")}
    failed = sum(counts.get(kind, 0) for kind in ("failures", "errors", "unexpected successes"))
    skipped = counts.get("skipped", 0) + counts.get("expected failures", 0)
    tests = tally(passed=int(ran[1]) - failed - skipped, failed=failed, skipped=skipped)
    failures = names(first_groups(FAILED, printed[:at])) if tests.failed else ()
    return RunnerReport("unittest", tests, failures, True, *_names(printed[:at], int(ran[1])))


def _names(printed: list[str], number: int) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the tests that ran and those that were skipped, if verbose output names as many as were counted.

    Outcomes may follow lines later.
    """
    begun, skipped = list[str](), set[str]()
    for line in printed:
        if test := BEGUN.fullmatch(line):
            begun.append(test[1])
        if begun and SKIPPED.search(line):
            skipped.add(begun[-1])
        if line == "=" * 70:
            break
    finished = [name for name in begun if name not in skipped and "unittest.loader._FailedTest" not in name]
    return (that_ran(finished), that_ran(skipped)) if len(begun) == number else ((), ())


RULE = "=" * 70
LINE = "-" * 70
CHAINED = (
    "The above exception was the direct cause of the following exception:",
    "During handling of the above exception, another exception occurred:",
)
FAILURE_HEADING = re.compile(r"(?:FAIL|ERROR|UNEXPECTED SUCCESS): (\w{1,300})(?: \(([\w.<>]{1,400})\))?(?: .*)?")
CLOSING = re.compile(r"FAILED \(.*\)")


def read_failures(log: str) -> FailureReport | None:
    printed = log_lines(log)
    found = [failure for at, line in enumerate(printed) if line == RULE for failure in _failure(printed, at + 1)]
    if not found:
        return None
    phase: Phase = "test" if any(step == "test" for step, _ in found) else found[0][0]
    return FailureReport("unittest", phase, one_each(each for _, each in found))


def _failure(printed: Sequence[str], at: int) -> Iterator[tuple[Phase, Failure]]:
    heading = FAILURE_HEADING.fullmatch(printed[at]) if at < len(printed) else None
    if heading is None:
        return
    step, id = _named(heading[1], heading[2] or "")
    start = next((n + 1 for n in range(at + 1, min(at + 5, len(printed))) if printed[n] == LINE), at + 1)
    end = next((n for n in range(start, len(printed)) if printed[n] in (RULE, LINE)), len(printed))
    body = printed[start:end]
    # The values that `assertEqual` compares come after the error and may look like errors themselves.
    traced = max((n for n, line in enumerate(body) if line.startswith("  File ")), default=-1)
    first = next((n for n in range(traced + 1, len(body)) if body[n][:1].strip()), None)
    body = body if first is None or traced < 0 else body[: first + 1]
    frames = python_frames(body)
    kind, message = next((text for line in reversed(body) if line[:1].strip() and (text := error(line))), ("", ""))
    message = " ".join(part for part in (message, _cause(body)) if part)
    where = frames[-1] if frames else Frame("")
    yield step, Failure(id=id, kind=kind, message=message, file=where.file, line=where.line, frames=frames)


def _cause(body: Sequence[str]) -> str:
    """Return the first error of a chain: the last one may be the same for many tests."""
    chained = next((at for at, line in enumerate(body) if line in CHAINED), 0)
    return next((f"<- {line}" for line in reversed(body[:chained]) if line[:1].strip() and error(line)), "")


def _named(test: str, place: str) -> tuple[Phase, str]:
    """Return phase and id of a test.

    Newer versions repeat the test after its class. A module that cannot be loaded appears as a test of the loader.
    """
    if "_FailedTest" in place:
        return "collect", test
    if test.startswith(("setUp", "tearDown")):
        return "setup", f"{place}.{test}"
    return "test", place if place.endswith(f".{test}") else f"{place}.{test}".strip(".")
