"""Interleaved output of programs that ran in parallel, separated by the name at the start of each line.

Docker Compose, concurrently, Turborepo and pnpm write such names. If most lines of a section have one, the names are
removed and the lines of each program are put together: a report cannot be read if lines of another program interrupt
it. Names of log levels are not program names. The content of a line is not interpreted.
"""

import re
from collections import Counter
from collections.abc import Sequence

TASK = r"(?:build|compile|lint|type-?check|check(?:-types)?|test|dev|start)(?::\w{1,40})?"
STYLES = tuple(
    re.compile(pattern)
    for pattern in (
        r"([A-Za-z][\w.@/-]{0,60}) {0,40}\|(?: |$)",
        r"\[([0-9]{1,2}|[A-Za-z@][\w.:@/-]{0,60})\](?: |$)",
        rf"((?:@[\w.-]{{1,60}}/)?[\w.-]{{1,60}}:{TASK}):(?: |$)",
        rf"([\w.-]{{1,60}}(?:/[\w.-]{{1,60}}){{0,6}} {TASK}):(?: |$)",
    )
)
LEVEL = re.compile(
    r"(?:INFO|NOTICE|WARN|WARNING|ERR|ERROR|DEBUG|TRACE|FATAL|CRITICAL|VERBOSE|SEVERE|javac|java|exec|echo|junit"
    r"|command|section)[0-9.]*",
    re.IGNORECASE,
)
FEWEST, FEWEST_AT_ALL = 5, 2
"""Minimum numbers of lines, because other lines have brackets and bars too: of a program, and in all. The second is
enough if all lines have a name."""
MOST_PARTS = 8


def apart(lines: list[str]) -> list[str]:
    """Return the lines unchanged, or ordered by program if a style is found."""
    for style in STYLES:
        found = [_named(style, line) for line in lines]
        if span := _span(found):
            first, end = span
            return [*lines[:first], *_by_program(found[first:end]), *lines[end:]]
    return lines


def _named(style: re.Pattern[str], line: str) -> tuple[str, str]:
    found = style.match(line)
    return (found[1], line[found.end() :]) if found and not LEVEL.fullmatch(found[1]) else ("", line)


def _span(found: Sequence[tuple[str, str]]) -> tuple[int, int] | None:
    """Return the section from the first to the last line of frequent programs; None if over 1/8 of it has no name."""
    counted = Counter(name for name, _ in found if name)
    nameless = sum(1 for name, rest in found if not name and rest)
    often = {name for name, count in counted.items() if count >= FEWEST} or (set(counted) if not nameless else set())
    places = [at for at, (name, _) in enumerate(found) if name in often]
    if len(places) < FEWEST_AT_ALL:
        return None
    first, end = places[0], places[-1] + 1
    nameless = sum(1 for name, _ in found[first:end] if not name)
    return (first, end) if nameless * MOST_PARTS <= end - first else None


def _by_program(found: Sequence[tuple[str, str]]) -> list[str]:
    """Group lines by program. A line without a name belongs to the program before it."""
    printed = dict[str, list[str]]()
    program = ""
    for name, rest in found:
        program = name or program
        printed.setdefault(program, []).append(rest)
    return [line for rows in printed.values() for line in rows]
