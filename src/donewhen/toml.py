"""The only TOML reader of donewhen: it limits size, depth and numbers, and raises one exception for every error.

The standard parser recurses for each bracket, takes quadratic time for a key with many parts, and returns numbers that
cannot be printed. Files can come from untrusted sources, so these limits apply to every file. No value is interpreted.
"""

import os
import re
import stat
import tomllib
from pathlib import Path
from typing import Any, cast

MOST_BYTES = 1 << 20
DEEPEST = 100
MOST_PARTS = 50
"""Maximum number of parts of one dotted key."""
INTEGERS = range(-(2**63), 2**63)
"""The integers that TOML requires a reader to accept."""

_TOKEN = re.compile(
    r'"""(?>(?:[^"\\]++|\\.?|""?(?!"))*)(?:"{3,5})?'
    r"|'''(?>(?:[^']++|''?(?!'))*)(?:'{3,5})?"
    r"""|"(?>(?:[^"\\\n]++|\\.?)*)"?|'[^'\n]*+'|\#[^\n]*+|[\[\]{}.=,\n]""",
    re.DOTALL,
)
"""Matches whole strings and comments, and the characters that nest values or separate the parts of a key.

An unclosed string is a token too: a search that starts again after its first quote takes quadratic time.
"""


class BadToml(ValueError):
    """The text or file is not acceptable TOML. The message is one line without the file name."""


def file_content(file: Path) -> bytes:
    """Return the bytes of a regular file. Other files are not opened: a pipe would block, a device may react."""
    try:
        _require_regular(os.stat(file).st_mode)
        descriptor = os.open(file, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY)
        with os.fdopen(descriptor, "rb") as opened:
            _require_regular(os.fstat(descriptor).st_mode)
            content = opened.read(MOST_BYTES + 1)
    except OSError as error:
        raise BadToml(error.strerror or "cannot be read") from error
    if len(content) > MOST_BYTES:
        raise BadToml(f"larger than {MOST_BYTES >> 20} MiB")
    return content


def _require_regular(mode: int) -> None:
    if stat.S_ISDIR(mode):
        raise BadToml("is a directory, not a file")
    if not stat.S_ISREG(mode):
        raise BadToml("is a device, a pipe or a socket, not a file")


def parse_toml(content: bytes | str, most: int = MOST_BYTES) -> dict[str, Any]:
    """Return the tables in a TOML text. Raise `BadToml` for every error."""
    text = content if isinstance(content, str) else _decoded(content)
    if len(text) > most:
        raise BadToml(f"larger than {most >> 20} MiB")
    if text.startswith("\ufeff"):
        raise BadToml("begins with a byte order mark; save it as UTF-8 without one")
    _require_flat(text)
    try:
        found = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise BadToml(str(error)) from error
    except (ValueError, OverflowError) as error:  # from a number that is too long to convert
        raise BadToml("a number is too large") from error
    except RecursionError as error:
        raise BadToml("nested too deeply") from error
    _require_modest(found)
    return found


def _decoded(content: bytes) -> str:
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise BadToml(f"not UTF-8 at byte {error.start}") from error


def _require_flat(text: str) -> None:
    """Check bracket depth and key parts before the parser runs. The counts may be wrong for invalid TOML."""
    depth = parts = 0
    for token in _TOKEN.finditer(text):
        found = token[0]
        if found == ".":
            parts += 1
        elif found in ("[", "]", "{", "}", "=", ",", "\n"):
            parts = 0
            depth += (found in "[{") - (found in "]}")
        if depth > DEEPEST or parts >= MOST_PARTS:
            line = text.count("\n", 0, token.start()) + 1
            wrong = "values are nested too deeply" if depth > DEEPEST else f"a key has more than {MOST_PARTS} parts"
            raise BadToml(f"{wrong} (at line {line})")


def _require_modest(content: dict[str, Any]) -> None:
    """Refuse values that other code cannot print: dotted keys nest tables too; hexadecimal numbers have no limit."""
    pending: list[tuple[object, int]] = [(content, 0)]
    while pending:
        value, depth = pending.pop()
        if depth > DEEPEST:
            raise BadToml("tables are nested too deeply")
        if isinstance(value, dict):
            pending += [(inner, depth + 1) for inner in cast("dict[str, object]", value).values()]
        elif isinstance(value, list):
            pending += [(inner, depth + 1) for inner in cast("list[object]", value)]
        elif isinstance(value, int) and value not in INTEGERS:
            raise BadToml("a number is too large: TOML has integers of 64 bits")
