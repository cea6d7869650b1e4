"""The defences of the web side, by name. All of them are on; only tests switch one off.

Every defence has a switch here so that a test can show that an attack works without it. No setting, option or
environment variable reaches these switches.
"""

from donewhen.records import frozen


@frozen(kw_only=True)
class WebDefences:
    user: bool = True
    """Connections of other users of this machine are refused, whatever token or cookie they show."""
    host: bool = True
    """Only the names of this daemon are served, so a foreign name that resolves to this machine is refused."""
    origin: bool = True
    """Pages of other origins are refused."""
    content_type: bool = True
    """A body must be declared as JSON, which no page may send to another origin without asking first."""
    form: bool = True
    """A request line, path, query or framing that two programs may read differently is refused."""
    access: bool = True
    """A caller must show a token or a cookie. Without it, everybody is the browser."""
    size: bool = True
    """Bodies and WebSocket messages are limited."""
    deadlines: bool = True
    """A head and a body must arrive in time."""
    connections: bool = True
    """The number of connections is limited."""


ALL = WebDefences()
