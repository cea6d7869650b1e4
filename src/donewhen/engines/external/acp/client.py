"""Agent Client Protocol (ACP) client: the protocol itself carries permissions, cancelling and usage.

One invocation is one process, one ACP session and one prompt. We offer the agent neither files nor terminals: it works
with its own tools inside our sandbox, and asks for permission where its mode requires it. A profile defines which
program it is; the caller supplies how its process is started and ended.

Permission is given for a single call only. An answer that also holds for later calls would hide them from the policy.
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
    open_connection,
)
from donewhen.engines.external.acp.updates import UpdateReader, usd_of
from donewhen.engines.external.agent import AgentReport, AgentTask, PermissionRequest
from donewhen.engines.external.agent_events import AgentProblem, AgentStarted, OnAgentEvent, ProblemKind, RawLine
from donewhen.engines.external.json_values import mapping, mappings, sequence, text
from donewhen.engines.external.streams.problems import problem_kind
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


def permission_request(call: Mapping[str, Any]) -> PermissionRequest:
    """Build a permission request from everything that is known about a call.

    If an agent states the command only in the title, the title is used: no command at all would be worse.
    """
    given, title = mapping(call.get("rawInput")), text(call.get("title"))
    command = next(filter(None, (_command_text(given.get(name)) for name in COMMANDS)), "")
    kind = KINDS.get(text(call.get("kind")), "execute" if command else "other")
    if kind == "execute":
        command = command or title.strip("` \n")
    tool = title or text(call.get("kind")) or "tool"
    return PermissionRequest(tool, kind, command, tuple(dict.fromkeys(_paths(call, given))), given)


def permission_answer(options: Any, granted: bool) -> Mapping[str, Any]:
    """Return the option to choose. If none fits, not even one to reject, the call is cancelled."""
    ids = {text(one.get("kind")): text(one.get("optionId")) for one in reversed(mappings(options))}
    fitting = ("allow_once",) if granted else ()
    for kind in (*fitting, "reject_once", "reject_always"):
        if ids.get(kind):
            return {"outcome": {"outcome": "selected", "optionId": ids[kind]}}
    return CANCELLED


def _command_text(value: Any) -> str:
    content = [one for one in sequence(value) if isinstance(one, str)]
    return shlex.join(content) if content else text(value)


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
CANCEL_SECS = 0.3
EXIT_SECS = 2.0
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
    def __init__(self, start: Start, options: AcpOptions) -> None:
        self._start = start
        self._options = options

    async def work(self, task: AgentTask, on_event: OnAgentEvent) -> AgentReport:
        async with self._start() as pipe:
            session = _Session(self._options, task, on_event)
            async with open_connection(pipe, session) as connection:
                return await self._run(pipe, session, connection)

    async def _run(self, pipe: Pipe, session: "_Session", connection: RpcConnection) -> AgentReport:
        try:
            await session.open(connection)
        except (RpcError, NoReply) as problem:
            return session.report_problem(problem, "not_started")
        except AgentExited:
            return await _death_report(pipe)
        try:
            await session.prompt(connection)
        except RpcError as problem:
            return session.report_problem(problem, "stopped")
        except AgentExited:
            session.end_updates()
            return await _death_report(pipe)
        return AgentReport(end="stopped")


async def _death_report(pipe: Pipe) -> AgentReport:
    with anyio.move_on_after(EXIT_SECS):
        exit_info = await pipe.wait_ended()
        return AgentReport(
            end="died", exit_code=exit_info.exit_code, detail=exit_info.last_stderr_line or "it ended without an answer"
        )
    return AgentReport(end="died", detail="it closed its output but kept running")


class _Session:
    """One ACP session: opens it, sends the task, handles what the agent sends."""

    def __init__(self, options: AcpOptions, task: AgentTask, on_event: OnAgentEvent) -> None:
        self._options = options
        self._task = task
        self._on_event = on_event
        self._id = ""
        self._usd_before = 0.0
        self._updates: UpdateReader | None = None
        """None until the prompt is sent: before that, agents only repeat what happened earlier."""

    # -- opening --

    async def open(self, connection: RpcConnection) -> None:
        capabilities = await self._initialize(connection)
        try:
            opened = await self._open_session(connection, capabilities)
        except RpcError as error:
            if error.code != AUTH_REQUIRED or not (method := key_method(capabilities)):
                raise
            await self._ask(connection, "authenticate", {"methodId": method})
            opened = await self._open_session(connection, capabilities)
        await self._set_mode(connection, opened)
        model = await self._set_model(connection, opened)
        self._on_event(AgentStarted(self._id, model))

    async def _initialize(self, connection: RpcConnection) -> Mapping[str, Any]:
        offered = {"fs": {"readTextFile": False, "writeTextFile": False}, "terminal": False}
        ours = {"name": "donewhen", "title": "donewhen", "version": __version__}
        hello = {"protocolVersion": PROTOCOL_VERSION, "clientCapabilities": offered, "clientInfo": ours}
        capabilities = mapping(await self._ask(connection, "initialize", hello))
        version = capabilities.get("protocolVersion")
        if version != PROTOCOL_VERSION:
            raise RpcError(0, f"it uses version {version!r} of the protocol, not {PROTOCOL_VERSION}")
        return capabilities

    async def _open_session(self, connection: RpcConnection, capabilities: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the opened session: the earlier one if the agent still has it and can resume it, else a new one."""
        abilities = mapping(capabilities.get("agentCapabilities"))
        session_params = {"cwd": self._options.cwd, "mcpServers": _mcp_servers(self._options.mcp_url, abilities)}
        for method in _resume_methods(abilities) if self._task.conversation else ():
            try:
                opened = mapping(
                    await self._ask(connection, method, {"sessionId": self._task.conversation, **session_params})
                )
            except RpcError as error:
                if error.code == AUTH_REQUIRED:
                    raise
                continue
            if method == "session/load":
                with anyio.move_on_after(self._options.answer_secs):
                    await connection.read_until_quiet(LOAD_SECS)
            self._id = self._task.conversation
            return opened
        self._usd_before = 0.0
        opened = mapping(await self._ask(connection, "session/new", session_params))
        self._id = text(opened.get("sessionId"))
        if not self._id:
            raise RpcError(0, "it opened a session without an id")
        return opened

    async def _set_mode(self, connection: RpcConnection, opened: Mapping[str, Any]) -> None:
        """Set the mode. It decides what the agent asks permission for, so without it the task is not sent."""
        mode, modes = self._options.mode, mapping(opened.get("modes"))
        if not mode or mode == modes.get("currentModeId"):
            return
        if mode in [one.get("id") for one in mappings(modes.get("availableModes"))]:
            await self._ask(connection, "session/set_mode", {"sessionId": self._id, "modeId": mode})
        elif not await self._set_option(connection, opened, "mode", mode):
            raise RpcError(0, f"it has no mode {mode!r}")

    async def _set_model(self, connection: RpcConnection, opened: Mapping[str, Any]) -> str:
        """Return the model in use, as far as the agent reports it; a pinned one is set if it is offered."""
        models, pinned = mapping(opened.get("models")), self._task.model
        current = text(models.get("currentModelId")) or text(_option(opened, "model").get("currentValue"))
        offered = [text(one.get("modelId")) for one in mappings(models.get("availableModels"))]
        wanted = _offered_name(pinned, offered) or _offered_name(pinned, _values(_option(opened, "model")))
        if not wanted or wanted == current:
            return current
        try:
            if wanted in offered:
                await self._ask(connection, "session/set_model", {"sessionId": self._id, "modelId": wanted})
            else:
                await self._set_option(connection, opened, "model", wanted)
        except RpcError as error:
            self._on_event(AgentProblem("agent", f"the model {pinned} was refused: {_in_one_line(error)}"))
            return current
        return wanted

    async def _set_option(
        self, connection: RpcConnection, opened: Mapping[str, Any], category: str, value: str
    ) -> bool:
        option = _option(opened, category)
        if value not in _values(option):
            return False
        if value != option.get("currentValue"):
            choice = {"sessionId": self._id, "configId": text(option.get("id")), "value": value}
            await self._ask(connection, "session/set_config_option", choice)
        return True

    async def _ask(self, connection: RpcConnection, method: str, params: Mapping[str, Any]) -> Any:
        return await connection.ask(method, params, self._options.answer_secs)

    # -- the prompt --

    async def prompt(self, connection: RpcConnection) -> None:
        updates = self._updates = UpdateReader(self._usd_before)
        content = [{"type": "text", "text": self._task.text}]
        try:
            result = await connection.ask("session/prompt", {"sessionId": self._id, "prompt": content})
        except anyio.get_cancelled_exc_class():
            answer = await connection.send_last("session/cancel", {"sessionId": self._id}, CANCELLED, CANCEL_SECS)
            for event in updates.bill.end(mapping(answer)):
                self._on_event(event)
            raise
        for event in updates.end(mapping(result)):
            self._on_event(event)

    def end_updates(self) -> None:
        for event in self._updates.end_early() if self._updates else ():
            self._on_event(event)

    def report_problem(self, problem: RpcError | NoReply, end: Any) -> AgentReport:
        self.end_updates()
        message = _in_one_line(problem)
        self._on_event(AgentProblem(_problem_kind(problem), message))
        return AgentReport(end=end, detail=message)

    # -- listening --

    def on_raw(self, value: Any) -> None:
        self._on_event(RawLine(value))

    def on_notification(self, method: str, params: Mapping[str, Any]) -> None:
        if method != "session/update":
            return
        update = mapping(params.get("update"))
        if self._updates is None:
            self._usd_before = usd_of(update) or self._usd_before
        elif params.get("sessionId") == self._id:
            for event in self._updates.update(update):
                self._on_event(event)

    async def answer(self, method: str, params: Mapping[str, Any]) -> Any:
        if method != "session/request_permission":
            raise RpcError(METHOD_NOT_FOUND, f"Method not found: {method}")
        call, updates = mapping(params.get("toolCall")), self._updates
        if updates is None:
            return CANCELLED
        for event in updates.permission_asked(call):
            self._on_event(event)
        id = text(call.get("toolCallId"))
        request = permission_request({**updates.call_fields(id), "content": call.get("content")})
        granted = await self._task.permit(request)
        if not granted:
            updates.mark_refused(id)
        return permission_answer(params.get("options"), granted)


def _mcp_servers(mcp_url: str, abilities: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    if not mcp_url or mapping(abilities.get("mcpCapabilities")).get("http") is not True:
        return []
    return [{"type": "http", "name": MCP_NAME, "url": mcp_url, "headers": []}]


def _resume_methods(abilities: Mapping[str, Any]) -> Iterator[str]:
    """Yield the methods that resume a session. `resume` is preferred: `load` repeats the whole history first."""
    if mapping(abilities.get("sessionCapabilities")).get("resume") is not None:
        yield "session/resume"
    if abilities.get("loadSession") is True:
        yield "session/load"


def key_method(capabilities: Mapping[str, Any]) -> str:
    """Return an authentication method that needs neither browser nor terminal: by a key in the agent's environment."""
    for one in mappings(capabilities.get("authMethods")):
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


def _offered_name(model: str, offered: list[str]) -> str:
    """Return the offered name of a model; some names start with the provider. Empty if it is not offered."""
    exact = [one for one in offered if one == model]
    return next((one for one in (*exact, *offered) if model and (one == model or one.endswith(f"/{model}"))), "")


def _problem_kind(problem: RpcError | NoReply) -> ProblemKind:
    if isinstance(problem, RpcError):
        return "sign_in" if problem.code == AUTH_REQUIRED else problem_kind(f"{_in_one_line(problem)} {problem.data}")
    return "agent"


def _in_one_line(problem: RpcError | NoReply) -> str:
    """Return an agent's error in one line, with details: the message alone is often just "Internal error"."""
    data = problem.data if isinstance(problem, RpcError) else None
    details = (
        data if isinstance(data, str) else text(mapping(data).get("details")) or text(mapping(data).get("message"))
    )
    return " ".join(": ".join(filter(None, (str(problem), details))).split())
