"""The seam between the daemon and everything that talks to it: one call, one subscription, and who is asking.

Sockets, the web, MCP, ACP and the Python API use a `Service` and nothing else of the daemon.
"""

from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any, Protocol

from donewhen.records import frozen
from donewhen.server.methods.method import Right


@frozen
class Surroundings:
    """The directory and the environment variables in which a call works: those of the program that made it."""

    directory: str
    variables: Mapping[str, str]


@frozen(kw_only=True)
class Caller:
    """Who makes a call, and what it may do."""

    name: str
    """A name for the log: `socket`, `web`, `mcp:NAME`."""
    rights: frozenset[Right]
    session: str = ""
    """The only session that the caller may see; empty for all."""
    surroundings: Surroundings | None = None
    """None: the daemon's own."""
    hear: Callable[[str], None] | None = None
    """Receives lines for a person about the calls; None: they go to the daemon's log."""
    told: Callable[[Mapping[str, Any]], None] | None = None
    """Receives what becomes of a call after its session has begun: `began` with the id of a further session, and at
    the end `result`, or `error` with `exit_code`."""


@frozen
class Notification:
    """One message of a subscription."""

    kind: str
    """`event` or `status`."""
    text: str
    """The event or the status as JSON."""


class Subscription(Protocol):
    """What `subscribe` provides: `start` is the result of the call, and iteration yields what follows."""

    @property
    def start(self) -> Mapping[str, Any]: ...

    def __aiter__(self) -> AsyncIterator[Notification]: ...

    def batches(self) -> AsyncGenerator[Sequence[Notification]]:
        """Iterate like the subscription itself, where what is there already comes at once."""
        ...


class OneByOne(ABC):
    """A subscription whose notifications come one at a time."""

    @abstractmethod
    def __aiter__(self) -> AsyncIterator[Notification]: ...

    async def batches(self) -> AsyncGenerator[Sequence[Notification]]:
        async for one in self:
            yield [one]


class Service(Protocol):
    async def call(self, caller: Caller, method: str, params: Mapping[str, Any]) -> Any:
        """Carry out one call and return its result. Raise a DonewhenError if it is refused or fails."""
        ...

    def subscribe(
        self, caller: Caller, method: str, params: Mapping[str, Any]
    ) -> AbstractAsyncContextManager[Subscription]:
        """Open `session.subscribe` or `board.subscribe`: what was, then what happens, until the block ends."""
        ...
