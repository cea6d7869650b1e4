"""The web side as an ASGI application: rules, access, limits and routes, in this order.

What it serves itself: `/rpc`, `/metrics`, `/login` and `/logout`. The board and MCP are mounted.
"""

import contextlib
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from http.cookies import CookieError, SimpleCookie
from typing import Any

import anyio
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from starlette.websockets import WebSocket

from donewhen.records import frozen
from donewhen.server.numbers import DaemonNumbers
from donewhen.server.rpc.bounded_json import LONGEST, JsonRefused, load
from donewhen.server.rpc.rate import Rate
from donewhen.server.service import Caller, Service
from donewhen.server.web.access import BROWSER, Access, Login
from donewhen.server.web.access_log import AccessLog
from donewhen.server.web.allowances import POSTS_PER_SECOND, Allowances
from donewhen.server.web.bodies import BodyTooLong, ClientLeft, body_of, limited, replayed
from donewhen.server.web.metrics import MEDIA_TYPE, metrics_text
from donewhen.server.web.options import WebListener
from donewhen.server.web.request_rules import WebHead, refusal_of
from donewhen.server.web.rpc import LoggedService, answer_post, serve_websocket

LONGEST_LOGIN = 1000
REFUSALS_PER_SECOND, REFUSALS_BURST = 5.0, 100.0
"""Lines of the log for requests of strangers. A flood of them must not push out the others."""
STALL_SECS = 10.0
"""A client that takes no byte of a response for so long is cut off."""
SECURITY_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
)
HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "no-store",
    "Content-Security-Policy": SECURITY_POLICY,
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
}


Report = Callable[[Caller | None, str], None]
"""Takes who asked, and what was answered."""


@frozen(kw_only=True)
class WebMount:
    """An application that serves one path and everything below it. It sees the whole path."""

    path: str
    """`/` for everything that nothing else serves."""
    app: ASGIApp
    """Finds its caller as `scope["state"]["caller"]`; None if it is public and nobody has logged in."""
    public: bool = False
    """Serve it also to clients without a token or a cookie: it asks for a token itself, or has nothing to hide."""
    identify: Callable[[str], Caller | None] | None = None
    """Returns the caller that a header `Authorization` stands for here, if it is none of the daemon's own."""


@frozen(kw_only=True)
class WebParts:
    """What the application serves, and for whom."""

    service: Service
    methods: Mapping[str, Any]
    access: Access
    log: AccessLog
    mounts: Sequence[WebMount]
    numbers: Callable[[], DaemonNumbers] | None


@frozen
class _Identity:
    caller: Caller
    login: Login | None = None


class WebApp:
    def __init__(self, parts: WebParts, listener: WebListener) -> None:
        self._parts = parts
        self._service = LoggedService(parts.service, parts.methods, parts.log)
        self._access = parts.access
        self._scheme = listener.scheme
        self._hosts = listener.hosts
        self._defences = listener.options.defences
        self._most_websockets = listener.options.limits.websockets
        self._cookie = f"donewhen_{listener.port}"
        self._allowances = Allowances()
        self._websockets = 0
        self._lines_of_strangers = Rate(REFUSALS_PER_SECOND, REFUSALS_BURST)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        head = WebHead(scope)
        exchange = _Exchange(scope, receive, send, partial(self._log, scope, head))
        try:
            if refusal := refusal_of(head, self._scheme, self._hosts, self._defences):
                await exchange.refuse(refusal.status, refusal.why)
            else:
                await self._route(exchange, head)
        except BodyTooLong:
            await exchange.refuse(413, f"the body is longer than {LONGEST} bytes")
        except ClientLeft:
            self._log(scope, head, exchange.caller, "left")

    def _log(self, scope: Scope, head: WebHead, caller: Caller | None, answered: str) -> None:
        """Write the line of a request. It is there before its client has the answer."""
        if caller is None and not self._lines_of_strangers.take():
            return
        client = str((scope.get("client") or ("-",))[0])
        path = head.raw_path.decode("latin-1")[:100]
        method = "WEBSOCKET" if head.is_websocket else head.method
        self._parts.log.write(client, method, path, answered, f"({caller.name if caller is not None else 'nobody'})")

    async def _route(self, exchange: "_Exchange", head: WebHead) -> None:
        path = exchange.scope["path"]
        own = {"/rpc": ("POST",), "/login": ("POST",), "/logout": ("POST",), "/metrics": ("GET",)}.get(path)
        if own is not None and not (head.is_websocket and path == "/rpc"):
            if head.is_websocket or head.method not in own:
                return await exchange.refuse(405, f"only {', '.join(own)}", Allow=", ".join(own))
            if path == "/login":
                return await self._log_in(exchange)
        mount = None if own else self._mount_of(path)
        identity = self._identity(head) or _identity_at(mount, head)
        exchange.caller = identity.caller if identity is not None else None
        if own is None and mount is None:
            return await exchange.refuse(404, "nothing is served here")
        if identity is None and (mount is None or not mount.public):
            return await self._refuse_stranger(exchange, head)
        if mount is not None:
            return await self._pass_on(exchange, mount)
        assert identity is not None
        if head.is_websocket:
            return await self._serve_websocket(exchange, identity)
        if path == "/metrics":
            return await self._metrics(exchange, identity.caller)
        if path == "/logout":
            return await self._log_out(exchange, identity)
        return await self._post(exchange, identity.caller)

    def _mount_of(self, path: str) -> WebMount | None:
        fitting = [one for one in self._parts.mounts if f"{path}/".startswith(f"{one.path.rstrip('/')}/")]
        return max(fitting, key=lambda one: len(one.path), default=None)

    def _identity(self, head: WebHead) -> _Identity | None:
        """Return who asks. A token counts before a cookie, and a wrong one is not made good by a cookie."""
        if not self._defences.access:
            return _Identity(BROWSER)
        if head.all("authorization"):
            caller = self._access.authenticate(head.one("authorization"))
            return None if caller is None else _Identity(caller)
        if self._defences.origin and head.changes_something and not head.all("origin"):
            return None  # a browser states its origin whenever it sends a cookie along with a change
        for cookie in _cookies(head, self._cookie):
            if (login := self._access.login_of(cookie)) is not None:
                return _Identity(BROWSER, login)
        return None

    async def _refuse_stranger(self, exchange: "_Exchange", head: WebHead) -> None:
        has_tried = bool(head.all("authorization") or _cookies(head, self._cookie))
        if has_tried and self._access.is_failing_too_often():
            return await exchange.refuse(429, "too many failed logins; try again in a minute")
        why = "a token is needed: Authorization: Bearer TOKEN"
        return await exchange.refuse(401, why, **{"WWW-Authenticate": "Bearer"})

    # -- routes --

    async def _post(self, exchange: "_Exchange", caller: Caller) -> None:
        if not self._allowances.of(caller).posts.take():
            return await exchange.refuse(429, f"at most {POSTS_PER_SECOND:g} requests a second")
        body = await self._body(exchange, caller)
        text = await answer_post(self._service, self._parts.methods, caller, body, exchange.receive)
        if text is None:
            return await exchange.respond(Response(status_code=204))
        return await exchange.respond(Response(text, media_type="application/json"))

    async def _serve_websocket(self, exchange: "_Exchange", identity: _Identity) -> None:
        allowance = self._allowances.of(identity.caller)
        if self._websockets >= self._most_websockets or allowance.websockets >= allowance.most_websockets:
            return await exchange.refuse(503, "too many WebSockets are open")
        self._websockets += 1
        allowance.websockets += 1
        try:
            websocket = WebSocket(exchange.scope, exchange.receive, exchange.send)
            methods = self._parts.methods
            await serve_websocket(self._service, methods, identity.caller, identity.login, websocket)
        finally:
            self._websockets -= 1
            allowance.websockets -= 1

    async def _metrics(self, exchange: "_Exchange", caller: Caller) -> None:
        if caller.session:
            return await exchange.refuse(403, f"{caller.name} may only use its session")
        if self._parts.numbers is None:
            return await exchange.refuse(404, "nothing is served here")
        return await exchange.respond(PlainTextResponse(metrics_text(self._parts.numbers()), media_type=MEDIA_TYPE))

    async def _log_in(self, exchange: "_Exchange") -> None:
        body = await body_of(exchange.receive, LONGEST_LOGIN)
        try:
            given: Any = load(body)
        except JsonRefused as error:
            return await exchange.refuse(400, str(error))
        code = given.get("code") if isinstance(given, dict) else None  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType] - JSON from outside
        if not isinstance(code, str):
            return await exchange.refuse(400, 'the body must be {"code": "…"}')
        cookie = self._access.log_in(code)
        if cookie is None and self._access.is_failing_too_often():
            return await exchange.refuse(429, "too many failed logins; try again in a minute")
        if cookie is None:
            return await exchange.refuse(401, "the code is wrong, used or too old")
        exchange.caller = BROWSER
        response = JSONResponse({"rights": sorted(BROWSER.rights)})
        self._set_cookie(response, cookie)
        return await exchange.respond(response)

    async def _log_out(self, exchange: "_Exchange", identity: _Identity) -> None:
        await body_of(exchange.receive, LONGEST_LOGIN)
        if identity.login is not None:
            self._access.log_out(identity.login)
        response = Response(status_code=204)
        self._set_cookie(response, "", max_age=0)
        return await exchange.respond(response)

    def _set_cookie(self, response: Response, value: str, max_age: int | None = None) -> None:
        is_secure = self._scheme == "https"
        response.set_cookie(self._cookie, value, max_age, httponly=True, samesite="strict", secure=is_secure)

    async def _pass_on(self, exchange: "_Exchange", mount: WebMount) -> None:
        exchange.scope["state"]["caller"] = exchange.caller
        receive = exchange.receive
        if exchange.scope["type"] == "http" and exchange.caller is not None:
            receive = replayed(await self._body(exchange, exchange.caller), receive)
        elif exchange.scope["type"] == "http" and self._defences.size:
            receive = limited(receive, LONGEST)  # not read yet: the application knows whether it wants it
        await mount.app(exchange.scope, receive, exchange.send)

    async def _body(self, exchange: "_Exchange", caller: Caller) -> bytes:
        async with self._allowances.of(caller).bodies:
            return await body_of(exchange.receive, LONGEST if self._defences.size else None)


class _Exchange:
    """One request and its response. It adds the headers that every response has, and reports the status."""

    def __init__(
        self, scope: Scope, receive: Receive, send: Send, report: Callable[[Caller | None, str], None]
    ) -> None:
        self.scope = scope
        self.receive = receive
        self.status = 0
        self.caller: Caller | None = None
        self._send = send
        self._report = report

    async def send(self, message: Message) -> None:
        if message["type"] in ("http.response.start", "websocket.http.response.start"):
            self.status = message["status"]
            own = {name.lower().encode(): value.encode() for name, value in HEADERS.items()}
            given = [(name, value) for name, value in message.get("headers", ()) if name.lower() not in own]
            message = {**message, "headers": [*given, *own.items()]}
            self._report(self.caller, str(self.status))
        elif message["type"] == "websocket.accept":
            self.status = 101
            self._report(self.caller, "open")
        if self.scope["type"] == "websocket":
            await self._send(message)  # RpcClientConnection watches whether its client reads
            return
        with anyio.move_on_after(STALL_SECS) as scope:
            await self._send(message)
        if scope.cancelled_caught:
            self.scope["state"]["abort"]()
            raise ClientLeft

    async def respond(self, response: Response) -> None:
        await response(self.scope, self.receive, self.send)

    async def refuse(self, status: int, why: str, **headers: str) -> None:
        """Answer with one line and close the connection: the rest of the request is not read."""
        if self.status:
            return
        await self.respond(PlainTextResponse(f"{why}\n", status, headers={"Connection": "close", **headers}))


def _identity_at(mount: WebMount | None, head: WebHead) -> _Identity | None:
    """Return who asks by a token that only this mount knows."""
    if mount is None or mount.identify is None:
        return None
    caller = mount.identify(head.one("authorization"))
    return None if caller is None else _Identity(caller)


def _cookies(head: WebHead, name: str) -> list[str]:
    """Return the values of a cookie. Another port of this machine may have set one of the same name."""
    found: list[str] = []
    for header in head.all("cookie"):
        for part in header.split(";"):
            with contextlib.suppress(CookieError):
                found += [morsel.value for key, morsel in SimpleCookie(part).items() if key == name]
    return found[:8]
