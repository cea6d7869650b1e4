"""Database schema of the memory as migration steps. Never edit a released step; add a new step at the end.

The tables are separate from those of the sessions: in a different file, or under different names on a server.
"""

from donewhen.storage.migrations import Schema

WORDS = "donewhen_repair_words"
MEMORY = Schema(
    "the memory was",
    "donewhen_memory_migrations",
    (
        (
            """CREATE TABLE donewhen_repairs (
                id {text} PRIMARY KEY,
                signature {text} NOT NULL,
                approach {text} NOT NULL,
                diff {text} NOT NULL,
                repo {text} NOT NULL,
                model {text} NOT NULL,
                session {text} NOT NULL,
                round BIGINT NOT NULL,
                at {text} NOT NULL
            )""",
            """CREATE TABLE donewhen_repair_places (
                place {text} NOT NULL,
                repair {text} NOT NULL REFERENCES donewhen_repairs (id) ON DELETE CASCADE,
                PRIMARY KEY (place, repair)
            )""",
            "CREATE INDEX donewhen_repair_places_of ON donewhen_repair_places (repair)",
            """CREATE TABLE donewhen_repair_offers (
                repair {text} NOT NULL REFERENCES donewhen_repairs (id) ON DELETE CASCADE,
                session {text} NOT NULL,
                round BIGINT NOT NULL,
                signature {text} NOT NULL,
                withheld BIGINT NOT NULL,
                ending {text} NOT NULL,
                at {text} NOT NULL,
                PRIMARY KEY (repair, session, round)
            )""",
            f"CREATE {{word_table}} {WORDS} {{word_columns}}",
        ),
        ("ALTER TABLE donewhen_repairs ADD COLUMN source {text} NOT NULL DEFAULT ''",),
        (
            """CREATE TABLE donewhen_memory_texts (
                repo {text} NOT NULL,
                source {text} NOT NULL,
                session {text} NOT NULL,
                tags {text} NOT NULL,
                text {text} NOT NULL,
                at {text} NOT NULL,
                PRIMARY KEY (repo, source, session)
            )""",
        ),
    ),
)
