"""What one caller may take of the daemon at a time, so that no caller uses up what others need."""

import anyio

from donewhen.server.rpc.rate import Rate
from donewhen.server.service import Caller

POSTS_PER_SECOND, POSTS_BURST = 500.0, 2000.0
BODIES, BODIES_OF_AGENT = 16, 4
"""Bodies that are read at the same time."""
WEBSOCKETS, WEBSOCKETS_OF_AGENT = 128, 8
MOST_KEPT = 1000


class CallerAllowance:
    def __init__(self, is_agent: bool) -> None:
        self.posts = Rate(POSTS_PER_SECOND, POSTS_BURST)
        self.bodies = anyio.Semaphore(BODIES_OF_AGENT if is_agent else BODIES)
        self.most_websockets = WEBSOCKETS_OF_AGENT if is_agent else WEBSOCKETS
        self.websockets = 0


class Allowances:
    """The allowances of all callers, by name."""

    def __init__(self) -> None:
        self._by_name: dict[str, CallerAllowance] = {}

    def of(self, caller: Caller) -> CallerAllowance:
        if len(self._by_name) > MOST_KEPT:  # agents come and go
            self._by_name = {name: one for name, one in self._by_name.items() if one.websockets}
        return self._by_name.setdefault(caller.name, CallerAllowance(bool(caller.session)))
