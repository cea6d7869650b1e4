"""What pytest prints at its end. Its report in XML is read by `junit`."""

import re

from donewhen.readers.printed import last, lines, worded
from donewhen.readers.reading import Reading
from donewhen.readers.tally import names, tally

SUMMARY = re.compile(
    r"(?:=+ )?"
    r"(no tests ran|no tests collected[^=]{0,80}|\d{1,9} [a-z]+(?: [a-z]+)?(?:, \d{1,9} [a-z]+(?: [a-z]+)?){0,12})"
    r" in \d+\.\d+ ?s(?:econds)?(?: \(\d+(?: days?, \d+)?:\d\d:\d\d\))?(?: =+)?"
)
HEADER = re.compile(r"=+ short test summary info =+")
FAILED = re.compile(r"(?:FAILED|ERROR|SUBFAILED\S*) (\S.*?)(?: - .*)?")


def read_text(content: bytes) -> Reading | None:
    printed = lines(content)
    found = last(SUMMARY, printed)
    if found is None:
        return None
    at, summary = found
    counts = worded(summary[1])
    tests = tally(
        passed=counts.get("passed", 0) + counts.get("xpassed", 0),
        failed=sum(counts.get(word, 0) for word in ("failed", "error", "errors")),
        skipped=counts.get("skipped", 0) + counts.get("xfailed", 0),
    )
    return Reading("pytest", tests, names(_failures(printed[:at])))


def _failures(printed: list[str]) -> list[str]:
    """The names below the last header of the short summary."""
    header = last(HEADER, printed)
    listed = printed[header[0] + 1 :] if header else []
    return [name[1] for line in listed if (name := FAILED.fullmatch(line))]
