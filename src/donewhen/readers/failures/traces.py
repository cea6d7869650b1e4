"""Parsers for traces and error lines in forms that several tools share. The tool's reader chooses the form."""

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

from donewhen.readers.failures.failure import Failure, Frame

MOST_FAILURES = 1_000
MOST_EXPENSIVE = 2_000
MOST_FRAMES = 60
LONGEST_MESSAGE = 600
LONGEST_ID = 500

PYTHON = re.compile(r' *File "([^"]{1,500})", line (\d{1,9})(?:, in (.{1,200}))?')
SCRIPT = re.compile(r"[# ]*(?:at |❯ )(?:async )?(\S.*)")
POSITION = re.compile(r":(\d{1,9}):\d{1,9}\)?$")
JAVA = re.compile(
    r"\s+at (?:[\w.@-]{0,80}/{1,2}){0,3}([\w.$<>]{1,300})\(([\w$]{1,200}\.(?:java|kt|scala|groovy)):(\d{1,9})\)"
)
ERROR = re.compile(r"(?:Uncaught )?([A-Za-z_][\w.$\\]{0,150}(?:::\w{1,80}){0,8})(?: \[(\w{1,80})\])?(?:: (.*)|:?)")
COMPARED = re.compile(r"\s*(?:\+ actual - expected|- Expected|\+ Received|\+ expected - actual)\b")
DIFFERENT = re.compile(r"[+-] .*")
FARTHEST_DIFFERENCE, MOST_DIFFERENCES = 40, 6
NUMBERS = re.compile(r"\d+")
LAST_PART = re.compile(r"\b\w+$")


def python_frames(body: Iterable[str]) -> tuple[Frame, ...]:
    """Return Python frames. Python prints the innermost last, as we need it."""
    found = (PYTHON.fullmatch(line) for line in body)
    return last_ones(Frame(frame[1], int(frame[2]), frame[3] or "") for frame in found if frame)


def script_frames(body: Iterable[str]) -> tuple[Frame, ...]:
    """Return JavaScript frames. JavaScript prints the innermost first."""
    found = (_script_frame(line.removesuffix(" {")) for line in body)
    return innermost_first(frame for frame in found if frame)


def _script_frame(line: str) -> Frame | None:
    """Parse `at function (file:1:2)`, `at file:1:2` or `❯ function file:1:2`."""
    called, position = SCRIPT.fullmatch(line), POSITION.search(line[-30:])
    if called is None or position is None:
        return None
    function, file = _called(called[1][: -len(position[0])])
    return Frame(file.removeprefix("file://"), int(position[1]), function)


def _called(text: str) -> tuple[str, str]:
    """Return function and file. Without brackets, a directory with a space in its name is misread as a function."""
    if " (" in text:
        function, _, file = text.partition(" (")
        return function, file
    if text.startswith(("/", "file://")):
        return "", text
    function, _, file = text.rpartition(" ")
    return function, file.lstrip("(")


def java_frames(body: Iterable[str]) -> tuple[Frame, ...]:
    """Return Java frames; Java prints the innermost first. The file has no directory; the function has its package."""
    found = (JAVA.fullmatch(line) for line in body)
    return innermost_first(Frame(frame[2], int(frame[3]), frame[1]) for frame in found if frame)


def last_ones(frames: Iterable[Frame]) -> tuple[Frame, ...]:
    return tuple(frames)[-MOST_FRAMES:]


def innermost_first(frames: Iterable[Frame]) -> tuple[Frame, ...]:
    return tuple(frames)[:MOST_FRAMES][::-1]


def error(line: str) -> tuple[str, str] | None:
    """Return kind and message of a line such as `KeyError: 'name'` or `TypeError [ERR_X]: …`."""
    found = ERROR.fullmatch(line.strip())
    if found is None or not _is_kind(found[1]) or (found[3] is None and not _is_alone(found[1])):
        return None
    return found[1], found[3] or ""


def _is_kind(word: str) -> bool:
    last = LAST_PART.search(word)
    return last is not None and (last[0][0].isupper() or last[0].lower().endswith(("error", "exception")))


def _is_alone(kind: str) -> bool:
    """Return True if a single word can be an exception without a message: many other lines are one word too."""
    return kind.endswith(("Error", "Exception", "Exit", "Interrupt", "Failure"))


def kind_and_message(line: str, kind: str = "") -> tuple[str, str]:
    """Like `error`, but return the whole line as the message if it names no kind."""
    return error(line) or (kind, line.strip())


def first_words(body: Iterable[str]) -> str:
    """Return the first line that is not blank."""
    return next((line.strip() for line in body if line.strip()), "")


def whole_message(body: Sequence[str]) -> str:
    """Return the first line that is not blank, and the next one if it ends in a colon, as assertions do."""
    filled = (line.strip() for line in body if line.strip())
    first = next(filled, "")
    return (
        " ".join(part for part in (first, next(filled, ""), differences(body)) if part)
        if first.endswith(":")
        else first
    )


def differences(body: Sequence[str]) -> str:
    """Return the lines that differ between two values that were compared line by line."""
    begin = next((at + 1 for at, line in enumerate(body[:FARTHEST_DIFFERENCE]) if COMPARED.match(line)), len(body))
    lines = (line.strip() for line in body[begin : begin + FARTHEST_DIFFERENCE])
    found = (line for line in lines if DIFFERENT.fullmatch(line) and not COMPARED.match(line))
    return " ".join(islice(found, MOST_DIFFERENCES))


def bounded(found: Iterable[Failure]) -> Iterator[Failure]:
    """Return at most `MOST_EXPENSIVE` failures where each is expensive: a log may report one failure endlessly."""
    return islice(found, MOST_EXPENSIVE)


def one_each(found: Iterable[Failure]) -> tuple[Failure, ...]:
    """Return every id once, within bounds.

    If an id was reported several times (for example for the parameters of a test), the choice does not depend on the
    order.
    """
    kept: dict[str, Failure] = {}
    for failure in found:
        if len(kept) >= MOST_FAILURES:
            break
        known = kept.get(failure.id)
        if known is None or _rank(failure) < _rank(known):
            kept[failure.id] = failure
    return tuple(kept.values())


def _rank(failure: Failure) -> tuple[bool, str, str]:
    """Sort key: failures with a message first, then by text without numbers, which differ from run to run."""
    return not failure.message, failure.kind, NUMBERS.sub("", failure.message[:LONGEST_MESSAGE])


def blocks(lines: Sequence[str], begins: re.Pattern[str]) -> list[tuple[re.Match[str], int, int]]:
    """Return heading, start and end of the body below every line that matches as a whole."""
    heads = [(at, found) for at, line in enumerate(lines) if (found := begins.fullmatch(line))]
    ends = [*(at for at, _ in heads), len(lines)][1:]
    return [(found, at + 1, end) for (at, found), end in zip(heads, ends, strict=True)]
