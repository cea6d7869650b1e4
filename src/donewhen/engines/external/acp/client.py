"""Agent Client Protocol (ACP) client: permissions, cancelling and usage come by protocol, not by guesses.

One invocation is one process, one ACP session and one prompt. We offer the agent neither files nor terminals: it works
with its own tools inside our sandbox, and asks for permission where its mode requires it. A profile defines which
program it is; the caller supplies how its process is started and ended.

Permission is only ever given for the single call that it was asked for: an answer that also holds for later calls would
hide them from the policy.
"""

import re
import shlex
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractAsyncContextManager
from typing import Any, Literal

import anyio

from donewhen import __version__
from donewhen.engines.external.acp.json_rpc import (
    METHOD_NOT_FOUND,
    AgentExited,
    NoReply,
    Pipe,
    RpcConnection,
    RpcError,
    connected,
)
from donewhen.engines.external.acp.updates import UpdateReader, usd_of
from donewhen.engines.external.agent import AgentReport, AgentTask, PermissionRequest
from donewhen.engines.external.agent_events import AgentProblem, AgentStarted, Hear, RawLine, Trouble
from donewhen.engines.external.json_values import mapping, mappings, sequence, text
from donewhen.engines.external.streams.trouble import trouble_of
from donewhen.records import frozen

Kind = Literal["read", "write", "execute", "fetch", "other"]
KINDS: Mapping[str, Kind] = {
    "read": "read",
    "search": "read",
    "edit": "write",
    "delete": "write",
    "move": "write",
    "execute": "execute",
    "fetch": "fetch",
}
COMMANDS = ("command", "cmd", "script")
PATHS = ("path", "file_path", "filePath", "filepath", "fileName", "absolute_path", "notebook_path")
CANCELLED: Mapping[str, Any] = {"outcome": {"outcome": "cancelled"}}


def wish_of(call: Mapping[str, Any]) -> PermissionRequest:
    """Build a permission request from everything that is known about a call.

    If an agent states the command only in the title, the title is used: no command at all would be worse.
    """
    given, title = mapping(call.get("rawInput")), text(call.get("title"))
    command = next(filter(None, (_words(given.get(name)) for name in COMMANDS)), "")
    kind = KINDS.get(text(call.get("kind")), "execute" if command else "other")
    if kind == "execute":
        command = command or title.strip("` \n")
    tool = title or text(call.get("kind")) or "tool"
    return PermissionRequest(tool, kind, command, tuple(dict.fromkeys(_paths(call, given))), given)


def answer_to(options: Any, granted: bool) -> Mapping[str, Any]:
    """Return the option to choose. If none fits, not even one to reject, the call is cancelled."""
    ids = {text(one.get("kind")): text(one.get("optionId")) for one in reversed(mappings(options))}
    fitting = ("allow_once",) if granted else ()
    for kind in (*fitting, "reject_once", "reject_always"):
        if ids.get(kind):
            return {"outcome": {"outcome": "selected", "optionId": ids[kind]}}
    return CANCELLED


def _words(value: Any) -> str:
    words = [one for one in sequence(value) if isinstance(one, str)]
    return shlex.join(words) if words else text(value)


def _paths(call: Mapping[str, Any], given: Mapping[str, Any]) -> Iterator[str]:
    for one in (*mappings(call.get("locations")), *mappings(call.get("content"))):
        if text(one.get("path")):
            yield text(one.get("path"))
    for name in PATHS:
        if text(given.get(name)):
            yield text(given.get(name))


PROTOCOL_VERSION = 1
AUTH_REQUIRED = -32000
ANSWER_SECS = 60.0
"""Time limit for everything but the prompt; agents that start slowly take some seconds."""
LOAD_SECS = 0.3
"""Required silence after a session was loaded: agents keep sending its history after they have answered."""
FAREWELL_SECS = 0.3
ENDING_SECS = 2.0
MCP_NAME = "donewhen"

KEY_METHOD = re.compile(r"api[ _-]?key", re.IGNORECASE)

Start = Callable[[], AbstractAsyncContextManager[Pipe]]
"""Starts the agent's process; leaving the context ends it and everything that it has started."""


@frozen(kw_only=True)
class AcpOptions:
    """Options for every session of the agent."""

    cwd: str
    mode: str = ""
    """The session mode to set; empty: the agent's own default."""
    mcp_url: str = ""
    answer_secs: float = ANSWER_SECS


class AcpAgent:
    def __init__(self, start: Start, manner: AcpOptions) -> None:
        self._start = start
        self._manner = manner

    async def work(self, task: AgentTask, hear: Hear) -> AgentReport:
        async with self._start() as pipe:
            session = _Session(self._manner, task, hear)
            async with connected(pipe, session) as wire:
                return await self._worked(pipe, session, wire)

    async def _worked(self, pipe: Pipe, session: "_Session", wire: RpcConnection) -> AgentReport:
        try:
            await session.open(wire)
        except (RpcError, NoReply) as problem:
            return session.complains(problem, "not_started")
        except AgentExited:
            return await _died(pipe)
        try:
            await session.prompt(wire)
        except RpcError as problem:
            return session.complains(problem, "stopped")
        except AgentExited:
            session.breaks_off()
            return await _died(pipe)
        return AgentReport(end="stopped")


async def _died(pipe: Pipe) -> AgentReport:
    with anyio.move_on_after(ENDING_SECS):
        ending = await pipe.ended()
        return AgentReport(
            end="died", exit_code=ending.exit_code, detail=ending.last_words or "it ended without an answer"
        )
    return AgentReport(end="died", detail="it closed its output but kept running")


class _Session:
    """One ACP session: opens it, sends the task, handles what the agent sends."""

    def __init__(self, manner: AcpOptions, task: AgentTask, hear: Hear) -> None:
        self._manner = manner
        self._task = task
        self._hear = hear
        self._id = ""
        self._usd_before = 0.0
        self._updates: UpdateReader | None = None
        """None until the prompt is sent: before that, agents only repeat what happened earlier."""

    # -- opening --

    async def open(self, wire: RpcConnection) -> None:
        capable = await self._initialize(wire)
        try:
            opened = await self._enter(wire, capable)
        except RpcError as refused:
            if refused.code != AUTH_REQUIRED or not (method := key_method(capable)):
                raise
            await self._ask(wire, "authenticate", {"methodId": method})
            opened = await self._enter(wire, capable)
        await self._set_mode(wire, opened)
        model = await self._set_model(wire, opened)
        self._hear(AgentStarted(self._id, model))

    async def _initialize(self, wire: RpcConnection) -> Mapping[str, Any]:
        offered = {"fs": {"readTextFile": False, "writeTextFile": False}, "terminal": False}
        ours = {"name": "donewhen", "title": "donewhen", "version": __version__}
        hello = {"protocolVersion": PROTOCOL_VERSION, "clientCapabilities": offered, "clientInfo": ours}
        capable = mapping(await self._ask(wire, "initialize", hello))
        version = capable.get("protocolVersion")
        if version != PROTOCOL_VERSION:
            raise RpcError(0, f"it uses version {version!r} of the protocol, not {PROTOCOL_VERSION}")
        return capable

    async def _enter(self, wire: RpcConnection, capable: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the opened session: the earlier one if the agent still has it and can resume it, else a new one."""
        can = mapping(capable.get("agentCapabilities"))
        place = {"cwd": self._manner.cwd, "mcpServers": _servers(self._manner.mcp_url, can)}
        for method in _ways_back(can) if self._task.conversation else ():
            try:
                opened = mapping(await self._ask(wire, method, {"sessionId": self._task.conversation, **place}))
            except RpcError as refused:
                if refused.code == AUTH_REQUIRED:
                    raise
                continue
            if method == "session/load":
                with anyio.move_on_after(self._manner.answer_secs):
                    await wire.hear_out(LOAD_SECS)
            self._id = self._task.conversation
            return opened
        self._usd_before = 0.0
        opened = mapping(await self._ask(wire, "session/new", place))
        self._id = text(opened.get("sessionId"))
        if not self._id:
            raise RpcError(0, "it opened a session without an id")
        return opened

    async def _set_mode(self, wire: RpcConnection, opened: Mapping[str, Any]) -> None:
        """Set the mode. It decides what the agent asks permission for, so without it the task is not sent."""
        mode, modes = self._manner.mode, mapping(opened.get("modes"))
        if not mode or mode == modes.get("currentModeId"):
            return
        if mode in [one.get("id") for one in mappings(modes.get("availableModes"))]:
            await self._ask(wire, "session/set_mode", {"sessionId": self._id, "modeId": mode})
        elif not await self._set_option(wire, opened, "mode", mode):
            raise RpcError(0, f"it has no mode {mode!r}")

    async def _set_model(self, wire: RpcConnection, opened: Mapping[str, Any]) -> str:
        """Return the model in use, as far as the agent reports it; a pinned one is set if it is offered."""
        models, pinned = mapping(opened.get("models")), self._task.model
        current = text(models.get("currentModelId")) or text(_option(opened, "model").get("currentValue"))
        offered = [text(one.get("modelId")) for one in mappings(models.get("availableModels"))]
        wanted = _named(pinned, offered) or _named(pinned, _values(_option(opened, "model")))
        if not wanted or wanted == current:
            return current
        try:
            if wanted in offered:
                await self._ask(wire, "session/set_model", {"sessionId": self._id, "modelId": wanted})
            else:
                await self._set_option(wire, opened, "model", wanted)
        except RpcError as refused:
            self._hear(AgentProblem("agent", f"the model {pinned} was refused: {_in_one_line(refused)}"))
            return current
        return wanted

    async def _set_option(self, wire: RpcConnection, opened: Mapping[str, Any], category: str, value: str) -> bool:
        option = _option(opened, category)
        if value not in _values(option):
            return False
        if value != option.get("currentValue"):
            choice = {"sessionId": self._id, "configId": text(option.get("id")), "value": value}
            await self._ask(wire, "session/set_config_option", choice)
        return True

    async def _ask(self, wire: RpcConnection, method: str, params: Mapping[str, Any]) -> Any:
        return await wire.ask(method, params, self._manner.answer_secs)

    # -- the prompt --

    async def prompt(self, wire: RpcConnection) -> None:
        updates = self._updates = UpdateReader(self._usd_before)
        words = [{"type": "text", "text": self._task.text}]
        try:
            result = await wire.ask("session/prompt", {"sessionId": self._id, "prompt": words})
        except anyio.get_cancelled_exc_class():
            left = await wire.take_leave("session/cancel", {"sessionId": self._id}, CANCELLED, FAREWELL_SECS)
            for happening in updates.bill.end(mapping(left)):
                self._hear(happening)
            raise
        for happening in updates.end(mapping(result)):
            self._hear(happening)

    def breaks_off(self) -> None:
        for happening in self._updates.break_off() if self._updates else ():
            self._hear(happening)

    def complains(self, problem: RpcError | NoReply, end: Any) -> AgentReport:
        self.breaks_off()
        said = _in_one_line(problem)
        self._hear(AgentProblem(_trouble(problem), said))
        return AgentReport(end=end, detail=said)

    # -- listening --

    def raw(self, value: Any) -> None:
        self._hear(RawLine(value))

    def notice(self, method: str, params: Mapping[str, Any]) -> None:
        if method != "session/update":
            return
        update = mapping(params.get("update"))
        if self._updates is None:
            self._usd_before = usd_of(update) or self._usd_before
        elif params.get("sessionId") == self._id:
            for happening in self._updates.update(update):
                self._hear(happening)

    async def answer(self, method: str, params: Mapping[str, Any]) -> Any:
        if method != "session/request_permission":
            raise RpcError(METHOD_NOT_FOUND, f"Method not found: {method}")
        call, updates = mapping(params.get("toolCall")), self._updates
        if updates is None:
            return CANCELLED
        for happening in updates.asked_leave(call):
            self._hear(happening)
        id = text(call.get("toolCallId"))
        wish = wish_of({**updates.known(id), "content": call.get("content")})
        granted = await self._task.permit(wish)
        if not granted:
            updates.refused(id)
        return answer_to(params.get("options"), granted)


def _servers(mcp_url: str, can: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    if not mcp_url or mapping(can.get("mcpCapabilities")).get("http") is not True:
        return []
    return [{"type": "http", "name": MCP_NAME, "url": mcp_url, "headers": []}]


def _ways_back(can: Mapping[str, Any]) -> Iterator[str]:
    """Yield the methods that resume a session. `resume` is preferred: `load` repeats the whole history first."""
    if mapping(can.get("sessionCapabilities")).get("resume") is not None:
        yield "session/resume"
    if can.get("loadSession") is True:
        yield "session/load"


def key_method(capable: Mapping[str, Any]) -> str:
    """Return an authentication method that needs neither browser nor terminal: by a key in the agent's environment."""
    for one in mappings(capable.get("authMethods")):
        by_key = KEY_METHOD.search(f"{text(one.get('id'))} {text(one.get('name'))}") and one.get("type") != "terminal"
        if one.get("type") == "env_var" or by_key:
            return text(one.get("id"))
    return ""


def _option(opened: Mapping[str, Any], category: str) -> Mapping[str, Any]:
    options = mappings(opened.get("configOptions"))
    return next((one for one in options if category in (one.get("category"), one.get("id"))), mapping(None))


def _values(option: Mapping[str, Any]) -> list[str]:
    """Return the values that can be chosen, grouped or not."""
    choices = mappings(option.get("options"))
    every = [*choices, *(one for group in choices for one in mappings(group.get("options")))]
    return [text(one.get("value")) for one in every if text(one.get("value"))]


def _named(model: str, offered: list[str]) -> str:
    """Return the offered name of a model; some names start with the provider. Empty if it is not offered."""
    exact = [one for one in offered if one == model]
    return next((one for one in (*exact, *offered) if model and (one == model or one.endswith(f"/{model}"))), "")


def _trouble(problem: RpcError | NoReply) -> Trouble:
    if isinstance(problem, RpcError):
        return "sign_in" if problem.code == AUTH_REQUIRED else trouble_of(f"{_in_one_line(problem)} {problem.data}")
    return "agent"


def _in_one_line(problem: RpcError | NoReply) -> str:
    """Return an agent's error in one line, with details: the message alone is often just "Internal error"."""
    data = problem.data if isinstance(problem, RpcError) else None
    details = (
        data if isinstance(data, str) else text(mapping(data).get("details")) or text(mapping(data).get("message"))
    )
    return " ".join(": ".join(filter(None, (str(problem), details))).split())
