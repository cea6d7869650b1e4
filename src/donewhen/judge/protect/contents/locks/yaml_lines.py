"""A reader for the YAML that package managers write: nested mappings, one key per line, and short flow mappings.

Anything else (anchors, aliases, tags, tabs, several documents, keys with escapes) makes the text unreadable, so that
no other reader can see something different in a text that is accepted. Lists and block texts are skipped.
"""

import re
from collections.abc import Iterator

from donewhen.judge.protect.contents.accepted_part import FileUnreadable, lines

Leaf = tuple[tuple[str, ...], str]
NO_KEY = tuple("\"'#&*!|>%@`?[]{},:- ")
"""What a key without quotes does not start with."""
PLAIN = re.compile(r"""[^\s"'#&*!|>%@`\[\]{},](?>(?:[^#:,{}\[\]]|:(?! |$)|(?<! )\#)*)""")
QUOTED = re.compile(r"""'(?>(?:[^']|'')*)'|"(?>(?:[^"\\]|\\.)*)\"""")
TEXT = re.compile(r"""[^\s"'#&*!|>%@`\[\]{}](?>(?:[^#:]|:(?! |$)|(?<! )\#)*)""")
BLOCK = re.compile(r"[|>][-+]?")
DEEPEST = 20


def yaml_leaves(text: str) -> Iterator[Leaf]:
    """Yield every value that is a text, with the keys above it. Raise FileUnreadable for anything unusual."""
    above: list[tuple[int, str]] = []
    skipped = -1
    for line in _with_long_keys(lines(text)):
        stripped = line.lstrip(" ")
        indent = len(line) - len(stripped)
        if not stripped or stripped.startswith("#") or (0 <= skipped < indent):
            continue
        skipped = -1
        if stripped.startswith("- ") and above:
            continue
        key, value = _key_and_value(stripped)
        while above and above[-1][0] >= indent:
            above.pop()
        above.append((indent, key))
        if len(above) > DEEPEST:
            raise FileUnreadable
        path = tuple(key for _, key in above)
        if BLOCK.fullmatch(value):
            skipped = indent
        elif value:
            yield from _values(path, value)


def _with_long_keys(given: list[str]) -> Iterator[str]:
    """Yield the lines. A very long key has a line of its own, and the colon follows on the next one."""
    key = ""
    for line in given:
        if key:
            if line != ":":
                raise FileUnreadable
            yield key + line
            key = ""
        elif line.startswith("? "):
            key = line[2:]
        else:
            yield line


def _key_and_value(line: str) -> tuple[str, str]:
    """Return the two parts of `key: value`. The value may be empty."""
    quote = line[0]
    if quote in "\"'":
        key, _, rest = line[1:].partition(quote)
        is_clear = rest == ":" or rest.startswith(": ")
    else:
        key, colon, rest = f"{line} ".partition(": ")
        rest = f": {rest}"
        is_clear = bool(colon) and not key.startswith(NO_KEY) and not key.endswith(" ") and " #" not in key
    if not is_clear or "\\" in key or "\t" in line:
        raise FileUnreadable
    return key, rest[1:].strip(" ")


def _values(path: tuple[str, ...], value: str) -> Iterator[Leaf]:
    if value.startswith("["):
        if "{" in value or not value.endswith("]"):
            raise FileUnreadable
        return
    if not value.startswith("{"):
        yield path, _text(value, TEXT)
        return
    if not value.endswith("}"):
        raise FileUnreadable
    for pair in value[1:-1].split(", "):
        key, colon, inner = pair.strip(" ").partition(": ")
        if colon or key:
            yield (*path, _text(key, PLAIN)), _text(inner.strip(" "), PLAIN)


def _text(value: str, plain: re.Pattern[str]) -> str:
    if plain.fullmatch(value):
        return value
    if QUOTED.fullmatch(value):
        # A text with escapes is not decoded. The colon keeps it from being taken for a version.
        return f":{value}" if "\\" in value else value[1:-1].replace("''", "'")
    raise FileUnreadable
