"""JSON-RPC over HTTP: POST carries one message or batch, a WebSocket one message per frame, and subscriptions."""

import contextlib
from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any

import anyio
from starlette.types import Receive
from starlette.websockets import WebSocket, WebSocketDisconnect, WebSocketState

from donewhen.errors import DonewhenError
from donewhen.server.call_errors import CallRefused
from donewhen.server.error_kinds import error_data
from donewhen.server.methods.method import Right
from donewhen.server.rpc.connection import OPENING, ClientTooSlow, RpcClientConnection
from donewhen.server.rpc.dispatch import RpcDispatcher
from donewhen.server.service import Caller, Service, Subscription
from donewhen.server.web.access import Login
from donewhen.server.web.access_log import AccessLog

TEXT_ONLY = (1003, "a message is one text frame")
"""Code and reason that close a WebSocket which sends something else than text."""


class LoggedService:
    """A service whose calls are written to the access log, but for those that only read."""

    def __init__(self, service: Service, methods: Mapping[str, Any], log: AccessLog) -> None:
        self._service = service
        self._methods = methods
        self._log = log

    async def call(self, caller: Caller, method: str, params: Mapping[str, Any]) -> Any:
        answered = "broken"
        try:
            result = await self._service.call(caller, method, params)
            answered = "done"
            return result
        except DonewhenError as error:
            answered = error_data(error)["kind"]
            raise
        finally:
            if getattr(self._methods.get(method), "right", None) is not Right.OBSERVE:
                self._log.write("call", method, answered, f"({caller.name})")

    def subscribe(
        self, caller: Caller, method: str, params: Mapping[str, Any]
    ) -> AbstractAsyncContextManager[Subscription]:
        return self._service.subscribe(caller, method, params)


async def answer_post(
    service: Service, methods: Mapping[str, Any], caller: Caller, body: bytes, receive: Receive
) -> str | None:
    """Carry out the messages of a body. Return the response; None if there is none, or the client has left."""

    async def handle(method: str, params: Mapping[str, Any]) -> Any:
        if method in OPENING:
            raise CallRefused("bad_input", f"{method} needs a WebSocket or the unix socket")
        return await service.call(caller, method, params)

    dispatcher = RpcDispatcher({**methods, **dict.fromkeys(OPENING)}, handle)
    response: str | None = None

    async def cancel_when_client_leaves() -> None:
        while (await receive())["type"] != "http.disconnect":
            pass
        tasks.cancel_scope.cancel()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(cancel_when_client_leaves)
        response = await dispatcher.dispatch(body)
        tasks.cancel_scope.cancel()
    return response


async def serve_websocket(
    service: Service, methods: Mapping[str, Any], caller: Caller, login: Login | None, websocket: WebSocket
) -> None:
    """Serve one WebSocket until its client leaves, logs out or reads too slowly."""
    await websocket.accept()
    sent_text_only = True

    async def cancel_at_logout() -> None:
        if login is not None:
            await login.ended.wait()
            tasks.cancel_scope.cancel()

    async def send(messages: Sequence[str]) -> None:
        for one in messages:
            await websocket.send_text(one)

    try:
        async with anyio.create_task_group() as tasks:
            connection = RpcClientConnection(service, caller, methods, send, tasks)
            tasks.start_soon(cancel_at_logout)
            while (message := await websocket.receive())["type"] == "websocket.receive":
                text = message.get("text")
                if text is None:
                    sent_text_only = False
                    break
                await connection.receive(text)
            tasks.cancel_scope.cancel()
    except* ClientTooSlow:
        websocket.scope["state"]["abort"]()
    except* WebSocketDisconnect:
        pass
    if websocket.client_state is websocket.application_state is WebSocketState.CONNECTED:
        with contextlib.suppress(WebSocketDisconnect):
            await websocket.close(*((1000, "") if sent_text_only else TEXT_ONLY))
