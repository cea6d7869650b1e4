"""Templates of a log that no reader understands: its lines that look like errors, without the variable parts.

This is the Drain algorithm without its tree: a line is split into words, and a word with a digit or a path is a
variable. Templates are good enough to group logs, not to decide that two logs have the same cause.
"""

import re
from collections.abc import Iterable, Sequence
from itertools import islice

from donewhen.memory.masking import mask

MOST_LINES = 12
MOST_TRIED = 1_000
"""A log may repeat one line many times, and computing a template costs more than testing a line: hence the limit."""
MOST_READ = 20_000
LAST_RESORT = 3
LONGEST = 400

ALARMING = re.compile(
    r"\b(?:error|errors|fail|fails|failed|failure|fatal|panic|exception|abort(?:ed)?|cannot|can't|could not|unable"
    r"|not found|no such|denied|refused|undefined|invalid|missing|killed|timed out|timeout|segmentation fault"
    r"|core dumped|conflict|unexpected|unsupported|out of memory)\b|\w(?:Error|Exception)\b",
    re.IGNORECASE,
)
CALM = re.compile(r"\b(?:0|no) (?:errors?|failures?|failed)\b|\bfail(?:ed|ures?)?[:=] ?0\b", re.IGNORECASE)
OUT_OF_TIME = re.compile(
    r"timed out|timeout exceeded|exceeded the (?:maximum execution|time)|deadline exceeded|time limit"
    r"|sending signal TERM",
    re.IGNORECASE,
)
VARIABLE = re.compile(r"\S*(?:<\w+>|[\d/\\])\S*")


def templates(lines: Sequence[str]) -> tuple[str, ...]:
    """Return templates of the last lines that look like errors, the last one first; without any, of the last lines."""
    seen = [line for line in lines[-MOST_READ:] if line.strip()]
    found = _distinct(
        line for line in reversed(seen) if ALARMING.search(line[:LONGEST]) and not CALM.search(line[:LONGEST])
    )
    return found or _distinct(reversed(seen[-LAST_RESORT:]))


def has_timeout(lines: Sequence[str]) -> bool:
    """Return whether one of the last lines reports a timeout. A timeout reported earlier in a log does not count."""
    return any(OUT_OF_TIME.search(line[:LONGEST]) for line in lines[-20:])


def _distinct(lines: Iterable[str]) -> tuple[str, ...]:
    kept: dict[str, None] = {}
    for line in islice(lines, MOST_TRIED):
        if len(kept) >= MOST_LINES:
            break
        kept[VARIABLE.sub("<*>", mask(line[:LONGEST]))] = None
    return tuple(kept)
