"""Reader of errors that ended a program and were printed with a trace. The least reliable reader: used last.

It knows Python, JavaScript, Java, Ruby, PHP and Rust. Of several traces the last one counts: earlier ones were
caught, or led to it.
"""

import re
from collections.abc import Iterator, Sequence

from donewhen.readers.failures.failure import Failure, FailureReport, Frame
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
"""Lines searched from the end: a trace that ended a program is there, and checking a line may read many others."""


def read(log: str) -> FailureReport | None:
    printed = lines(log)
    for at in range(len(printed) - 1, max(len(printed) - FARTHEST, -1), -1):
        for failure in _ending_at(printed, at):
            return FailureReport("traceback", "test", (failure,))
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
    """Return a failure. There is no test name, so the id is made of the place and the kind."""
    own = top_of_project(frames) or frame
    id = ":".join(part for part in (portable(own.file), own.function, kind) if part)
    return Failure(id=id, kind=kind, message=message, file=frame.file, line=frame.line, frames=frames or (frame,))


def _python(body: Sequence[str]) -> Iterator[Failure]:
    for at, line in enumerate(body):
        if line and not line.startswith(" "):
            frames = python_frames(body[:at])
            if (raised := error(line)) and frames:
                yield _at(frames[-1], *raised, frames)
            return


def _stack(printed: Sequence[str], end: int) -> Iterator[Failure]:
    """Yield the failure of a stack. It goes up to the line that names the error; a message may have several lines."""
    begin = end
    while begin > 0 and end - begin < LONGEST_TRACE and printed[begin].lstrip().startswith(("at ", "... ")):
        begin -= 1
    stack = printed[begin + 1 : end + 1]
    frames = script_frames(stack) or java_frames(stack)
    for at in range(begin, max(begin - 12, -1), -1):
        plain = re.split(r"(?:Exception during run|Unhandled.{0,40}?): ", printed[at].strip())[-1]
        raised = error(plain) or ((found[1], found[2] or "") if (found := JAVA_ERROR.fullmatch(plain)) else None)
        if raised and frames:
            yield _at(frames[-1], *raised, frames)
            return
