"""The JSON reader for manifests and lock files. It rejects what readers treat differently."""

import json
from typing import cast

from donewhen.judge.protect.contents.accepted_part import FileUnreadable
from donewhen.judge.protect.contents.table_merge import Table


def read_json(text: str) -> Table:
    """Return the object in a text; empty for an empty text. Raise FileUnreadable for anything else."""
    if not text.strip():
        return {}
    try:
        found = json.loads(text, object_pairs_hook=_once)
    except (ValueError, RecursionError) as error:
        raise FileUnreadable from error
    if not isinstance(found, dict):
        raise FileUnreadable
    return cast("Table", found)


def _once(pairs: list[tuple[str, object]]) -> dict[str, object]:
    """Return the pairs as a dict. Raise ValueError for a repeated key, because readers treat it differently."""
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key occurs twice")
    return found
