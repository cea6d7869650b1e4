"""What failed in a run of Python's unittest (Django's runner too)."""

import re
from collections.abc import Iterator, Sequence

from donewhen.readers.failures.failure import Failure, Frame, Phase, Told
from donewhen.readers.failures.logs import lines
from donewhen.readers.failures.traces import error, one_each, python_frames

RULE = "=" * 70
LINE = "-" * 70
CHAINED = (
    "The above exception was the direct cause of the following exception:",
    "During handling of the above exception, another exception occurred:",
)
FAILED = re.compile(r"(?:FAIL|ERROR|UNEXPECTED SUCCESS): (\w{1,300})(?: \(([\w.<>]{1,400})\))?(?: .*)?")


def read(log: str) -> Told | None:
    printed = lines(log)
    found = [failure for at, line in enumerate(printed) if line == RULE for failure in _failure(printed, at + 1)]
    return Told("unittest", _phase([step for step, _ in found]), one_each(each for _, each in found)) if found else None


def _phase(steps: list[Phase]) -> Phase:
    return "test" if "test" in steps else steps[0]


def _failure(printed: Sequence[str], at: int) -> Iterator[tuple[Phase, Failure]]:
    heading = FAILED.fullmatch(printed[at]) if at < len(printed) else None
    if heading is None:
        return
    step, id = _named(heading[1], heading[2] or "")
    body = _body(printed, at + 1)
    frames = python_frames(body)
    kind, message = next((said for line in reversed(body) if line[:1].strip() and (said := error(line))), ("", ""))
    message = " ".join(part for part in (message, _cause(body)) if part)
    where = frames[-1] if frames else Frame("")
    yield step, Failure(id=id, kind=kind, message=message, file=where.file, line=where.line, frames=frames)


def _cause(body: Sequence[str]) -> str:
    """What was raised first, where one error led to another: the last one may be the same for many."""
    chained = next((at for at, line in enumerate(body) if line in CHAINED), 0)
    return next((f"<- {line}" for line in reversed(body[:chained]) if line[:1].strip() and error(line)), "")


def _named(test: str, place: str) -> tuple[Phase, str]:
    """Newer versions repeat the test behind its class; a module that cannot be loaded is a test of the loader."""
    if "_FailedTest" in place:
        return "collect", test
    if test.startswith(("setUp", "tearDown")):
        return "setup", f"{place}.{test}"
    return "test", place if place.endswith(f".{test}") else f"{place}.{test}".strip(".")


def _body(printed: Sequence[str], at: int) -> Sequence[str]:
    """Until the next rule. The error is the last line that begins at the margin, before what it compares."""
    at = next((n + 1 for n in range(at, min(at + 4, len(printed))) if printed[n] == LINE), at)
    end = next((n for n in range(at, len(printed)) if printed[n] in (RULE, LINE)), len(printed))
    return _without_difference(printed[at:end])


def _without_difference(body: Sequence[str]) -> Sequence[str]:
    """What `assertEqual` compares follows the error in lines that may look like errors themselves."""
    traced = max((n for n, line in enumerate(body) if line.startswith("  File ")), default=-1)
    first = next((n for n in range(traced + 1, len(body)) if body[n][:1].strip()), None)
    return body if first is None or traced < 0 else body[: first + 1]
