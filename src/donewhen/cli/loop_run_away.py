"""A round of a loop that the daemon runs, shown here: `donewhen loop run` while a daemon runs."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, cast

from donewhen.cli import through_daemon
from donewhen.server.call_errors import CallFailed

if TYPE_CHECKING:
    from donewhen.cli.views.session_audience import SessionView
    from donewhen.server.client import DaemonClient
    from donewhen.server.methods.loop_results import RoundSummary


class LoopRunAway:
    """The call that runs a round. An interrupted round that has to end first is a session of the same call."""

    def __init__(self, client: "DaemonClient", begun: dict[str, Any]) -> None:
        self._client = client
        self._ended: dict[str, Any] | None = None if "outcome" not in begun else {"result": begun}
        """How the call ended; a call without a session has ended already."""
        self._sessions = [] if "outcome" in begun else [str(begun["id"])]
        self._live = set(self._sessions)

    def follow(self, view: "SessionView | None", hear: Callable[[str], None] | None = None) -> "RoundSummary":
        """Show the events until the call has ended, and return its result. Ctrl-C cancels the round."""
        self._client.hear = hear or (view.say if view is not None else self._client.hear)
        self._subscribe(view)
        try:
            self._read(view)
        except KeyboardInterrupt:
            through_daemon.cancel_elsewhere(self._sessions[-1])
            self._read(view)
        ended = self._ended or {}
        if "result" not in ended:
            raise CallFailed("machinery", str(ended.get("error")), int(ended.get("exit_code", 4)))
        return cast("RoundSummary", ended["result"])

    def _subscribe(self, view: "SessionView | None") -> None:
        if view is None:
            self._live.clear()  # nobody wants its events
        elif self._live:
            self._client.call("session.subscribe", id=self._sessions[-1], from_seq=1)

    def _read(self, view: "SessionView | None") -> None:
        messages = self._client.notifications()
        while self._ended is None or self._live:
            try:
                self._take(next(messages), view)
            except CallFailed as error:
                raise through_daemon.left_alone(self._sessions[-1], error) from error

    def _take(self, message: dict[str, Any], view: "SessionView | None") -> None:
        params = message["params"]
        match message["method"]:
            case "connection.began":
                self._sessions.append(params["began"])
                self._live.add(params["began"])
                self._subscribe(view)
            case "connection.ended":
                self._ended = params
            case "session.event" if view is not None:
                view.on_record(through_daemon.record_of(params["event"]))
            case "session.status" if not params["live"]:
                self._live.discard(params["id"])
            case _:
                pass
