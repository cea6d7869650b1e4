"""Carries out JSON-RPC 2.0 messages: one request, a notification or a batch in, the response out.

pjrpc reads a request and builds its response. Each element of a batch is dispatched on its own, so that one that is
malformed spoils no other. Errors of this program have the code -32000 and say their kind in `data`.
"""

import json
import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, cast

from pjrpc.common import UNSET, Request, Response
from pjrpc.common.exceptions import JsonRpcError
from pjrpc.server import AsyncDispatcher
from pjrpc.server.exceptions import InternalError, InvalidParamsError, InvalidRequestError, MethodNotFoundError

from donewhen.errors import DonewhenError
from donewhen.server.error_kinds import ErrorKind, error_data
from donewhen.server.rpc.bounded_json import JsonRefused, load

MOST_IN_BATCH = 100
LONGEST_ID = 200
"""Characters. An id is sent back, and a long one would make the response larger than the request."""
OWN_ERROR = -32000
PARSE_ERROR = -32700
Handle = Callable[[str, Mapping[str, Any]], Awaitable[Any]]
"""Carries out one method with its parameters."""

logging.getLogger("pjrpc").addHandler(logging.NullHandler())
logging.getLogger("pjrpc").propagate = False  # its messages contain parameters


class RpcDispatcher:
    def __init__(self, methods: Mapping[str, Any], handle: Handle) -> None:
        """`methods` has the known names. `handle` raises a DonewhenError for a call that is refused or fails."""
        self._methods = methods
        self._handle = handle
        self._dispatcher: AsyncDispatcher[None] = AsyncDispatcher(
            json_loader=_same, json_dumper=_same, middlewares=(self._carry_out,)
        )

    async def dispatch(self, message: str | bytes) -> str | None:
        """Return the response as JSON; None if the message is a notification or a batch of notifications."""
        try:
            value = load(message)
        except JsonRefused as error:
            return error_text(PARSE_ERROR, "Parse error", str(error))
        if not isinstance(value, list):
            response = await self._one(value)
            return None if response is None else _text(response)
        batch = cast("list[Any]", value)
        if not batch or len(batch) > MOST_IN_BATCH:
            why = f"a batch has 1 to {MOST_IN_BATCH} requests, not {len(batch)}"
            return error_text(InvalidRequestError.CODE, InvalidRequestError.MESSAGE, why)
        responses = [one for element in batch if (one := await self._one(element)) is not None]
        return _text(responses) if responses else None

    async def _one(self, value: Any) -> Any:
        if not isinstance(value, dict):
            return _error(InvalidRequestError.CODE, InvalidRequestError.MESSAGE, "a request is an object")
        id = cast("dict[str, Any]", value).get("id")
        if isinstance(id, bool) or (isinstance(id, str) and len(id) > LONGEST_ID):
            why = f"an id is a number, or a text of at most {LONGEST_ID} characters"
            return _error(InvalidRequestError.CODE, InvalidRequestError.MESSAGE, why)
        # The loader passes values through: what is given here is parsed already.
        answered = await self._dispatcher.dispatch(cast("str", value), None)
        return None if answered is None else _with_kind(cast("dict[str, Any]", answered[0]))

    async def _carry_out(self, request: Request, context: None, handler: Any) -> Any:
        """Take the place of pjrpc's own look-up of methods, which knows no rights and no types."""
        del context, handler

        try:
            result = await self._result_of(request)
        except JsonRpcError as error:
            return Response(id=request.id, error=error) if request.id is not None else UNSET
        return Response(id=request.id, result=result) if request.id is not None else UNSET

    async def _result_of(self, request: Request) -> Any:
        if request.method not in self._methods:
            raise MethodNotFoundError(data={"kind": "method_not_found", "method": request.method[:100]})
        if not isinstance(request.params or {}, dict):
            raise InvalidParamsError(data={"kind": "invalid_params", "problem": "parameters are given by name"})
        try:
            return await self._handle(request.method, cast("dict[str, Any]", request.params or {}))
        except DonewhenError as error:
            raise rpc_error(error) from error
        except Exception as error:
            raise InternalError(data={"kind": "internal", "problem": type(error).__name__}) from error


def rpc_error(error: DonewhenError) -> JsonRpcError:
    """Return an error of this program as one of JSON-RPC."""
    facts = error_data(error)
    code = InvalidParamsError.CODE if facts["kind"] == ErrorKind.INVALID_PARAMS else OWN_ERROR
    return JsonRpcError(code=code, message=str(error), data=facts)


def error_text(code: int, message: str, problem: str) -> str:
    """Return the response to a message that has no readable id."""
    return _text(_error(code, message, problem))


def _error(code: int, message: str, problem: str) -> dict[str, Any]:
    kind = "parse_error" if code == PARSE_ERROR else "invalid_request"
    return {
        "jsonrpc": "2.0",
        "id": None,
        "error": {"code": code, "message": message, "data": {"kind": kind, "problem": problem}},
    }


def _with_kind(response: dict[str, Any]) -> dict[str, Any]:
    """Give an error of pjrpc itself the form of all others: it has a text as its data."""
    error = response.get("error")
    if error is not None and isinstance(error.get("data"), str):
        error["data"] = {"kind": "invalid_request", "problem": error["data"]}
    return response


def _same(value: Any, cls: object = None) -> Any:
    del cls
    return value


def _text(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"))
