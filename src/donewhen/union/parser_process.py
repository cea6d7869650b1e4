"""Separate process that parses untrusted source texts, so that a parser can only hang or crash here.

It reads requests, one line of JSON each, and answers each with one line before it reads the next. So the answers given
before a crash remain valid. `parser_client` starts the process, and another one for the remaining requests.
"""

import base64
import json
import sys
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from donewhen.syntax.grammar import SourceUnreadable, language_of

# The process is started often, for one kind of request at a time. Modules that only some requests need load on use.


def answer(request: Mapping[str, Any]) -> dict[str, Any]:
    path, encoded = str(request["path"]), {name: request.get(name) for name in TEXTS}
    texts = {name: None if text is None else base64.b64decode(text) for name, text in encoded.items()}
    try:
        match request["about"]:
            case "merge":
                return _merge(path, texts)
            case "symbols":
                from donewhen.syntax.symbol_index import Index

                index = Index([(path, texts["after"] or b"")])
                found = {symbol: index.find(path, symbol) for symbol in request["symbols"]}
                return {"found": {symbol: {"answer": one.answer, "near": one.near} for symbol, one in found.items()}}
            case _:
                return _change(path, texts["before"], texts["after"])
    except SourceUnreadable as unreadable:
        return {"unreadable": str(unreadable)}


TEXTS = ("before", "after", "base", "ours", "theirs")


def _change(path: str, before: bytes | None, after: bytes | None) -> dict[str, Any]:
    from donewhen.syntax.changes import symbol_changes
    from donewhen.syntax.faults import parse_after_change

    language = language_of(path)
    if language is None:
        return {"language": ""}
    parse, symbols = parse_after_change(language, before, after), symbol_changes(language, before, after)
    return {
        "language": language,
        "parse": asdict(parse),
        "symbols": asdict(symbols),
        "duplicates": _duplicates(path, before, after),
    }


def _duplicates(path: str, before: bytes | None, after: bytes | None) -> list[dict[str, Any]]:
    from donewhen.syntax.duplicates import new_duplicates

    language = language_of(path)
    return [asdict(one) for one in new_duplicates(language, before, after)] if language else []


def _merge(path: str, texts: Mapping[str, bytes | None]) -> dict[str, Any]:
    from donewhen.syntax.merging.merge import MergedText, merge

    made = merge(path, texts["base"] or b"", texts["ours"] or b"", texts["theirs"] or b"")
    if isinstance(made, MergedText):
        text = base64.b64encode(made.text).decode()
        return {"text": text, "how": made.how, "duplicates": _duplicates(path, texts["ours"], made.text)}
    return {"conflict": [asdict(place) for place in made.places]}


def main() -> None:
    for line in sys.stdin:
        sys.stdout.write(json.dumps(answer(json.loads(line))) + "\n")
        sys.stdout.flush()
