"""Entries as text of a limited size, for agents. What others wrote stands on indented lines, cut."""

from collections.abc import Sequence

from donewhen.printable import one_line

MOST_BYTES = 16 * 1024
"""As much as is kept of the output of a command."""


def listing(heading: str, entries: Sequence[str]) -> str:
    """Return a heading and as many entries as fit; empty if there are none."""
    if not entries:
        return ""
    text, left = heading, len(entries)
    for entry in entries:
        if len((text + entry).encode("utf-8", "replace")) > MOST_BYTES and left < len(entries):
            break
        text, left = f"{text}\n\n{entry}", left - 1
    return f"{text}\n\n… and {left} more\n" if left else f"{text}\n"


def indented(text: str, most: int) -> str:
    """Return the beginning of a text of others as indented lines, each without control characters."""
    lines = [one_line(line).rstrip() for line in text[:most].splitlines() if line.strip()]
    if len(text) > most:
        lines.append("…")
    return "\n".join(f"  {line}" for line in lines)
