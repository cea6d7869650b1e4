"""Comments that a maker wants to write on issues and pull requests, in its last text.

COMMENT ON #12
The text of the comment, until the next such line or the end.
"""

import re

from donewhen.engines.typed_reply import cleaned
from donewhen.records import frozen

HEADING = re.compile(r"[ \t]{0,8}COMMENT ON #(\d{1,9})[ \t]{0,8}:?[ \t]{0,8}")
FORM = (
    "To comment on an issue or a pull request, write the line COMMENT ON #NUMBER in your last message, and the text "
    "below it. Write at most {most} comments."
)
MOST_COMMENTS = 5
ACTS = re.compile(
    r"@(?=[A-Za-z0-9])"  # a mention
    r"|^[ \t]*/(?=[A-Za-z][\w-]*(?:[ \t]|$))"  # a command for a bot, such as /merge
    r"|!(?=\[)|(?<!\w)<(?=(?:img|image|picture|source|video|audio|svg)\b)",  # a picture: its address is data
    re.IGNORECASE | re.MULTILINE,
)
"""What would notify, start or fetch something on a forge."""
UNSEEN = "\u200b"
"""Put behind such a sign, it makes it plain text: the text comes from an agent, which may repeat a stranger's."""


@frozen
class WantedComment:
    number: int
    text: str


def comments_in(text: str) -> tuple[WantedComment, ...]:
    """Return the comments of a text, at most one per number and `MOST_COMMENTS` in all."""
    found: dict[int, list[str]] = {}
    current: list[str] | None = None
    for line in cleaned(text).split("\n"):
        if heading := HEADING.fullmatch(line):
            current = found.setdefault(int(heading[1]), [])
        elif current is not None:
            current.append(line)
    wanted = [WantedComment(number, "\n".join(lines).strip()) for number, lines in found.items() if number]
    return tuple(one for one in wanted if one.text)[:MOST_COMMENTS]


def harmless(text: str) -> str:
    """Return a text that looks the same on a forge and has no effect there."""
    return ACTS.sub(lambda found: f"{found[0]}{UNSEEN}", text)
