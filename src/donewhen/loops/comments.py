"""Comments that a maker wants to write on issues and pull requests, in its last text, and where they may be written.

COMMENT ON #12
The text of the comment, until the next such line or the end.
"""

import re
from collections.abc import Container, Sequence

from donewhen.engines.typed_reply import cleaned
from donewhen.loops.forge.forge import Comment
from donewhen.records import frozen

HEADING = re.compile(r"[ \t]{0,8}COMMENT ON #(\d{1,9})[ \t]{0,8}:?[ \t]{0,8}")
FORM = (
    "To comment on an issue or a pull request, write the line COMMENT ON #NUMBER in your last message, and the text "
    "below it. Write at most {most} comments."
)
MOST_COMMENTS = 5
MOST_OURS = 3
"""Comments of all loops on one issue or pull request, ever."""
ACTS = re.compile(
    r"@(?=[A-Za-z0-9])"  # a mention
    r"|^[ \t>*+-]*/(?=[A-Za-z][\w-]*(?:[ \t]|$))"  # a command for a bot, such as /merge, also in a list or a quotation
    r"|!(?=\[)|<(?=(?:img|image|picture|source|video|audio|svg)[\s/])",  # a picture: its address is data
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


def why_not_to_comment(
    comments: Sequence[Comment], ours: Container[int], author: str, login: str, is_pull: bool
) -> str:
    """Return why a loop does not comment on an issue or a pull request; empty if it may.

    `ours` are the ids of the comments that loops wrote, `author` has opened it, and `login` is the name of our account.
    Comments of bots change nothing. Beside the author, people may only take part in a pull request, or address us.
    """
    talk = [one for one in comments if one.id in ours or not one.author.is_bot]
    if talk and talk[-1].id in ours:
        return "our own comment is the last one"
    if sum(one.id in ours for one in talk) >= MOST_OURS:
        return f"{MOST_OURS} comments of loops are there already"
    is_among_others = any(one.id not in ours and one.author.login != author for one in talk)
    if is_among_others and not is_pull and not _addresses(talk[-1].body, login.removesuffix("[bot]")):
        return "other people discuss it"
    return ""


def _addresses(text: str, name: str) -> bool:
    return bool(name) and re.search(rf"(?<!\w)@{re.escape(name)}(?![\w-])", text, re.IGNORECASE) is not None


def harmless(text: str) -> str:
    """Return a text that looks the same on a forge and has no effect there."""
    return ACTS.sub(lambda found: f"{found[0]}{UNSEEN}", text)
