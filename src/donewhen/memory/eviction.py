"""Removal of repairs: those that a person removes, and the oldest if there are too many.

It runs inside the caller's transaction. The offers show which repairs helped.
"""

from donewhen.memory.schema import WORDS
from donewhen.storage.connection import Connection
from donewhen.storage.text_search import WordTable

MOST_REPAIRS = 10_000
SLACK = 100
"""Additional repairs removed if there are too many, so that not every new repair causes a removal."""
AT_ONCE = 500
_OLDEST = """SELECT id FROM donewhen_repairs WHERE id <> ? ORDER BY CASE WHEN EXISTS (
    SELECT 1 FROM donewhen_repair_offers WHERE repair = donewhen_repairs.id AND withheld = 0 AND ending = 'passed'
    ) THEN 1 ELSE 0 END, at, id LIMIT ?"""


def remove(connection: Connection, ids: list[str]) -> int:
    """Remove repairs with all their data. Return how many existed."""
    removed = 0
    WordTable(connection, WORDS).drop(*ids)
    for at in range(0, len(ids), AT_ONCE):
        some = ids[at : at + AT_ONCE]
        marks = ", ".join("?" * len(some))
        removed += len(connection.run(f"DELETE FROM donewhen_repairs WHERE id IN ({marks}) RETURNING id", *some))
    return removed


def evict_oldest(connection: Connection, most: int, newest: str = "") -> None:
    """Remove the oldest repairs if there are more than `most`: those that never helped first, and never `newest`,
    whatever its time says."""
    count = int(connection.run("SELECT count(*) FROM donewhen_repairs")[0][0])
    if count > most:
        rows = connection.run(_OLDEST, newest, count - most + min(SLACK, most // 2))
        remove(connection, [row[0] for row in rows])
