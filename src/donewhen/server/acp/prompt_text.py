"""The blocks of a prompt as text: an intent, or an answer. What cannot be used is refused in one line that says why."""

import os.path
from collections.abc import Sequence
from typing import Any
from urllib.parse import unquote, urlsplit

from donewhen.errors import BadInput
from donewhen.printable import one_line, shortened

LONGEST = 256 * 1024
"""Characters of a whole prompt."""
_REFUSED = {"image": "images", "audio": "audio"}


def text_of(blocks: Sequence[Any], directory: str) -> str:
    """Return the text of a prompt. Text of attached files follows as data. Raise BadInput for what cannot be used."""
    said: list[str] = []
    attached: list[str] = []
    for block in blocks:
        if block.type in _REFUSED:
            kind = _REFUSED[block.type]
            raise BadInput(f"{kind} cannot be used: describe in words what they show, and send the prompt again")
        if block.type == "text":
            said.append(block.text)
        elif block.type == "resource_link":
            said.append(f"`{_name(block.uri, directory)}`")
        elif hasattr(block.resource, "text"):
            name, text = _name(block.resource.uri, directory), block.resource.text
            said.append(f"`{name}`")
            attached.append(f"Attached by the person, `{name}`:\n{fenced(text)}")
        else:
            raise BadInput(f"{_name(block.resource.uri, directory)} is attached as bytes; only text can be attached")
    words = "".join(_apart(said)).strip()
    if not words:
        raise BadInput("the prompt is empty: say what you want to be done")
    whole = "\n\n".join([words, *attached])
    if len(whole) > LONGEST:
        raise BadInput(f"the prompt is longer than {LONGEST} characters: attach less, and name files instead")
    return whole


def _apart(parts: Sequence[str]) -> list[str]:
    """Put a space between two parts that would run into each other."""
    apart: list[str] = []
    for part in parts:
        if apart and apart[-1] and part and not apart[-1][-1].isspace() and not part[0].isspace():
            apart.append(" ")
        apart.append(part)
    return apart


def _name(uri: str, directory: str) -> str:
    """Return a path in the repository for the address of a file, else the address."""
    address = urlsplit(uri)
    if address.scheme != "file":
        return shortened(one_line(uri), 300)
    path = unquote(address.path)
    inside = os.path.relpath(path, directory)
    return one_line(path if inside.startswith("..") else inside)


def fenced(text: str, language: str = "") -> str:
    """Return a text as a code block that nothing in it can end."""
    longest = running = 0
    for character in text:
        running = running + 1 if character == "`" else 0
        longest = max(longest, running)
    fence = "`" * max(3, longest + 1)
    end = "" if text.endswith("\n") else "\n"
    return f"{fence}{language}\n{text}{end}{fence}"
