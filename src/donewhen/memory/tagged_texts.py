"""Texts that are kept with tags and the source they come from, such as how the rounds of a loop ended.

They stand beside the repairs in the same database. For each source only the newest are kept.
"""

from donewhen.memory.sanitise import sanitise_line
from donewhen.records import frozen
from donewhen.storage.connection import Connection
from donewhen.storage.record import storable

MOST_OF_SOURCE = 50
MOST_BYTES = 600
_COLUMNS = "repo, source, session, tags, text, at"


@frozen(kw_only=True)
class TaggedText:
    repo: str
    source: str
    session: str
    tags: tuple[str, ...]
    """Words without blanks."""
    text: str
    """One line, sanitised when it is stored."""
    at: str


class TaggedTexts:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def put(self, new: TaggedText) -> None:
        """Store a text, or replace that of the same source and session. The oldest of the source above the limit go."""
        with self._connection.transaction():
            self._connection.run(
                f"INSERT INTO donewhen_memory_texts ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?)"
                " ON CONFLICT (repo, source, session) DO UPDATE SET tags = excluded.tags, text = excluded.text,"
                " at = excluded.at",
                *(storable(new.repo), storable(new.source), new.session, f" {' '.join(new.tags)} "),
                *(storable(sanitise_line(new.text, MOST_BYTES)), new.at),
            )
            self._connection.run(
                "DELETE FROM donewhen_memory_texts WHERE repo = ? AND source = ? AND session IN (SELECT session"
                " FROM donewhen_memory_texts WHERE repo = ? AND source = ? ORDER BY at DESC, session"
                " LIMIT 1000 OFFSET ?)",
                *(storable(new.repo), storable(new.source), storable(new.repo), storable(new.source), MOST_OF_SOURCE),
            )

    def newest(self, repo: str, source: str, limit: int) -> list[TaggedText]:
        """Return the newest texts of a source, the newest first."""
        rows = self._connection.run(
            f"SELECT {_COLUMNS} FROM donewhen_memory_texts WHERE repo = ? AND source = ?"
            " ORDER BY at DESC, session LIMIT ?",
            *(storable(repo), storable(source), limit),
        )
        return [_text(*row) for row in rows]

    def tagged(self, tag: str) -> list[TaggedText]:
        """Return all texts with a tag, the newest first."""
        rows = self._connection.run(f"SELECT {_COLUMNS} FROM donewhen_memory_texts ORDER BY at DESC, repo, source")
        return [found for row in rows if tag in (found := _text(*row)).tags]

    def forget(self, tag: str) -> int:
        """Remove all texts with a tag. Return how many there were."""
        found = self.tagged(tag)
        with self._connection.transaction():
            for one in found:
                self._connection.run(
                    "DELETE FROM donewhen_memory_texts WHERE repo = ? AND source = ? AND session = ?",
                    *(one.repo, one.source, one.session),
                )
        return len(found)


def _text(repo: str, source: str, session: str, tags: str, text: str, at: str) -> TaggedText:
    return TaggedText(repo=repo, source=source, session=session, tags=tuple(tags.split()), text=text, at=at)
