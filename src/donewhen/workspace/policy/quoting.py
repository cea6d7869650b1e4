"""Removes quotes and escapes of the shell and expands braces. Text in, text out; no variables, no syntax tree."""

import re
from itertools import pairwise, product

Piece = tuple[str, bool]
"""Text, and whether special characters in it still have a meaning (it was neither quoted nor escaped)."""

MOST_BRACES = 64
"""A word with more alternatives than this is not expanded; it counts as unknown."""

_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_IN_DOUBLE = re.compile(r'\\([$`"\\])')
_ANSI = re.compile(
    r"\\(?:x([0-9a-fA-F]{1,2})|u([0-9a-fA-F]{1,4})|U([0-9a-fA-F]{1,8})|([0-7]{1,3})|c(.)|(.))", re.DOTALL
)
_ANSI_LETTERS = {"a": "\a", "b": "\b", "e": "\x1b", "E": "\x1b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}


def unquoted(text: str) -> list[Piece]:
    """Split an unquoted word: each escaped character loses its backslash and its special meaning."""
    if "\\" not in text:
        return [(text, True)]
    pieces: list[Piece] = []
    end = 0
    for match in _ESCAPE.finditer(text):
        pieces += [(text[end : match.start()], True), (match[1], False)]
        end = match.end()
    return [*pieces, (text[end:], True)]


def double_quoted(text: str) -> str:
    return _IN_DOUBLE.sub(r"\1", text) if "\\" in text else text


def ansi_c(text: str) -> str:
    """Decode the inside of a $'…' string; `echo -e` and `printf` use the same escapes."""
    return _ANSI.sub(_ansi_character, text) if "\\" in text else text


def _ansi_character(match: re.Match[str]) -> str:
    hexadecimal = match[1] or match[2] or match[3]
    if hexadecimal or match[4]:
        code = int(hexadecimal, 16) if hexadecimal else int(match[4], 8) & 0xFF
        return chr(code) if code < 0x110000 else "\ufffd"
    if match[5]:
        return chr(ord(match[5]) & 0x1F)
    return _ANSI_LETTERS.get(match[6], match[6])


def braces(pieces: list[Piece]) -> list[list[Piece]] | None:
    """Expand braces: `a{b,c}` gives `ab` and `ac`. Return None if there would be too many words."""
    if not any(is_unquoted and "{" in text for text, is_unquoted in pieces):
        return [pieces]
    letters = [(letter, is_unquoted) for text, is_unquoted in pieces for letter in text]
    words = _written_out(letters, MOST_BRACES)
    return words if len(words) <= MOST_BRACES else None


def _written_out(letters: list[Piece], most: int) -> list[list[Piece]]:
    group = _first_group(letters)
    if group is None:
        return [letters]
    start, end, parts = group
    heads = [word for part in parts for word in _written_out(part, most)][: most + 1]
    tails = _written_out(letters[end + 1 :], most)
    return [[*letters[:start], *head, *tail] for head, tail in product(heads, tails)][: most + 1]


def _first_group(letters: list[Piece]) -> tuple[int, int, list[list[Piece]]] | None:
    """Return the first live `{…,…}` or `{a..b}`: its start, its end and its alternatives."""
    for start, letter in enumerate(letters):
        if letter == ("{", True):
            end, commas = _closing(letters, start)
            if end and commas:
                edges = [start, *commas, end]
                return start, end, [letters[a + 1 : b] for a, b in pairwise(edges)]
            inside = "".join(text for text, _ in letters[start + 1 : end])
            if end and ".." in inside:
                return start, end, [[(part, True)] for part in inside.split("..")[:2]]
    return None


def _closing(letters: list[Piece], start: int) -> tuple[int, list[int]]:
    """Return where the brace that opens at `start` closes (0: nowhere), and the commas directly inside it."""
    depth, commas = 0, list[int]()
    for index in range(start, len(letters)):
        letter, is_unquoted = letters[index]
        if not is_unquoted:
            continue
        depth += {"{": 1, "}": -1}.get(letter, 0)
        if letter == "," and depth == 1:
            commas.append(index)
        if depth == 0:
            return index, commas
    return 0, []
