"""Reader of `cargo test`: one block for every test program, doc tests included, their sum, and the failures.

The names of tests include their program, without what changes from build to build: its hash, and the line of a doc
test. They are reported only if there are as many of them as the results say.

A block begins with `running N tests` and ends with `test result:`. A tested program may print such lines too. So a
second opening inside a block is program output, and the last result of a block counts.

Failures are tests and examples in documentation. The output of rustc is read by `compilers.rustc`.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from donewhen.readers.failures.failure import Failure, FailureReport, Frame
from donewhen.readers.failures.logs import lines as log_lines
from donewhen.readers.failures.traces import innermost_first, kind_and_message, one_each, whole_message
from donewhen.readers.printed_lines import lines
from donewhen.readers.result import RunnerReport, Tests, names, tally, that_ran, within

OPENING = re.compile(r"running (\d{1,9}) tests?")
RESULT = re.compile(
    r"test result: (?:ok|FAILED)\. (\d{1,9}) passed; (\d{1,9}) failed; (\d{1,9}) ignored; (\d{1,9}) measured; "
    r"\d{1,9} filtered out(?:; finished in [\d.]+s)?"
)
BETWEEN = re.compile(
    r" +Running (?:unittests |tests/|benches/|`|\S+ \().*| +Doc-tests \S+"
    r"|error: (?:test failed|\d+ targets? failed|doctest failed).*"
)
LISTED = re.compile(r" {4}(\S.*)")
PROGRAM = re.compile(r" +Running (?:(\S.*) \()?[`]?(?:[^`() ]*/)?([^/`() ]+?)-[0-9a-f]{16}\b| +(Doc-tests \S+)$")
NAMED = re.compile(r"test (\S.*?) \.\.\.(?: (.*))?", re.DOTALL)
LINE = re.compile(r" \(line \d+\)")


@dataclass(slots=True)
class _Block:
    announced: int
    program: str
    tests: Tests | None = None
    failures: list[str] = field(default_factory=list[str])
    ran: list[str] = field(default_factory=list[str])

    def add_test(self, name: str, outcome: str) -> None:
        """Record a test that ran. Its output may stand in place of its outcome, but an ignored test prints nothing."""
        if not outcome.startswith("ignored"):
            self.ran.append(LINE.sub("", name))

    @property
    def names_every_test(self) -> bool:
        return self.tests is not None and len(self.ran) == self.tests.passed + self.tests.failed


def read_text(content: bytes) -> RunnerReport | None:
    blocks = _blocks(lines(content))
    if not blocks:
        return None
    tests = sum((block.tests for block in blocks if block.tests), Tests())
    failures = names(name for block in blocks for name in block.failures)
    ran = that_ran(within(block.program, name) for block in blocks for name in block.ran)
    complete = all(block.tests is not None for block in blocks)
    return RunnerReport(
        "cargo", tests, failures, complete, ran if all(block.names_every_test for block in blocks) else ()
    )


def _blocks(printed: list[str]) -> list[_Block]:
    """Split the output into blocks. Names of failures follow the last `failures:` line, right before the result."""
    blocks, is_open, listed, program = list[_Block](), False, list[str](), ""
    for line in printed:
        opening, result = OPENING.fullmatch(line), RESULT.fullmatch(line)
        if opening and not is_open:
            blocks.append(_Block(int(opening[1]), program))
            is_open = True
        elif result and blocks:
            passed, failed, ignored, measured = (int(result[group]) for group in range(1, 5))
            tests = tally(passed=passed + measured, failed=failed, skipped=ignored)
            if tests.collected == blocks[-1].announced:
                blocks[-1].tests, blocks[-1].failures = tests, listed if failed else []
                is_open = False
        elif BETWEEN.fullmatch(line):
            named = PROGRAM.match(line)
            is_open, program = False, " ".join(filter(None, named.groups())) if named else program
        elif blocks and (test := NAMED.fullmatch(line)):
            blocks[-1].add_test(test[1], test[2] or "")
        if line == "failures:":
            listed = []
        elif name := LISTED.fullmatch(line):
            listed.append(name[1])
    return blocks


OUTPUT = re.compile(r"---- (\S.{0,500}?) stdout ----")
LISTING = re.compile(r"failures:")
PANIC = re.compile(
    r"thread '[^']{0,300}'(?: \(\d{1,20}\))? panicked at "
    r"(?:'(?P<said>.{0,600})', )?(?P<file>\S{1,400}?):(?P<line>\d{1,9}):\d{1,9}:?"
)
STEP = re.compile(r" +\d{1,4}: (?:0x[0-9a-f]{1,16} - )?(\S.{0,400})")
AT = re.compile(r" +at (\S{1,400}?):(\d{1,9})(?::\d{1,9})?")
HASH = re.compile(r"::h[0-9a-f]{16}$")
FULL = re.compile(r"Error: (.*)")
CLOSING = re.compile(r"test result: FAILED\. .*")


def read_failures(log: str) -> FailureReport | None:
    found = list(_failures(log_lines(log)))
    return FailureReport("cargo test", "test", one_each(found)) if found else None


def _failures(printed: list[str]) -> Iterator[Failure]:
    """Yield the failures of each test program: first those with output, then those that are only listed."""
    program, begun = "", 0
    for at, line in enumerate(printed):
        if named := PROGRAM.match(line):
            program, begun = named[1] or named[2] or named[3], at + 1
        elif CLOSING.fullmatch(line):
            yield from _of_program(program.removeprefix("unittests "), printed[begun:at])
            begun = at + 1


def _of_program(program: str, printed: Sequence[str]) -> Iterator[Failure]:
    listing = max((at for at, line in enumerate(printed) if LISTING.fullmatch(line)), default=len(printed))
    heads = [(at, head[1]) for at, line in enumerate(printed[:listing]) if (head := OUTPUT.fullmatch(line))]
    for (at, name), (end, _) in zip(heads, [*heads, (listing, "")][1:], strict=True):
        yield _failure(within(program, LINE.sub("", name)), printed[at + 1 : end])
    with_output = {name for _, name in heads}
    for line in printed[listing + 1 :]:
        if (listed := LISTED.fullmatch(line)) and listed[1] not in with_output:
            yield Failure(id=within(program, LINE.sub("", listed[1])))


def _failure(id: str, body: Sequence[str]) -> Failure:
    panicked = next(((at, found) for at, line in enumerate(body) if (found := PANIC.fullmatch(line))), None)
    if panicked is None:
        returned = next((found[1] for line in body if (found := FULL.fullmatch(line))), "")
        kind, message = ("Error", returned) if returned else kind_and_message(whole_message(body))
        return Failure(id=id, kind=kind, message=message)
    at, panic = panicked
    compared = [line.strip() for line in body[at + 2 : at + 4] if line.lstrip().startswith(("left: ", "right: "))]
    message = panic["said"] or " ".join([*body[at + 1 : at + 2], *compared])
    frames = _frames(body[at + 1 :]) or (Frame(panic["file"], int(panic["line"])),)
    return Failure(id=id, kind="panic", message=message, file=panic["file"], line=int(panic["line"]), frames=frames)


def _frames(body: Sequence[str]) -> tuple[Frame, ...]:
    found = list[Frame]()
    for step, place in pairwise(body):
        if (called := STEP.fullmatch(step)) and (at := AT.fullmatch(place)):
            found.append(Frame(at[1], int(at[2]), HASH.sub("", called[1])))
    return innermost_first(found)
