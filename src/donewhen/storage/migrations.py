"""Database schema as a list of steps. A released step is never edited; a change is a new step at the end.

For every step, tests/storage/golden contains a database with the schema before it, which must still open.
"""

from donewhen.errors import BadInput
from donewhen.records import frozen
from donewhen.storage.connection import Connection

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


@frozen
class Schema:
    """Tables that change together. The connection supplies `{text}`, `{word_table}` and `{word_columns}` in a step."""

    what: str
    """The subject and verb of the error message about a newer schema."""
    table: str
    """The name of the table that lists the applied steps."""
    steps: tuple[tuple[str, ...], ...]


SESSIONS = Schema("the sessions were", "donewhen_migrations", STEPS)


class NewerSchema(BadInput):
    """A newer donewhen wrote this database; an older one must not change it."""


def migrate(connection: Connection, schema: Schema = SESSIONS) -> None:
    """Apply the missing steps. Several processes may call this at once; only one of them applies a step."""
    if _version(connection, schema) == len(schema.steps):
        return
    columns = {"word_table": connection.word_table, "word_columns": connection.word_columns}
    with connection.transaction(sync=True):
        connection.lock_schema()
        connection.run(f"CREATE TABLE IF NOT EXISTS {schema.table} (number BIGINT PRIMARY KEY)")
        for number in range(_version(connection, schema), len(schema.steps)):
            for statement in schema.steps[number]:
                connection.run(statement.format(text=connection.text, **columns))
            connection.run(f"INSERT INTO {schema.table} (number) VALUES (?)", number + 1)


def _version(connection: Connection, schema: Schema) -> int:
    if not connection.has_table(schema.table):
        return 0
    version, known = int(connection.run(f"SELECT coalesce(max(number), 0) FROM {schema.table}")[0][0]), schema.steps
    if version > len(known):
        raise NewerSchema(
            f"{schema.what} written by a newer donewhen (schema {version}, this one knows "
            f"{len(known)}); update donewhen"
        )
    return version
