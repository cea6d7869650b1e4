"""Durable storage of session records in one database: SQLite from the standard library, or PostgreSQL."""
