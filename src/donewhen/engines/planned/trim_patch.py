"""Cuts a patch to a size limit: names every file, and gives each file a share of the space.

No I/O; the time is linear in the size of the patch. Uncut parts keep git's format. Every cut is marked in its place,
and a last line gives the total. The result is only for reading; it cannot be applied.
"""

import re
from collections.abc import Sequence

from donewhen.records import frozen

FILE = re.compile(r"^diff --git .*$", re.MULTILINE)
HUNK = re.compile(r"^@@ ", re.MULTILINE)
NEW_NAME = re.compile(r"^(?:rename|copy) to (.*)$", re.MULTILINE)
BINARY = re.compile(r"^(?:GIT binary patch|Binary files .* differ)$", re.MULTILINE)
DELETED = re.compile(r"^deleted file mode ", re.MULTILINE)
REMOVED_LINE = re.compile(r"^-", re.MULTILINE)
LONGEST_NAME = 300
LEAST_SHOWN = 400
"""A smaller piece of a file is not useful; then only the name is shown."""


@frozen
class _Part:
    """The part of one file that is always shown, and the part that may be cut."""

    heading: str
    body: str = ""


def trimmed_patch(patch: str, per_file: int = 8_000, total: int = 40_000) -> str:
    """Return the patch with at most `per_file` characters of each file's text, and at most `total` of all together."""
    starts = [match.start() for match in FILE.finditer(patch)]
    before = patch[: starts[0]] if starts else patch
    sections = zip(starts, [*starts[1:], len(patch)], strict=False)
    parts = [_Part("", before)] if before.strip() else []
    parts += [_part(patch[start:end]) for start, end in sections]
    limits = _limits([len(part.body) for part in parts], per_file, total)
    shown = [_cut(part.body, limit) for part, limit in zip(parts, limits, strict=True)]
    text = "".join(part.heading + body for part, (body, _) in zip(parts, shown, strict=True))
    lost = [missing for _, missing in shown if missing]
    if not lost:
        return text
    end = "" if text.endswith("\n") else "\n"
    return f"{text}{end}\ncut: {len(lost)} of {len(parts)} files, {sum(lost):,} characters\n"


def _part(section: str) -> _Part:
    hunk = HUNK.search(section)
    head = section[: hunk.start()] if hunk else section
    is_binary = BINARY.search(head) is not None
    if DELETED.search(head):
        lines = len(REMOVED_LINE.findall(section, hunk.start())) if hunk else 0
        return _Part(f"deleted: {_name(head)} ({'binary' if is_binary else f'{lines:,} lines'})\n")
    if is_binary:
        return _Part(f"binary: {_name(head)}\n")
    first, end, rest = section.partition("\n")
    return _Part(first + end, rest) if len(first) <= 2 * LONGEST_NAME else _Part(f"diff --git {_name(head)}\n", rest)


def _name(head: str) -> str:
    """Return the path of a file after the change, as git writes it."""
    if renamed := NEW_NAME.search(head):
        return _shortened(renamed[1])
    both = head.partition("\n")[0].removeprefix("diff --git ")
    # Without a rename both halves are the same path, which may contain spaces.
    half = both[: len(both) // 2]
    quote = '"' if half.startswith('"') else ""
    name = half.removeprefix(quote).removeprefix("a/")
    same = both == f"{half} {quote}b/{name}"
    return _shortened(quote + name if same else both)


def _shortened(name: str) -> str:
    half = LONGEST_NAME // 2 - 1
    return name if len(name) <= LONGEST_NAME else f"{name[:half]}…{name[-half:]}"


def _limits(sizes: Sequence[int], per_file: int, total: int) -> list[int]:
    """Return how much of each file can be shown; space that small files do not need goes to the large ones."""
    limits, left = [min(size, max(per_file, 0)) for size in sizes], max(total, 0)
    for number, limit in enumerate(sorted(limits)):
        share = left // (len(limits) - number)
        if limit > share:
            return _shared_limits(limits, share, left)
        left -= limit
    return limits


def _shared_limits(limits: Sequence[int], share: int, left: int) -> list[int]:
    """Give every large file the share. If the share is too small to be useful, only the first large files get a
    readable piece."""
    if share >= LEAST_SHOWN:
        return [min(limit, share) for limit in limits]
    readable, shared = left // LEAST_SHOWN, list[int]()
    for limit in limits:
        is_large = limit > share
        shared.append(limit if not is_large else min(limit, LEAST_SHOWN) if readable > 0 else 0)
        readable -= is_large
    return shared


def _cut(body: str, limit: int) -> tuple[str, int]:
    """Return the start and the end of a text, in whole lines if possible, and how many characters are missing."""
    if len(body) <= limit:
        return body, 0
    if limit < LEAST_SHOWN:
        return f"[{len(body):,} characters cut]\n", len(body)
    head, tail = body[: limit // 2], body[len(body) - limit // 2 :]
    # A line that takes most of the space is cut inside rather than left out.
    if (last := head.rfind("\n") + 1) >= len(head) // 2:
        head = head[:last]
    if (first := tail.find("\n") + 1) <= len(tail) // 2:
        tail = tail[first:]
    missing = len(body) - len(head) - len(tail)
    end = "" if head.endswith("\n") else "\n"
    return f"{head}{end}[{missing:,} characters cut]\n{tail}", missing
