"""What the daemon counts, for people who watch it."""

from collections.abc import Mapping

from donewhen.records import frozen


@frozen(kw_only=True)
class DaemonNumbers:
    sessions: Mapping[str, int]
    """State → how many sessions are in it."""
    live: int
    """Sessions that a process works on."""
    waiting: int
    """Sessions that need a person."""
    calls: int
    """Calls that run in processes of their own."""
    subscribers: int
    events_read: int
    """Events that were read from the store since the daemon started."""
