"""The corpus of conflicting pairs: files of cases, each with base, ours, theirs, and the expected result.

A case starts with `#### name | path`; its texts start with `==== base` and so on. The last one is `merged`, or
`conflict` with words of the reason.
"""

import functools
import re
from dataclasses import dataclass
from pathlib import Path

CORPUS = Path(__file__).with_name("merging_corpus")
SECTION = re.compile(rb"^==== (\w+)\n(.*?)(?=^==== |\Z)", re.DOTALL | re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Case:
    name: str
    path: str
    base: bytes
    ours: bytes
    theirs: bytes
    merged: bytes | None
    why: str | None

    def __str__(self) -> str:
        return f"{self.path}: {self.name}"


@functools.cache
def cases() -> tuple[Case, ...]:
    blocks = [block for file in sorted(CORPUS.glob("*.txt")) for block in file.read_bytes().split(b"#### ")[1:]]
    return tuple(map(case_of, blocks))


def case_of(block: bytes) -> Case:
    head, _, body = block.partition(b"\n")
    name, _, path = head.decode().partition(" | ")
    texts = {section.decode(): text for section, text in SECTION.findall(body)}
    why = texts["conflict"].decode().strip() if "conflict" in texts else None
    return Case(name, path, texts["base"], texts["ours"], texts["theirs"], texts.get("merged"), why)
