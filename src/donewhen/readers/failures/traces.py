"""Traces and error lines in the forms that several tools share. Which of them a tool prints is known to its reader."""

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

from donewhen.readers.failures.failure import Failure, Frame

MOST_FAILURES = 1_000
MOST_TOLD = 2_000
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
LAST_PART = re.compile(r"\w+$")


def python_frames(body: Iterable[str]) -> tuple[Frame, ...]:
    """Python's order is ours: the innermost comes last."""
    found = (PYTHON.fullmatch(line) for line in body)
    return last_ones(Frame(frame[1], int(frame[2]), frame[3] or "") for frame in found if frame)


def script_frames(body: Iterable[str]) -> tuple[Frame, ...]:
    """JavaScript's traces begin with the innermost."""
    found = (_script_frame(line.removesuffix(" {")) for line in body)
    return innermost_first(frame for frame in found if frame)


def _script_frame(line: str) -> Frame | None:
    """`at function (file:1:2)`, `at file:1:2` or `❯ function file:1:2`."""
    called, position = SCRIPT.fullmatch(line), POSITION.search(line[-30:])
    if called is None or position is None:
        return None
    function, file = _called(called[1][: -len(position[0])])
    return Frame(file.removeprefix("file://"), int(position[1]), function)


def _called(text: str) -> tuple[str, str]:
    """Function and file. A directory may have a blank in its name; without brackets it is taken for a function then."""
    if " (" in text:
        function, _, file = text.partition(" (")
        return function, file
    if text.startswith(("/", "file://")):
        return "", text
    function, _, file = text.rpartition(" ")
    return function, file.lstrip("(")


def java_frames(body: Iterable[str]) -> tuple[Frame, ...]:
    """As JavaScript's, the innermost first. The file has no directory; the function has its package."""
    found = (JAVA.fullmatch(line) for line in body)
    return innermost_first(Frame(frame[2], int(frame[3]), frame[1]) for frame in found if frame)


def last_ones(frames: Iterable[Frame]) -> tuple[Frame, ...]:
    return tuple(frames)[-MOST_FRAMES:]


def innermost_first(frames: Iterable[Frame]) -> tuple[Frame, ...]:
    return tuple(frames)[:MOST_FRAMES][::-1]


def error(line: str) -> tuple[str, str] | None:
    """Kind and message of a line such as `KeyError: 'name'` or `TypeError [ERR_X]: …`."""
    found = ERROR.fullmatch(line.strip())
    if found is None or not _is_kind(found[1]) or (found[3] is None and not _is_alone(found[1])):
        return None
    return found[1], found[3] or ""


def _is_kind(word: str) -> bool:
    last = LAST_PART.search(word)
    return last is not None and (last[0][0].isupper() or last[0].lower().endswith(("error", "exception")))


def _is_alone(kind: str) -> bool:
    """An exception without a message is one word on a line, as many other things are."""
    return kind.endswith(("Error", "Exception", "Exit", "Interrupt", "Failure"))


def kind_and_message(line: str, kind: str = "") -> tuple[str, str]:
    """The same, with the whole line as the message where it names no kind."""
    return error(line) or (kind, line.strip())


def first_words(body: Iterable[str]) -> str:
    """The first line that says anything."""
    return next((line.strip() for line in body if line.strip()), "")


def whole_message(body: Sequence[str]) -> str:
    """The first line that says anything, and the next one where it ends in a colon, as assertions do."""
    said = (line.strip() for line in body if line.strip())
    first = next(said, "")
    return (
        " ".join(part for part in (first, next(said, ""), differences(body)) if part) if first.endswith(":") else first
    )


def differences(body: Sequence[str]) -> str:
    """What is there and should not be, and the other way round, of two values that were compared line by line."""
    begin = next((at + 1 for at, line in enumerate(body[:FARTHEST_DIFFERENCE]) if COMPARED.match(line)), len(body))
    lines = (line.strip() for line in body[begin : begin + FARTHEST_DIFFERENCE])
    found = (line for line in lines if DIFFERENT.fullmatch(line) and not COMPARED.match(line))
    return " ".join(islice(found, MOST_DIFFERENCES))


def bounded(found: Iterable[Failure]) -> Iterator[Failure]:
    """Not more than are of use, where each costs a look at many lines: a log may tell of one failure without end."""
    return islice(found, MOST_TOLD)


def one_each(found: Iterable[Failure]) -> tuple[Failure, ...]:
    """Every id once, within bounds. Of several tellings, as of the parameters of a test, the same one in any order."""
    kept: dict[str, Failure] = {}
    for failure in found:
        if len(kept) >= MOST_FAILURES:
            break
        known = kept.get(failure.id)
        if known is None or _rank(failure) < _rank(known):
            kept[failure.id] = failure
    return tuple(kept.values())


def _rank(failure: Failure) -> tuple[bool, str, str]:
    """The fullest first, then by its words: numbers differ from run to run."""
    return not failure.message, failure.kind, NUMBERS.sub("", failure.message[:LONGEST_MESSAGE])


def blocks(lines: Sequence[str], begins: re.Pattern[str]) -> list[tuple[re.Match[str], int, int]]:
    """What stands under every line that matches as a whole: the heading, where its body begins and where it ends."""
    heads = [(at, found) for at, line in enumerate(lines) if (found := begins.fullmatch(line))]
    ends = [*(at for at, _ in heads), len(lines)][1:]
    return [(found, at + 1, end) for (at, found), end in zip(heads, ends, strict=True)]
