"""What failed in a run of `cargo test`: tests, and examples in documentation. What rustc says is read elsewhere."""

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from donewhen.readers.cargo import LINE, LISTED, PROGRAM
from donewhen.readers.failures.failure import Failure, Frame, Told
from donewhen.readers.failures.logs import lines
from donewhen.readers.failures.traces import innermost_first, kind_and_message, one_each, whole_message
from donewhen.readers.tally import within

OUTPUT = re.compile(r"---- (\S.{0,500}?) stdout ----")
LISTING = re.compile(r"failures:")
ENDED = re.compile(r"test result: FAILED\. .*")
PANIC = re.compile(
    r"thread '[^']{0,300}'(?: \(\d{1,20}\))? panicked at "
    r"(?:'(?P<said>.{0,600})', )?(?P<file>\S{1,400}?):(?P<line>\d{1,9}):\d{1,9}:?"
)
STEP = re.compile(r" +\d{1,4}: (?:0x[0-9a-f]{1,16} - )?(\S.{0,400})")
AT = re.compile(r" +at (\S{1,400}?):(\d{1,9})(?::\d{1,9})?")
HASH = re.compile(r"::h[0-9a-f]{16}$")
FULL = re.compile(r"Error: (.*)")


def read(log: str) -> Told | None:
    found = list(_failures(lines(log)))
    return Told("cargo test", "test", one_each(found)) if found else None


def _failures(printed: list[str]) -> Iterator[Failure]:
    """One test program after the other. Its failures are told first and listed then; those that told nothing too."""
    program, begun = "", 0
    for at, line in enumerate(printed):
        if named := PROGRAM.fullmatch(line):
            program, begun = named[1] or named[2] or named[3], at + 1
        elif ENDED.fullmatch(line):
            yield from _of_program(program.removeprefix("unittests "), printed[begun:at])
            begun = at + 1


def _of_program(program: str, printed: Sequence[str]) -> Iterator[Failure]:
    listing = max((at for at, line in enumerate(printed) if LISTING.fullmatch(line)), default=len(printed))
    heads = [(at, head[1]) for at, line in enumerate(printed[:listing]) if (head := OUTPUT.fullmatch(line))]
    for (at, name), (end, _) in zip(heads, [*heads, (listing, "")][1:], strict=True):
        yield _failure(within(program, LINE.sub("", name)), printed[at + 1 : end])
    told = {name for _, name in heads}
    for line in printed[listing + 1 :]:
        if (listed := LISTED.fullmatch(line)) and listed[1] not in told:
            yield Failure(id=within(program, LINE.sub("", listed[1])))


def _failure(id: str, body: Sequence[str]) -> Failure:
    panicked = next(((at, found) for at, line in enumerate(body) if (found := PANIC.fullmatch(line))), None)
    if panicked is None:
        said = next((found[1] for line in body if (found := FULL.fullmatch(line))), "")
        kind, message = ("Error", said) if said else kind_and_message(whole_message(body))
        return Failure(id=id, kind=kind, message=message)
    at, panic = panicked
    message = panic["said"] or _panicked_with(body[at + 1 : at + 5])
    frames = _frames(body[at + 1 :]) or (Frame(panic["file"], int(panic["line"])),)
    return Failure(id=id, kind="panic", message=message, file=panic["file"], line=int(panic["line"]), frames=frames)


def _panicked_with(body: Sequence[str]) -> str:
    """The message, with what was compared where the two stand below it."""
    sides = [line.strip() for line in body[1:3] if line.lstrip().startswith(("left: ", "right: "))]
    return " ".join([*body[:1], *sides])


def _frames(body: Sequence[str]) -> tuple[Frame, ...]:
    found = list[Frame]()
    for step, place in pairwise(body):
        if (called := STEP.fullmatch(step)) and (at := AT.fullmatch(place)):
            found.append(Frame(at[1], int(at[2]), HASH.sub("", called[1])))
    return innermost_first(found)
