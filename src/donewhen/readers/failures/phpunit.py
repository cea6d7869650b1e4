"""What failed in a run of PHPUnit, from its numbered list."""

import re
from collections.abc import Iterator, Sequence

from donewhen.readers.failures.failure import Failure, Frame, Told
from donewhen.readers.failures.logs import lines
from donewhen.readers.failures.traces import blocks, error, first_words, innermost_first, one_each
from donewhen.readers.phpunit import SUMMARY
from donewhen.readers.printed import last

HEADING = re.compile(
    r"There (?:was|were) \d{1,9} (?P<list>\w.*):|\d{1,9}\) (?P<test>[\w\\]+::\w+)(?: with data set .*| #\d.*)?"
)
END = re.compile(r"--|FAILURES!|ERRORS!")
PLACE = re.compile(r"(/[^:]{1,400}|[\w./-]{1,400}\.php):(\d{1,9})")


def read(log: str) -> Told | None:
    printed = lines(log)
    found = list(_failures(printed)) if last(SUMMARY, printed) else []
    return Told("phpunit", "test", one_each(found)) if found else None


def _failures(printed: list[str]) -> Iterator[Failure]:
    """Warnings, risky and skipped tests have numbered lists of their own."""
    is_failing = False
    for heading, begin, end in blocks(printed, HEADING):
        if heading["list"]:
            is_failing = heading["list"].startswith(("error", "failure"))
        elif is_failing:
            yield _failure(heading["test"], printed[begin:end])


def _failure(id: str, body: Sequence[str]) -> Failure:
    body = body[: next((at for at, line in enumerate(body) if END.fullmatch(line)), len(body))]
    said = first_words(body)
    kind, message = error(said) or ("", said)
    frames = innermost_first(Frame(at[1], int(at[2])) for line in body if (at := PLACE.fullmatch(line)))
    where = frames[-1] if frames else Frame("")
    return Failure(id=id, kind=kind, message=message, file=where.file, line=where.line, frames=frames)
