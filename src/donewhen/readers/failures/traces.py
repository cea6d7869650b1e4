"""Traces and error lines in the forms that several tools share. Which of them a tool prints is known to its reader."""

import re
from collections.abc import Iterable, Sequence

from donewhen.readers.failures.failure import Failure, Frame

MOST_FAILURES = 1_000
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
    function, _, file = called[1][: -len(position[0])].rpartition(" ")
    return Frame(file.lstrip("(").removeprefix("file://"), int(position[1]), function)


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


def whole_message(body: Iterable[str]) -> str:
    """The first line that says anything, and the next one where it ends in a colon, as assertions do."""
    said = (line.strip() for line in body if line.strip())
    first = next(said, "")
    return f"{first} {next(said, '')}".strip() if first.endswith(":") else first


def one_each(found: Iterable[Failure]) -> tuple[Failure, ...]:
    """Every id once, the first and fullest telling of it, within bounds."""
    kept: dict[str, Failure] = {}
    for failure in found:
        if len(kept) >= MOST_FAILURES:
            break
        known = kept.get(failure.id)
        if known is None or (not known.message and failure.message):
            kept[failure.id] = failure
    return tuple(kept.values())


def blocks(lines: Sequence[str], begins: re.Pattern[str]) -> list[tuple[re.Match[str], int, int]]:
    """What stands under every line that matches as a whole: the heading, where its body begins and where it ends."""
    heads = [(at, found) for at, line in enumerate(lines) if (found := begins.fullmatch(line))]
    ends = [*(at for at, _ in heads), len(lines)][1:]
    return [(found, at + 1, end) for (at, found), end in zip(heads, ends, strict=True)]
