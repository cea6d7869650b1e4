"""What failed in a run of RSpec: examples, and files that could not be loaded."""

import re
from collections.abc import Iterator, Sequence

from donewhen.readers.failures.failure import Failure, Frame, Told
from donewhen.readers.failures.logs import lines
from donewhen.readers.failures.traces import blocks, first_words, innermost_first, one_each
from donewhen.readers.tally import within

HEADING = re.compile(
    r" {2}\d{1,6}\) (\S.{0,500})|An error occurred while loading (\S{1,400}?)\."
    r"|(Finished in .*|No examples found\.|Pending:.*)"
)
SHOWN = re.compile(r"\s*Failure/Error: ?(.*)")
KIND = re.compile(r"\s*([A-Z]\w*(?:::\w+){0,8}):")
PLACE = re.compile(r"\s*# (\S.{0,400}?):(\d{1,9})(?::in [`'](.{1,200})')?")
RERUN = re.compile(r"rspec '?(\S+?)(?::\d+|\[[\d:]+\]'?) # (.{1,500})")


def read(log: str) -> Told | None:
    printed = lines(log)
    files = {row[2]: row[1] for line in printed if (row := RERUN.fullmatch(line))}
    found = list(_failures(printed, files))
    if not found:
        return None
    return Told("rspec", "test" if files else "collect", one_each(found))


def _failures(printed: list[str], files: dict[str, str]) -> Iterator[Failure]:
    """A numbered list may be anybody's: an example shows what failed, and is asked for again at the end."""
    for heading, begin, end in blocks(printed, HEADING):
        body = printed[begin:end]
        if heading[2]:
            yield _failure(heading[2].removeprefix("./"), body)
        elif heading[1] and any(SHOWN.fullmatch(line) for line in body[:3]):
            yield _failure(within(files.get(heading[1], "").removeprefix("./"), heading[1]), body)


def _failure(id: str, body: Sequence[str]) -> Failure:
    at = next((n + 1 for n, line in enumerate(body) if SHOWN.fullmatch(line)), 0)
    said = [line for line in body[at : at + 40] if line.strip() and not PLACE.fullmatch(line)]
    named = next(((n, kind[1]) for n, line in enumerate(said) if (kind := KIND.fullmatch(line))), None)
    kind, message = (named[1], first_words(said[named[0] + 1 :])) if named else ("", " ".join(map(str.strip, said[:2])))
    places = (PLACE.fullmatch(line) for line in body)
    frames = innermost_first(Frame(place[1], int(place[2]), place[3] or "") for place in places if place)
    where = frames[-1] if frames else Frame("")
    return Failure(id=id, kind=kind, message=message, file=where.file, line=where.line, frames=frames)
