"""The methods of a connection: what it follows live. They are described here and provided by the connection itself."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Protocol

from donewhen.server.methods.method import Method, Right

if TYPE_CHECKING:
    from donewhen.server.methods.results import BoardSubscription, SessionSubscription


class Subscriptions(Protocol):
    """What a connection can follow. Each notification carries the id of its subscription."""

    def session_subscribe(self, id: str, from_seq: int = 0) -> "SessionSubscription":
        """Follow a session: its events from `from_seq` on, that one included, then new ones as they happen.

        Each event comes once and in order, as a notification `session.event`. After events that change what the
        session is or waits for, a notification `session.status` says so.
        """
        ...

    def session_unsubscribe(self, subscription: str) -> None:
        """End the subscription of a session."""
        ...

    def board_subscribe(self, from_: int | dict[str, int] | None = None) -> "BoardSubscription":
        """Follow all sessions, as notifications `board.event` and `board.status`.

        `from` says where the events begin: null for those that happen from now on, 0 for all, or by the id of a session
        the number of its first event. A session that is not named then comes from its beginning.
        """
        ...

    def board_unsubscribe(self, subscription: str) -> None:
        """End the subscription of all sessions."""
        ...


SUBSCRIPTIONS: Mapping[str, Method] = {
    "session.subscribe": Method("session.subscribe", Subscriptions.session_subscribe, Right.OBSERVE),
    "session.unsubscribe": Method("session.unsubscribe", Subscriptions.session_unsubscribe, Right.OBSERVE),
    "board.subscribe": Method("board.subscribe", Subscriptions.board_subscribe, Right.OBSERVE),
    "board.unsubscribe": Method("board.unsubscribe", Subscriptions.board_unsubscribe, Right.OBSERVE),
}
"""The methods by name, as in the table of all others."""
