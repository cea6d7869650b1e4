"""Outlines for structured files without a grammar: which outline a path has, and what an outline can do."""

import json
import re
from collections.abc import Callable

from donewhen.records import frozen
from donewhen.syntax.grammar import SourceUnreadable, parse
from donewhen.syntax.merging import changelog, toml, yaml
from donewhen.syntax.merging.pieces import Piece
from donewhen.syntax.merging.trees import NodeReader

_CHANGELOG = re.compile(r"^(changelog|changes|news|history)[^/]*$", re.IGNORECASE)


@frozen
class Outline:
    """`is_sound` tells whether a text is valid in its format; `piece` splits a valid text."""

    is_sound: Callable[[bytes], bool]
    piece: Callable[[bytes], Piece]


def outline_of(path: str) -> Outline | None:
    name = path.rsplit("/", 1)[-1]
    stem, _, ending = name.rpartition(".")
    match ending.lower():
        case "toml":
            return Outline(toml.is_sound, toml.piece)
        case "json":
            return Outline(_is_json, _json_piece)
        case "yaml" | "yml":
            return Outline(yaml.is_sound, yaml.piece)
        case "md" | "rst" | "txt" if _CHANGELOG.match(stem):
            return Outline(changelog.is_sound, changelog.piece)
        case _:
            return Outline(changelog.is_sound, changelog.piece) if not stem and _CHANGELOG.match(name) else None


def _is_json(text: bytes) -> bool:
    """Accept JSON without duplicate keys, which some readers accept and others reject."""
    try:
        json.loads(text, object_pairs_hook=_without_doubles)
        return not parse("python", text).root_node.has_error
    except (ValueError, RecursionError, SourceUnreadable):
        return False


def _without_doubles(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a key occurs twice")
    return found


def _json_piece(text: bytes) -> Piece:
    """Parse JSON with the Python grammar: dictionaries and lists are written the same way."""
    return NodeReader("python", text).whole(parse("python", text).root_node)
