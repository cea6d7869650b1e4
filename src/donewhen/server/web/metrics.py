"""The numbers of the daemon in the text format of Prometheus."""

from donewhen.server.numbers import DaemonNumbers

MEDIA_TYPE = "text/plain; version=0.0.4"


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
