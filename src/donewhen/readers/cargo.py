"""What `cargo test` prints: one block for every test program, doc tests included, and their sum.

A block opens with `running N tests` and closes with `test result:`. A product may print such lines too, so a second
opening inside of a block is its talk, and a block's last result is the one that counts.
"""

import re
from dataclasses import dataclass, field

from donewhen.readers.printed import lines
from donewhen.readers.reading import Reading, Tests
from donewhen.readers.tally import names, tally

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


@dataclass(slots=True)
class _Block:
    announced: int
    tests: Tests | None = None
    failures: list[str] = field(default_factory=list[str])


def read_text(content: bytes) -> Reading | None:
    blocks = _blocks(lines(content))
    if not blocks:
        return None
    tests = sum((block.tests for block in blocks if block.tests), Tests())
    failures = names(name for block in blocks for name in block.failures)
    return Reading("cargo", tests, failures, all(block.tests is not None for block in blocks))


def _blocks(printed: list[str]) -> list[_Block]:
    """Names of failures stand below the last line that says `failures:`, right before the result."""
    blocks, is_open, listed = list[_Block](), False, list[str]()
    for line in printed:
        opening, result = OPENING.fullmatch(line), RESULT.fullmatch(line)
        if opening and not is_open:
            blocks.append(_Block(int(opening[1])))
            is_open = True
        elif result and blocks:
            passed, failed, ignored, measured = (int(result[group]) for group in range(1, 5))
            tests = tally(passed=passed + measured, failed=failed, skipped=ignored)
            if tests.collected == blocks[-1].announced:
                blocks[-1].tests, blocks[-1].failures = tests, listed if failed else []
                is_open = False
        elif BETWEEN.fullmatch(line):
            is_open = False
        if line == "failures:":
            listed = []
        elif name := LISTED.fullmatch(line):
            listed.append(name[1])
    return blocks
