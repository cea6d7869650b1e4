"""The end of an output, as it is shown: whole lines, valid text, no secrets, no control sequences except colours.

Colours are kept for people. `plain` removes them for models and files.
"""

import re
from collections.abc import Mapping

from donewhen.workspace.process.output import Output

LINES = 60
BYTES = 8 * 1024
SHORTEST_SECRET = 4
"""In characters. A shorter value occurs in too many words to be removed."""
_COLOUR = re.compile(r"\x1b\[[0-9;:]*m")
_SEQUENCE = re.compile(
    r"\x1b(?:\][^\x07\x1b]*(?:\x07|\x1b\\)?|[PX^_][^\x1b]*(?:\x1b\\)?|\[[0-?]*[ -/]*[@-~]|[ -/]*[0-~])"
)
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1a\x1c-\x1f\x7f-\x9f]")


def tail_of(output: Output, secrets: Mapping[str, str]) -> str:
    """Return the last lines of an output."""
    text = redacted(output.whole().decode("utf-8", "replace"), secrets)
    text = _CONTROL.sub("", _SEQUENCE.sub(_only_colours, text.replace("\r\n", "\n"))).replace("\r", "\n")
    lines = text.rstrip("\n").split("\n")[-LINES:]
    kept: list[str] = []
    left = BYTES
    for line in reversed(lines):
        left -= len(line.encode()) + 1
        if left < 0 and kept:
            break
        # A line that alone is longer than the limit keeps its end.
        kept.append(line if left >= 0 else "…" + line.encode()[-BYTES + 3 :].decode("utf-8", "ignore"))
    return "\n".join(reversed(kept))


def _only_colours(match: re.Match[str]) -> str:
    return match[0] if _COLOUR.fullmatch(match[0]) else ""


def plain(text: str) -> str:
    """Return the text without colours."""
    return _COLOUR.sub("", text)


def redacted(text: str, secrets: Mapping[str, str]) -> str:
    """Return the text with every secret value replaced by its name."""
    for name, value in sorted(secrets.items(), key=lambda item: -len(item[1])):
        if len(value) >= SHORTEST_SECRET:
            text = text.replace(value, f"[{name}]")
    return text
