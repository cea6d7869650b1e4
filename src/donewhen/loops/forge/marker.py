"""The marker: a hidden HTML comment with loop, session and finding, in what we write on a forge.

    <!-- donewhen loop=ci-sweeper session=20261118-ab12 finding=3f9c0d -->

The text beside it comes from agents. It cannot contain a marker: every start of an HTML comment in it is made visible.
"""

import re

from donewhen.records import frozen

VALUE = re.compile(r"[A-Za-z0-9._:/-]{1,128}")
MARKER = re.compile(
    r"<!-- donewhen loop=([A-Za-z0-9._:/-]{1,128}) session=([A-Za-z0-9._:/-]{1,128})"
    r" finding=([A-Za-z0-9._:/-]{1,128}) -->"
)
COMMENT_START = re.compile(r"<!-*")
"""Also `<!` and `<!-`: what follows in the text could complete them."""
LONGEST_TEXT = 60_000
"""Characters. GitHub accepts 65,536 in a body; a character of several bytes counts as one there."""
CUT = "\n\n… (shortened)"


@frozen
class Marker:
    loop: str
    session: str
    finding: str

    def __str__(self) -> str:
        """Return the comment. Raise ValueError for a value that it could not be read back from."""
        for value in (self.loop, self.session, self.finding):
            if not VALUE.fullmatch(value) or "--" in value:
                raise ValueError(f"{value!r} cannot be part of a marker")
        return f"<!-- donewhen loop={self.loop} session={self.session} finding={self.finding} -->"


def marker_in(text: str) -> Marker | None:
    """Return the last marker of a text: ours stands at its end."""
    at = text.rfind("<!-- donewhen ")
    found = MARKER.match(text, at) if at >= 0 else None
    return Marker(found[1], found[2], found[3]) if found and not any("--" in part for part in found.groups()) else None


def marked_text(text: str, marker: Marker) -> str:
    """Return a text of an agent with a marker at its end, not longer than a forge accepts."""
    shown = COMMENT_START.sub(lambda found: f"&lt;{found[0][1:]}", text[:LONGEST_TEXT])[:LONGEST_TEXT]
    is_cut = len(text) > LONGEST_TEXT or len(shown) == LONGEST_TEXT
    return f"{shown.replace(chr(0), '')}{CUT if is_cut else ''}\n\n{marker}\n"
