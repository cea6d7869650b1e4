"""What `cargo test` prints: one block for every test program, doc tests included, and their sum.

The names of tests go with the program they are in, without what changes from build to build: its hash, and the line
of a doc test. They are told only when there are as many of them as the results say.

A block opens with `running N tests` and closes with `test result:`. A product may print such lines too, so a second
opening inside of a block is its talk, and a block's last result is the one that counts.
"""

import re
from dataclasses import dataclass, field

from donewhen.readers.printed import lines
from donewhen.readers.reading import Reading, Tests
from donewhen.readers.tally import names, tally, that_ran, within

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
PROGRAM = re.compile(r" +Running (?:(\S.*) \()?[`]?(?:[^`() ]*/)?([^/`() ]+?)-[0-9a-f]{16}\b.*| +(Doc-tests \S+)")
NAMED = re.compile(r"test (\S.*?) \.\.\.(?: (.*))?")
LINE = re.compile(r" \(line \d+\)")


@dataclass(slots=True)
class _Block:
    announced: int
    program: str
    tests: Tests | None = None
    failures: list[str] = field(default_factory=list[str])
    ran: list[str] = field(default_factory=list[str])

    def hear(self, name: str, outcome: str) -> None:
        """What a test prints may stand where its outcome should, but an ignored one prints nothing."""
        if not outcome.startswith("ignored"):
            self.ran.append(LINE.sub("", name))

    @property
    def is_told(self) -> bool:
        return self.tests is not None and len(self.ran) == self.tests.passed + self.tests.failed


def read_text(content: bytes) -> Reading | None:
    blocks = _blocks(lines(content))
    if not blocks:
        return None
    tests = sum((block.tests for block in blocks if block.tests), Tests())
    failures = names(name for block in blocks for name in block.failures)
    ran = that_ran(within(block.program, name) for block in blocks for name in block.ran)
    complete = all(block.tests is not None for block in blocks)
    return Reading("cargo", tests, failures, complete, ran if all(block.is_told for block in blocks) else ())


def _blocks(printed: list[str]) -> list[_Block]:
    """Names of failures stand below the last line that says `failures:`, right before the result."""
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
            is_open, program = False, _program(line) or program
        elif blocks and (test := NAMED.fullmatch(line)):
            blocks[-1].hear(test[1], test[2] or "")
        if line == "failures:":
            listed = []
        elif name := LISTED.fullmatch(line):
            listed.append(name[1])
    return blocks


def _program(line: str) -> str:
    found = PROGRAM.fullmatch(line)
    return " ".join(part for part in found.groups() if part) if found else ""
