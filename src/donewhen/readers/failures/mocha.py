"""What failed in a run of mocha: the numbered list behind its counts, or the exception that kept it from running."""

import re
from collections.abc import Iterator

from donewhen.readers.failures.failure import Failure, Frame, Phase, Told
from donewhen.readers.failures.logs import lines
from donewhen.readers.failures.places import portable, top_of_project
from donewhen.readers.failures.traces import blocks, kind_and_message, one_each, script_frames, whole_message
from donewhen.readers.mocha import FAILED, HOOK
from donewhen.readers.printed import last

FAILING = re.compile(r" {2}\d{1,9} failing")
BROKEN = re.compile(r"\s*(?:Exception during run: |✖ ERROR: )(.+)")
FOR = re.compile(r' for ".*"$')
MOST_SUITES = 20


def read(log: str) -> Told | None:
    printed = lines(log)
    if failing := last(FAILING, printed):
        found = list(_failures(printed[failing[0] + 1 :]))
        return Told("mocha", _phase(found), one_each(found)) if found else None
    if broken := last(BROKEN, printed):
        return Told("mocha", "collect", (_broken(broken[1][1], printed[broken[0] : broken[0] + 100]),))
    return None


def _phase(found: list[Failure]) -> Phase:
    return "setup" if all(HOOK.search(each.id) for each in found) else "test"


def _failures(printed: list[str]) -> Iterator[Failure]:
    """A name goes over several lines, one for each suite around the test, and ends with a colon."""
    for heading, begin, end in blocks(printed, FAILED):
        parts = [heading[1]]
        while not parts[-1].endswith(":") and len(parts) < MOST_SUITES and begin < end:
            parts.append(printed[begin].strip())
            begin += 1
        title = FOR.sub("", " > ".join(part for part in parts if part).removesuffix(":"))
        yield _failure(title, whole_message(printed[begin:end]), printed[begin:end])


def _failure(title: str, said: str, body: list[str]) -> Failure:
    kind, message = kind_and_message(said)
    frames = script_frames(body)
    where = frames[-1] if frames else Frame("")
    return Failure(id=title, kind=kind, message=message, file=where.file, line=where.line, frames=frames)


def _broken(said: str, body: list[str]) -> Failure:
    own = top_of_project(script_frames(body))
    return _failure(portable(own.file) if own else "mocha", said, body)
