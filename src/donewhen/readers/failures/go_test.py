"""What failed in a run of `go test`, with and without `-v`, and as the events of `go test -json`.

A test fails with its subtests and is left out then. Numbers in the name of a subtest are mostly parameters and are
taken out. A package that could not be built is named only beside failing tests: the compiler's reader tells why.
"""

import json
import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from donewhen.readers.failures.failure import Failure, Frame, Phase, Told
from donewhen.readers.failures.logs import lines
from donewhen.readers.failures.traces import first_words, innermost_first, one_each
from donewhen.readers.json import fields, words
from donewhen.readers.tally import within

NAMED = re.compile(r"(?:.*[^ ])? *(--- (?:FAIL|PASS|SKIP): |=== (?:RUN|CONT|NAME) +)(\S{1,500})(?: \(\d+\.\d+s\))?")
PACKAGE = re.compile(r"(ok {2}|FAIL|\? {3})\t(\S{1,400})(?:\t| )(.*)")
SAID = re.compile(r" +(\w[\w.-]{0,200}\.go):(\d{1,9}): ?(.*)")
PANIC = re.compile(r"(?:panic: |fatal error: )(.{0,600}?)(?: \[recovered\].*)?")
CALL = re.compile(r"([^\s(]{1,400}(?:\(\*\w{1,100}\)[^\s(]{0,200})?)\(")
PLACE = re.compile(r"\t(\S.{0,400}?\.(?:go|s)):(\d{1,9})(?: \+0x[0-9a-f]{1,16})?")
ASSERTED = re.compile(r"\s+Error:\s+(\S.*)")
NUMBERS = re.compile(r"\d+")
OUT_OF_TIME = re.compile(r"panic: test timed out after .*")


def read(log: str) -> Told | None:
    printed = _plain(lines(log))
    found = list(_failures(printed))
    if not found:
        return None
    phase: Phase = "timeout" if any(OUT_OF_TIME.fullmatch(line) for line in printed) else "test"
    return Told("go test", phase, one_each(_without_parents(found)))


def _plain(printed: list[str]) -> list[str]:
    """The output inside of events, package by package, since packages are tested side by side."""
    if not any(line.startswith('{"') and '"Action":' in line for line in printed):
        return printed
    by_package = dict[str, list[str]]()
    for line in printed:
        if line.startswith('{"') and '"Output"' in line:
            event = _event(line)
            by_package.setdefault(words(event.get("Package")), []).append(words(event.get("Output")))
    return [line.rstrip() for outputs in by_package.values() for line in "".join(outputs).split("\n")]


def _event(line: str) -> dict[str, object]:
    try:
        return dict(fields(json.loads(line)))
    except (ValueError, RecursionError):
        return {}


def _failures(printed: list[str]) -> Iterator[Failure]:
    """The package is named behind its tests."""
    begun = 0
    for at, line in enumerate(printed):
        if package := PACKAGE.fullmatch(line):
            if package[1] == "FAIL":
                yield from _of_package(package[2], printed[begun:at])
            begun = at + 1
    yield from _of_package("", printed[begun:])


def _of_package(package: str, printed: Sequence[str]) -> Iterator[Failure]:
    """What is said belongs to the test that was named last: as running with `-v`, as failed without."""
    said, failed, name = dict[str, list[str]](), dict[str, None](), ""
    for line in printed:
        if named := NAMED.fullmatch(line):
            name = named[2]
            if named[1] == "--- FAIL: ":
                failed[name] = None
        else:
            said.setdefault(name, []).append(line)
    for name in failed:
        yield _failure(_id(package, name), said.get(name, []))
    if not failed and any(PANIC.fullmatch(line) for line in printed):
        yield _failure(_id(package, name), said.get(name, []))


def _id(package: str, name: str) -> str:
    test, of, subtest = name.partition("/")
    return within(package, test + of + NUMBERS.sub("N", subtest))


def _failure(id: str, body: Sequence[str]) -> Failure:
    if any(PANIC.fullmatch(line) for line in body):
        return _panic(id, body)
    said = next((found for line in body if (found := SAID.fullmatch(line))), None)
    if said is None:
        return Failure(id=id)
    message = said[3] or next((found[1] for line in body if (found := ASSERTED.fullmatch(line))), first_words(body))
    test = id.rpartition(" > ")[2].partition("/")[0]
    frame = Frame(said[1], int(said[2]), test)
    return Failure(id=id, message=message, file=said[1], line=int(said[2]), frames=(frame,))


def _panic(id: str, body: Sequence[str]) -> Failure:
    message = next((found[1] for line in body if (found := PANIC.fullmatch(line))), "")
    places = ((CALL.match(call), PLACE.fullmatch(place)) for call, place in pairwise(body))
    frames = innermost_first(Frame(at[1], int(at[2]), call[1]) for call, at in places if call and at)
    where = frames[-1] if frames else Frame("")
    return Failure(id=id, kind="panic", message=message, file=where.file, line=where.line, frames=frames)


def _without_parents(found: list[Failure]) -> list[Failure]:
    """A test that said nothing itself failed because of a subtest."""
    ids = {each.id for each in found}
    above = (each.id[:at] for each in found for at, letter in enumerate(each.id) if letter == "/")
    parents = {id for id in above if id in ids}
    return [each for each in found if each.message or each.id not in parents]
