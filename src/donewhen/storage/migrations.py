"""The schema, step by step. A step that was released is never edited; a change is a new step at the end.

Every step comes with a database of the schema before it in tests/storage/golden, which must still open.
"""

from donewhen.errors import BadInput
from donewhen.storage.connection import Connection

_TABLE = "donewhen_migrations"

STEPS: tuple[tuple[str, ...], ...] = (
    (
        """CREATE TABLE donewhen_sessions (
            id {text} PRIMARY KEY,
            repo {text} NOT NULL,
            title {text} NOT NULL,
            created_at {text} NOT NULL,
            last_at {text} NOT NULL,
            state {text} NOT NULL,
            outcome {text} NOT NULL,
            reason {text} NOT NULL,
            generation BIGINT NOT NULL,
            owner {text} NOT NULL,
            position BIGINT NOT NULL,
            seq BIGINT NOT NULL
        )""",
        """CREATE TABLE donewhen_records (
            session {text} NOT NULL REFERENCES donewhen_sessions (id) ON DELETE CASCADE,
            position BIGINT NOT NULL,
            seq BIGINT,
            at {text} NOT NULL,
            generation BIGINT NOT NULL,
            kind {text} NOT NULL,
            body {text} NOT NULL,
            checksum BIGINT NOT NULL,
            PRIMARY KEY (session, position),
            UNIQUE (session, seq)
        )""",
    ),
)


class NewerSchema(BadInput):
    """A newer donewhen has written this database; an older one must not touch it."""


def migrate(connection: Connection) -> None:
    """Bring the schema up to date. Several processes may do so at once; one of them does it."""
    if _version(connection) == len(STEPS):
        return
    with connection.transaction(sync=True):
        connection.lock_schema()
        connection.run(f"CREATE TABLE IF NOT EXISTS {_TABLE} (number BIGINT PRIMARY KEY)")
        for number in range(_version(connection), len(STEPS)):
            for statement in STEPS[number]:
                connection.run(statement.format(text=connection.text))
            connection.run(f"INSERT INTO {_TABLE} (number) VALUES (?)", number + 1)


def _version(connection: Connection) -> int:
    if not connection.has_table(_TABLE):
        return 0
    version = int(connection.run(f"SELECT coalesce(max(number), 0) FROM {_TABLE}")[0][0])
    if version > len(STEPS):
        raise NewerSchema(
            f"the sessions were written by a newer donewhen (schema {version}, this one knows {len(STEPS)}); update it"
        )
    return version
