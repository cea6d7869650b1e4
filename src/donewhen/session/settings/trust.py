"""Record of the repository files that the user accepted, each bound to the exact content that was read.

It protects the user from a cloned repository: a file that changes by one byte, or moves, needs trust again.
"""

import hashlib
import json
from pathlib import Path
from typing import cast

from donewhen.workspace.files import write_atomically


class TrustBook:
    """The record of accepted files, in the user's state directory."""

    def __init__(self, state: Path) -> None:
        self._book = state / "trust.json"

    def holds(self, real: Path, content: bytes) -> bool:
        """Return True if this content of a file was accepted: the bytes that the caller read, not what the file holds
        later.

        The caller also gives the real path: a link that is put there now must not lead to the trust of another file.
        """
        return self._entries().get(str(real)) == _digest(content)

    def accept(self, real: Path, content: bytes) -> None:
        entries = {**self._entries(), str(real): _digest(content)}
        write_atomically(self._book, json.dumps(entries, indent=1, sort_keys=True))

    def files(self) -> list[Path]:
        """Return the real paths of the accepted files; some may have changed or be gone."""
        return [Path(name) for name in self._entries()]

    def count(self) -> int:
        return len(self._entries())

    def _entries(self) -> dict[str, str]:
        try:
            entries: object = json.loads(self._book.read_text())
        except (OSError, ValueError):
            return {}  # an unreadable record accepts nothing
        return cast("dict[str, str]", entries) if isinstance(entries, dict) else {}


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
