"""Errors that ended a program and were printed with their trace, whoever ran it. The least sure reader: asked last.

Python, JavaScript, Java, Ruby, PHP, Rust and Go are known. Of several traces the last one counts: what came before was
caught, or led to it.
"""

import re
from collections.abc import Iterator, Sequence

from donewhen.readers.failures.failure import Failure, Frame, Told
from donewhen.readers.failures.logs import lines
from donewhen.readers.failures.places import portable, top_of_project
from donewhen.readers.failures.traces import JAVA, error, java_frames, python_frames, script_frames

PYTHON = re.compile(r"\s*Traceback \(most recent call last\):")
SCRIPT = re.compile(r"\s+at .{1,400}:\d{1,9}:\d{1,9}\)?(?: \{)?")
JAVA_ERROR = re.compile(
    r'(?:Exception in thread "[^"]{0,200}" |Caused by: )?((?:\w{1,80}\.){1,20}\w{1,120})(?:: (.*))?'
)
RUST = re.compile(
    r"thread '[^']{0,300}'(?: \(\d{1,20}\))? panicked at (?:'(.{0,600})', )?(\S{1,400}?):(\d{1,9}):\d{1,9}:?"
)
PHP = re.compile(
    r"(?:PHP )?Fatal error: {1,2}(?:Uncaught (\w[\w\\]{0,200}): )?(.*?) in (/\S{1,400}?)(?::| on line )(\d{1,9})"
)
RUBY = re.compile(r"(\S{1,400}\.rb):(\d{1,9}):in [`'](.{1,200})': (.{0,600}) \(([A-Z]\w*(?:::\w{1,80}){0,8})\)")
LONGEST_TRACE = 400
FARTHEST = 50_000
"""Lines from the end: a trace that ended a program stands there, and each may cost a look at many lines."""


def read(log: str) -> Told | None:
    printed = lines(log)
    for at in range(len(printed) - 1, max(len(printed) - FARTHEST, -1), -1):
        for failure in _ending_at(printed, at):
            return Told("traceback", "test", (failure,))
    return None


def _ending_at(printed: Sequence[str], at: int) -> Iterator[Failure]:
    line = printed[at]
    if PYTHON.fullmatch(line):
        yield from _python(printed[at + 1 : at + LONGEST_TRACE])
    elif _ends_a_stack(printed, at) and (SCRIPT.fullmatch(line) or JAVA.fullmatch(line)):
        yield from _stack(printed, at)
    elif panic := RUST.fullmatch(line):
        yield _at(Frame(panic[2], int(panic[3])), "panic", panic[1] or (printed[at + 1 : at + 2] or [""])[0])
    elif fatal := PHP.fullmatch(line):
        yield _at(Frame(fatal[3], int(fatal[4])), fatal[1] or "Fatal error", fatal[2])
    elif raised := RUBY.fullmatch(line):
        yield _at(Frame(raised[1], int(raised[2]), raised[3]), raised[5], raised[4])


def _ends_a_stack(printed: Sequence[str], at: int) -> bool:
    return printed[at].lstrip().startswith("at ") and not "".join(printed[at + 1 : at + 2]).lstrip().startswith("at ")


def _at(frame: Frame, kind: str, message: str, frames: tuple[Frame, ...] = ()) -> Failure:
    """There is no test to name, so the place and the kind are the id."""
    own = top_of_project(frames) or frame
    id = ":".join(part for part in (portable(own.file), own.function, kind) if part)
    return Failure(id=id, kind=kind, message=message, file=frame.file, line=frame.line, frames=frames or (frame,))


def _python(body: Sequence[str]) -> Iterator[Failure]:
    for at, line in enumerate(body):
        if line and not line.startswith(" "):
            frames = python_frames(body[:at])
            if (said := error(line)) and frames:
                yield _at(frames[-1], *said, frames)
            return


def _stack(printed: Sequence[str], end: int) -> Iterator[Failure]:
    """The lines of a stack go up to the one that says what was thrown; a message may have several lines."""
    begin = end
    while begin > 0 and end - begin < LONGEST_TRACE and printed[begin].lstrip().startswith(("at ", "... ")):
        begin -= 1
    stack = printed[begin + 1 : end + 1]
    frames = script_frames(stack) or java_frames(stack)
    for at in range(begin, max(begin - 12, -1), -1):
        plain = re.sub(r".*?(?:Exception during run|Unhandled.{0,40}?): ", "", printed[at].strip())
        said = error(plain) or ((found[1], found[2] or "") if (found := JAVA_ERROR.fullmatch(plain)) else None)
        if said and frames:
            yield _at(frames[-1], *said, frames)
            return
