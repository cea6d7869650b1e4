"""Parser of `info/alternates`, the list of borrowed object directories, as git parses it. Pure."""

import re
from collections.abc import Iterator

LONGEST = 1 << 20
"""A longer list is refused, never truncated: git would read all of it."""
SPECIAL = re.compile(rb'["\\]')
ESCAPE = re.compile(rb'\\(?:([abfnrtv"\\])|([0-3][0-7]{2}))')
LETTERS = dict(zip(b'abfnrtv"\\', b'\a\b\f\n\r\t\v"\\', strict=True))


def listed_paths(content: bytes) -> Iterator[bytes]:
    """Yield each path, absolute or relative to the object directory."""
    content = content.partition(b"\0")[0]
    at = 0
    while at < len(content):
        path, end = _quoted(content, at) if content.startswith(b'"', at) else (None, at)
        if path is None:  # also if the quoting is invalid
            end = content.find(b"\n", at)
            end = len(content) if end < 0 else end
            path = b"" if content.startswith(b"#", at) else content[at:end]
        path = path.partition(b"\0")[0]
        if path:
            yield path
        at = end + 1


def _quoted(content: bytes, at: int) -> tuple[bytes | None, int]:
    """Return a path in C-style quotes, and where it ends; None if the quoting is invalid."""
    found: list[bytes] = []
    at += 1
    while special := SPECIAL.search(content, at):
        found.append(content[at : special.start()])
        if special[0] == b'"':
            return b"".join(found), special.end()
        escape = ESCAPE.match(content, special.start())
        if escape is None:
            break
        found.append(bytes([LETTERS[escape[1][0]] if escape[1] else int(escape[2], 8)]))
        at = escape.end()
    return None, at
