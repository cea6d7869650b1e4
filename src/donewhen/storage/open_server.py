"""Connects to a PostgreSQL server. The driver is optional and is loaded on use."""

from donewhen.errors import BadInput
from donewhen.storage.connection import Connection


def connect_server(url: str, lock_timeout: float) -> Connection:
    """Return a connection to the server. `lock_timeout` is how many seconds to wait for other writers."""
    if not url.startswith(("postgresql://", "postgres://")):
        raise BadInput("storage.url must start with postgresql://")
    try:
        from donewhen.storage.postgres import PostgresConnection
    except ImportError as error:
        raise BadInput("storage.url needs the PostgreSQL driver: install donewhen[postgres]") from error
    return PostgresConnection(url, lock_timeout)
