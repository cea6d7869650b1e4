"""The marker: a hidden HTML comment with loop, session and finding, in what we write on a forge.

    <!-- donewhen loop=ci-sweeper session=20261118-ab12 finding=3f9c0d -->

The text beside it comes from agents. It cannot contain a marker: every start of an HTML comment in it is made visible.
A comment must not contain `--`, and the name of a loop may: there the second sign is written as `%2D`.
"""

import re

from donewhen.records import frozen

VALUE = re.compile(r"[A-Za-z0-9._:/-]{1,128}")
WRITTEN = r"((?:[A-Za-z0-9._:/-]|%2D){1,128})"
MARKER = re.compile(rf"<!-- donewhen loop={WRITTEN} session={WRITTEN} finding={WRITTEN} -->")
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
        values = (self.loop, self.session, self.finding)
        for value in values:
            if not VALUE.fullmatch(value):
                raise ValueError(f"{value!r} cannot be part of a marker")
        loop, session, finding = (value.replace("--", "-%2D") for value in values)
        return f"<!-- donewhen loop={loop} session={session} finding={finding} -->"


def marker_in(text: str) -> Marker | None:
    """Return the last marker of a text: ours stands at its end."""
    at = text.rfind("<!-- donewhen ")
    found = MARKER.match(text, at) if at >= 0 else None
    if found is None or any("--" in part for part in found.groups()):
        return None
    loop, session, finding = (part.replace("%2D", "-") for part in found.groups())
    return Marker(loop, session, finding)


def marked_text(text: str, marker: Marker) -> str:
    """Return a text of an agent with a marker at its end, not longer than a forge accepts."""
    shown = COMMENT_START.sub(lambda found: f"&lt;{found[0][1:]}", text[:LONGEST_TEXT])[:LONGEST_TEXT]
    is_cut = len(text) > LONGEST_TEXT or len(shown) == LONGEST_TEXT
    return f"{shown.replace(chr(0), '')}{CUT if is_cut else ''}\n\n{marker}\n"
