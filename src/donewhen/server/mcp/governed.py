"""Decides about every call of a tool before it is made, and records it: intent before, outcome after.

    governed = GovernedTools(service, tasks, AuditLog(path))
    result = await governed.call(client, "verify", {"session": "…"})       # raises CallRefused and other DonewhenErrors

A call whose intent cannot be recorded is not made. What is refused is recorded as well, but not what comes too fast: a
flood must not fill the log.
"""

import json
from collections import OrderedDict
from collections.abc import Mapping
from typing import Any, cast

import anyio
import anyio.to_thread
from anyio.abc import TaskGroup

from donewhen.errors import DonewhenError
from donewhen.memory.sanitise import visible
from donewhen.server.call_errors import CallRefused
from donewhen.server.error_kinds import error_data
from donewhen.server.mcp.arguments import require_fitting
from donewhen.server.mcp.audit import AuditLog
from donewhen.server.mcp.clients import McpClient
from donewhen.server.mcp.tool_calls import ToolCalls
from donewhen.server.mcp.tools import TOOLS, McpTool
from donewhen.server.mcp.verify_jobs import VerifyJobs
from donewhen.server.rpc.rate import Rate
from donewhen.server.service import Service, Surroundings

LIMITS: Mapping[str, tuple[float, float]] = {
    "": (5.0, 60.0),
    "ask_person": (1 / 120, 5.0),
    "report_progress": (0.5, 30.0),
}
"""Calls of one client per second, and how many at once: of all tools together, and of those that people see."""
MOST_CLIENTS = 10_000
LONGEST_RESULT = 256_000
"""Characters of JSON."""
VERBATIM = ("patch",)
"""Results that must not be changed in any character."""


class GovernedTools:
    def __init__(
        self, service: Service, tasks: TaskGroup, audit: AuditLog, surroundings: Surroundings | None = None
    ) -> None:
        """Verdicts are made in `tasks`. Clients work in `surroundings`, or in those of the daemon."""
        self._surroundings = surroundings
        self._calls = ToolCalls(service, VerifyJobs(tasks))
        self._audit = audit
        self._rates: OrderedDict[tuple[str, str], Rate] = OrderedDict()

    def tools(self, client: McpClient) -> list[McpTool]:
        """Return the tools that a client may use, in the order of the table."""
        return [spec for spec in TOOLS.values() if _may_use(client, spec)]

    async def call(self, client: McpClient, tool: str, given: Mapping[str, Any]) -> Any:
        self._require_rate(client, "")
        call, outcome, detail = "", "broken", ""
        with anyio.CancelScope(shield=True):  # an intent that is recorded gets an outcome
            call = await self._begin(client, tool, given)
        try:
            self._require_allowed(client, tool, given)
            result = bounded(await self._calls.call(client.caller(self._surroundings), tool, given))
            outcome = "ok"
            return result
        except CallRefused as error:
            outcome, detail = "refused", f"{error.kind}: {error}"
            raise
        except DonewhenError as error:
            outcome, detail = "error", f"{error_data(error)['kind']}: {error}"
            raise
        except anyio.get_cancelled_exc_class():
            outcome = "cancelled"
            raise
        finally:
            with anyio.CancelScope(shield=True):
                await anyio.to_thread.run_sync(self._audit.end, call, outcome, detail)

    async def _begin(self, client: McpClient, tool: str, given: Mapping[str, Any]) -> str:
        def begin() -> str:
            return self._audit.begin(client=client.name, session=client.session, tool=tool, arguments=given)

        return await anyio.to_thread.run_sync(begin)

    def _require_allowed(self, client: McpClient, tool: str, given: Mapping[str, Any]) -> None:
        spec = TOOLS.get(tool)
        if spec is None or not _may_use(client, spec):
            raise CallRefused("not_allowed", f"this client may not use a tool named {tool[:60]!r}")
        if tool in LIMITS and "handle" not in given:
            self._require_rate(client, tool)
        require_fitting(spec, bool(client.session), given)
        if client.session and given.get("session", client.session) != client.session:
            raise CallRefused("not_allowed", f"this client may only use session {client.session}")

    def _require_rate(self, client: McpClient, tool: str) -> None:
        key = (client.name, tool)
        if key not in self._rates:
            self._rates[key] = Rate(*LIMITS[tool])
            while len(self._rates) > MOST_CLIENTS:
                self._rates.popitem(last=False)
        if not self._rates[key].take():
            raise CallRefused("too_many", f"too many calls{f' of {tool}' if tool else ''}; wait before the next")


def _may_use(client: McpClient, spec: McpTool) -> bool:
    return spec.name in client.tools and (spec.in_session or not client.session)


def bounded(result: Any) -> Any:
    """Return a result that can be shown, of limited length. A note says if it was cut."""
    shown = _printable(result)
    text = json.dumps(shown)
    if len(text) <= LONGEST_RESULT:
        return shown
    note = f"the result is cut: it has {len(text)} characters"
    return {"truncated": True, "note": note, "beginning": text[:LONGEST_RESULT]}


def _printable(value: Any) -> Any:
    """Remove what a terminal or a reader would not show as text: escape sequences and invisible characters."""
    if isinstance(value, str):
        return visible(value)
    if isinstance(value, Mapping):
        items = cast("Mapping[str, Any]", value).items()
        return {visible(key): one if key in VERBATIM else _printable(one) for key, one in items}
    if isinstance(value, list | tuple):
        return [_printable(one) for one in cast("list[Any]", value)]
    return value
