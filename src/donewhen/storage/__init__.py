"""One database for what must not be lost: SQLite by the standard library, or PostgreSQL. Records in, records out."""
