"""Database schema of the loops as migration steps. Never edit a released step; add a new step at the end.

The tables are separate from those of the sessions: in a different file, or under different names on a server. Moments
are texts in UTC with a fixed width, empty if there is none. Money is in millionths of a dollar, NULL if it is unknown.
"""

from donewhen.storage.migrations import Schema

LOOPS = Schema(
    "the loops were",
    "donewhen_loop_migrations",
    (
        (
            """CREATE TABLE donewhen_loop_states (
                repo {text} NOT NULL,
                loop {text} NOT NULL,
                paused {text} NOT NULL,
                due_at {text} NOT NULL,
                schedule {text} NOT NULL,
                looked_at {text} NOT NULL,
                failures BIGINT NOT NULL,
                backoff_until {text} NOT NULL,
                level {text} NOT NULL,
                level_reason {text} NOT NULL,
                level_of {text} NOT NULL,
                level_since {text} NOT NULL,
                running_key {text} NOT NULL,
                running_session {text} NOT NULL,
                owner {text} NOT NULL,
                old_input_tokens BIGINT NOT NULL,
                old_output_tokens BIGINT NOT NULL,
                old_usd_micros BIGINT NOT NULL,
                old_unpriced BIGINT NOT NULL,
                PRIMARY KEY (repo, loop)
            )""",
            """CREATE TABLE donewhen_loop_occurrences (
                repo {text} NOT NULL,
                loop {text} NOT NULL,
                key {text} NOT NULL,
                number BIGINT NOT NULL,
                due_at {text} NOT NULL,
                origin {text} NOT NULL,
                status {text} NOT NULL,
                reason {text} NOT NULL,
                session {text} NOT NULL,
                attempts BIGINT NOT NULL,
                coalesced_into {text} NOT NULL,
                outcome {text} NOT NULL,
                finding {text} NOT NULL,
                input_tokens BIGINT NOT NULL,
                output_tokens BIGINT NOT NULL,
                usd_micros BIGINT,
                started_at {text} NOT NULL,
                finished_at {text} NOT NULL,
                PRIMARY KEY (repo, loop, key)
            )""",
            "CREATE INDEX donewhen_loop_occurrences_order ON donewhen_loop_occurrences (repo, loop, number)",
            """CREATE TABLE donewhen_loop_findings (
                repo {text} NOT NULL,
                loop {text} NOT NULL,
                key {text} NOT NULL,
                status {text} NOT NULL,
                session {text} NOT NULL,
                reason {text} NOT NULL,
                at {text} NOT NULL,
                PRIMARY KEY (repo, loop, key)
            )""",
            """CREATE TABLE donewhen_loop_works (
                repo {text} NOT NULL,
                loop {text} NOT NULL,
                session {text} NOT NULL,
                action {text} NOT NULL,
                onto {text} NOT NULL,
                made {text} NOT NULL,
                verified BIGINT NOT NULL,
                status {text} NOT NULL,
                seen_at {text} NOT NULL,
                at {text} NOT NULL,
                PRIMARY KEY (repo, loop, session)
            )""",
            "CREATE TABLE donewhen_loop_losses (reason {text} NOT NULL)",
            """CREATE TABLE donewhen_loop_seen (
                repo {text} NOT NULL,
                loop {text} NOT NULL,
                origin {text} NOT NULL,
                state {text} NOT NULL,
                PRIMARY KEY (repo, loop, origin)
            )""",
        ),
    ),
)
