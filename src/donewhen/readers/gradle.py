"""Reader of Gradle's output: the count of tests, which it prints only if some failed, and the failures on its console.

The XML reports that it leaves in the tree are read by `junit`. Compiler errors are read by `compilers.javac`.
"""

import re
from collections.abc import Iterator, Sequence

from donewhen.readers.failures.failure import Failure, FailureReport, Frame
from donewhen.readers.failures.logs import lines as log_lines
from donewhen.readers.failures.traces import blocks, error, first_words, java_frames, one_each
from donewhen.readers.printed_lines import first_groups, lines
from donewhen.readers.result import RunnerReport, Tests, names, tally

COMPLETED = re.compile(r"(\d{1,9}) tests? completed(?:, (\d{1,9}) failed)?(?:, (\d{1,9}) skipped)?")
FAILED = re.compile(r"(\S.*\S) FAILED")
ENDED = re.compile(r"BUILD (?:SUCCESSFUL|FAILED) in .*")


def read_text(content: bytes) -> RunnerReport | None:
    printed = lines(content)
    totals = [found for line in printed if (found := COMPLETED.fullmatch(line))]
    if not totals:
        return None
    tests = sum((_counted(total) for total in totals), Tests())
    ended = any(ENDED.fullmatch(line) for line in printed)
    failed = names(name for name in first_groups(FAILED, printed) if " > " in name[1:])
    return RunnerReport("gradle", tests, failed, ended)


def _counted(total: re.Match[str]) -> Tests:
    completed, failed, skipped = (int(group or 0) for group in total.groups())
    return tally(passed=completed - failed - skipped, failed=failed, skipped=skipped)


HEADING = re.compile(
    r"(?P<test>[^>\s][^>]{0,400} > \S.{0,600}) FAILED|> Task .*|\d+ tests? completed, .*"
    r"|[^>\s][^>]{0,400} > .{1,600} (?:PASSED|SKIPPED)"
)
SHORT = re.compile(r"\s+([\w.$]{1,300}) at (\w{1,200}\.\w{1,10}):(\d{1,9})")
PARAMETERS = re.compile(r"\(.*|\[.*")
CLOSING = re.compile(r"BUILD FAILED in .*|\d{1,9} tests? completed.*")


def read_failures(log: str) -> FailureReport | None:
    found = list(_failures(log_lines(log)))
    return FailureReport("gradle", "test", one_each(found)) if found else None


def _failures(printed: list[str]) -> Iterator[Failure]:
    """Yield the failures. A heading counts only with an exception below it: other programs print such lines too."""
    for heading, begin, end in blocks(printed, HEADING):
        if heading["test"] and begin < end and printed[begin].startswith("    "):
            yield _failure(PARAMETERS.sub("", heading["test"]).strip(), printed[begin:end])


def _failure(id: str, body: Sequence[str]) -> Failure:
    """Return one failure. With default logging, an exception is printed only with its name and place."""
    if short := SHORT.fullmatch(body[0]):
        frame = Frame(short[2], int(short[3]))
        return Failure(id=id, kind=short[1], file=frame.file, line=frame.line, frames=(frame,))
    text = first_words(body)
    kind, message = error(text) or ("", text)
    frames = java_frames(body)
    where = frames[-1] if frames else Frame("")
    return Failure(id=id, kind=kind, message=message, file=where.file, line=where.line, frames=frames)
