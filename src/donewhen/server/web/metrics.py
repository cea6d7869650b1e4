"""The numbers of the daemon in the text format of Prometheus."""

from collections.abc import Mapping

from donewhen.records import frozen

MEDIA_TYPE = "text/plain; version=0.0.4"


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


def metrics_text(numbers: DaemonNumbers) -> str:
    states = [f'donewhen_sessions{{state="{state}"}} {count}' for state, count in sorted(numbers.sessions.items())]
    lines = ["# HELP donewhen_sessions Sessions by state.", "# TYPE donewhen_sessions gauge", *states]
    for name, kind, text, value in (
        ("donewhen_sessions_live", "gauge", "Sessions that a process works on.", numbers.live),
        ("donewhen_sessions_waiting", "gauge", "Sessions that need a person.", numbers.waiting),
        ("donewhen_calls_running", "gauge", "Calls that run in processes of their own.", numbers.calls),
        ("donewhen_subscribers", "gauge", "Open subscriptions.", numbers.subscribers),
        ("donewhen_events_read_total", "counter", "Events read since the daemon started.", numbers.events_read),
    ):
        lines += [f"# HELP {name} {text}", f"# TYPE {name} {kind}", f"{name} {value}"]
    return "\n".join(lines) + "\n"
