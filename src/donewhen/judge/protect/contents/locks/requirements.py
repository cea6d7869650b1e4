"""The reader for lists of Python requirements, as pip reads them.

A requirement without a name (a directory, an address) and an option get their own text as a name: nothing is known
about what they install.
"""

import re
from collections.abc import Iterator

from donewhen.judge.protect.contents.accepted_part import FileUnreadable, lines
from donewhen.judge.protect.contents.locks.sources import PUBLIC, Entry, LockSource, located
from donewhen.judge.protect.names.judging_tools import normal
from donewhen.judge.protect.names.mixed_files import is_requirements

NAMED = re.compile(r"([A-Za-z0-9][\w.-]*+)\s*+(?>(?:\[[\w\s,.-]*+\])?)\s*+(@.*|[(<>=!~].*)?")
COMMENT = re.compile(r"(?:^|(?<=\s))#.*")
INCLUDED = re.compile(r"(?:-r|-c|--requirement|--constraint)[ =]?\s*((?!/)[^\s:]*)")
HASH = re.compile(r"--hash[= ]\S+")


def requirements(text: str) -> Iterator[Entry]:
    for line in _logical(text):
        included = INCLUDED.fullmatch(line)
        if included and is_requirements(included[1]):
            yield line, PUBLIC
        elif line.startswith("-"):
            yield line, LockSource("option", line)
        else:
            yield _requirement(HASH.sub("", line).partition(";")[0].strip())


def _requirement(line: str) -> Entry:
    found = NAMED.fullmatch(line)
    if found is None or " --" in line:
        return line, LockSource("option", line)
    name, rest = normal(found[1]), found[2] or ""
    return (name, located(name, rest[1:].strip())) if rest.startswith("@") else (name, PUBLIC)


def _logical(text: str) -> Iterator[str]:
    """Yield the lines without comments and empty ones. A backslash at the end continues a line."""
    begun: list[str] = []
    for line in lines(text):
        if "${" in line:
            raise FileUnreadable  # a variable of the environment
        if line.endswith("\\") and not line.lstrip().startswith("#"):
            begun.append(line[:-1])
            continue
        whole = COMMENT.sub("", "".join((*begun, line))).strip()
        begun = []
        if whole:
            yield whole
    if begun:
        yield "".join(begun).strip()
