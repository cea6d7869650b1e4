"""Repairs that go: those that somebody wants gone, and the oldest when there are too many. Inside a transaction of
whoever calls; which ones helped is read off their offers."""

from donewhen.memory.schema import WORDS
from donewhen.storage.connection import Connection
from donewhen.storage.words import WordTable

MOST_REPAIRS = 10_000
MORE_ROOM = 100
"""So many go at once when there are too many, so that not each new one has to make room for itself."""
AT_ONCE = 500
_OLDEST = """SELECT id FROM donewhen_repairs WHERE id <> ? ORDER BY CASE WHEN EXISTS (
    SELECT 1 FROM donewhen_repair_offers WHERE repair = donewhen_repairs.id AND withheld = 0 AND ending = 'passed'
    ) THEN 1 ELSE 0 END, at, id LIMIT ?"""


def remove(connection: Connection, ids: list[str]) -> int:
    """With all that is known about them; how many there were."""
    removed = 0
    WordTable(connection, WORDS).drop(*ids)
    for at in range(0, len(ids), AT_ONCE):
        some = ids[at : at + AT_ONCE]
        marks = ", ".join("?" * len(some))
        removed += len(connection.run(f"DELETE FROM donewhen_repairs WHERE id IN ({marks}) RETURNING id", *some))
    return removed


def make_room(connection: Connection, most: int, newest: str = "") -> None:
    """Let the oldest go when there are more than so many: at first those that never helped, and never the newest,
    whatever the clock said when it was learnt."""
    count = int(connection.run("SELECT count(*) FROM donewhen_repairs")[0][0])
    if count > most:
        rows = connection.run(_OLDEST, newest, count - most + min(MORE_ROOM, most // 2))
        remove(connection, [row[0] for row in rows])
