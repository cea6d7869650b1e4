"""Which repositories' files the user has accepted, bound to the exact content that was read.

A cloned repository must not rob its user: a file that changes by one byte, or moves, is asked about again.
"""

import hashlib
import json
from pathlib import Path
from typing import cast

from donewhen.toml import BadToml, file_content
from donewhen.workspace.files import write_atomically


class TrustBook:
    """The record of accepted files, in the user's state directory."""

    def __init__(self, state: Path) -> None:
        self._book = state / "trust.json"

    def holds(self, file: Path) -> bool:
        accepted = self._entries().get(str(file.resolve()))
        try:
            return accepted is not None and accepted == _digest(file)
        except BadToml:
            return False  # a file that cannot be read is not the one that was accepted

    def accept(self, file: Path) -> None:
        entries = {**self._entries(), str(file.resolve()): _digest(file)}
        write_atomically(self._book, json.dumps(entries, indent=1, sort_keys=True))

    def count(self) -> int:
        return len(self._entries())

    def _entries(self) -> dict[str, str]:
        try:
            entries: object = json.loads(self._book.read_text())
        except (OSError, ValueError):
            return {}  # nothing readable is nothing accepted
        return cast("dict[str, str]", entries) if isinstance(entries, dict) else {}


def _digest(file: Path) -> str:
    return hashlib.sha256(file_content(file)).hexdigest()
