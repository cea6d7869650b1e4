"""The text of one git configuration file as keys and values, in order. Pure: what it includes is looked up elsewhere.

Lenient where git would stop: a line that makes no sense is passed over. Nobody obeys what is read here.
"""

import re
from collections.abc import Iterator

SECTION = re.compile(r'\[\s*([A-Za-z0-9.-]+)(?:\s+"((?:[^"\\\n]|\\.)*)")?\s*\]')
KEY = re.compile(r"([A-Za-z][A-Za-z0-9-]*)[ \t]*(=?)")
ESCAPES = {"n": "\n", "t": "\t", "b": "\b"}
LONGEST = 1 << 20


def entries(text: str) -> Iterator[tuple[str, str]]:
    """Each key, as `section.subsection.key` with only the subsection in its own case, and its value."""
    text = text[:LONGEST].removeprefix("\ufeff").replace("\r\n", "\n")
    section, place = "", 0
    while place < len(text):
        if text[place].isspace():
            place += 1
        elif found := SECTION.match(text, place):
            inner = re.sub(r"\\(.)", r"\1", found[2]) if found[2] is not None else None
            section = found[1].lower() + (f".{inner}" if inner is not None else "")
            place = found.end()
        elif found := KEY.match(text, place):
            value, place = _value(text, found.end()) if found[2] else ("true", _line_end(text, found.end()))
            yield f"{section}.{found[1].lower()}", value
        else:
            place = _line_end(text, place)


def _line_end(text: str, place: int) -> int:
    end = text.find("\n", place)
    return len(text) if end < 0 else end


def _value(text: str, place: int) -> tuple[str, int]:
    """A value from behind its `=`, and where it ends. Blanks at its ends are no part of it unless they are quoted."""
    kept: list[str] = []
    solid, quoted = 0, False
    while place < len(text) and text[place] != "\n":
        letter = text[place]
        if letter == "\\":
            place += 1
            follower = text[place : place + 1]
            kept.append("" if follower == "\n" else ESCAPES.get(follower, follower))
            solid = len(kept)
        elif letter == '"':
            quoted = not quoted
            solid = len(kept)
        elif letter in "#;" and not quoted:
            place = _line_end(text, place)
            break
        elif quoted or not letter.isspace() or kept:
            kept.append(letter)
            solid = len(kept) if quoted or not letter.isspace() else solid
        place += 1
    return "".join(kept[:solid]), place
