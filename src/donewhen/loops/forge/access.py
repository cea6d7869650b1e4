"""The token for a forge, and how long a request to it is tried.

The token is in the memory of this process. Only requests to the place it belongs to and the one git command that
pushes get it.
"""

from dataclasses import field

from donewhen.records import frozen

HIDDEN = "[token]"


@frozen
class Token:
    variable: str
    """The variable that a person set; messages name it."""
    secret: str = field(repr=False)

    def hide(self, text: str) -> str:
        return text.replace(self.secret, HIDDEN)


@frozen(kw_only=True)
class Patience:
    """How long a request is tried. Tests use shorter times."""

    tries: int = 4
    first_wait_secs: float = 1.0
    """Doubled after each failure."""
    longest_wait_secs: float = 60.0
    """A server that asks for more gets no further request from us now: `Later`."""
    timeout_secs: float = 30.0
    """Of one request, with its answer."""


NORMAL = Patience()
