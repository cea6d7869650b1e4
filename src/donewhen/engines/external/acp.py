"""The way in through the Agent Client Protocol: leave, cancelling and usage come as protocol, not as guesses.

One invocation is one process, one session of its, one prompt. We offer the agent neither files nor terminals: it works
with its own tools inside our walls, and asks leave where its mode has it ask. Which program it is stands in a profile;
how its process is started and ended is handed in.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractAsyncContextManager
from typing import Any

import anyio

from donewhen import __version__
from donewhen.engines.external.acp_leave import CANCELLED, answer_to, wish_of
from donewhen.engines.external.acp_updates import Updates, usd_of
from donewhen.engines.external.acp_wire import METHOD_NOT_FOUND, Ended, Pipe, Refused, Silent, Wire, connected
from donewhen.engines.external.agent import Report, Task
from donewhen.engines.external.happening import Began, Complained, Hear, Raw, Trouble
from donewhen.engines.external.json_values import mapping, mappings, text
from donewhen.engines.external.streams.trouble import trouble_of
from donewhen.records import frozen

PROTOCOL_VERSION = 1
AUTH_REQUIRED = -32000
ANSWER_SECS = 60.0
"""For everything but the prompt; agents that start slowly take some seconds."""
LOAD_SECS = 0.3
"""So long it must be quiet after a session was loaded: agents go on telling what was, though they have answered."""
FAREWELL_SECS = 0.3
ENDING_SECS = 2.0
MCP_NAME = "donewhen"

KEY_METHOD = re.compile(r"api[ _-]?key", re.IGNORECASE)

Start = Callable[[], AbstractAsyncContextManager[Pipe]]
"""Starts the agent's process; leaving the context ends it with all that it has started."""


@frozen(kw_only=True)
class Manner:
    """What is asked of the agent in every session."""

    cwd: str
    mode: str = ""
    """The session mode to set; empty: the agent's own default."""
    mcp_url: str = ""
    answer_secs: float = ANSWER_SECS


class AcpAgent:
    def __init__(self, start: Start, manner: Manner) -> None:
        self._start = start
        self._manner = manner

    async def work(self, task: Task, hear: Hear) -> Report:
        async with self._start() as pipe:
            session = _Session(self._manner, task, hear)
            async with connected(pipe, session) as wire:
                return await self._worked(pipe, session, wire)

    async def _worked(self, pipe: Pipe, session: "_Session", wire: Wire) -> Report:
        try:
            await session.open(wire)
        except (Refused, Silent) as problem:
            return session.complains(problem, "not_started")
        except Ended:
            return await _died(pipe)
        try:
            await session.prompt(wire)
        except Refused as problem:
            return session.complains(problem, "stopped")
        except Ended:
            session.breaks_off()
            return await _died(pipe)
        return Report(end="stopped")


async def _died(pipe: Pipe) -> Report:
    with anyio.move_on_after(ENDING_SECS):
        ending = await pipe.ended()
        return Report(end="died", exit_code=ending.exit_code, detail=ending.last_words or "it ended without an answer")
    return Report(end="died", detail="it closed its output and went on running")


class _Session:
    """One session of the agent: opens it, gives it the task, listens to it."""

    def __init__(self, manner: Manner, task: Task, hear: Hear) -> None:
        self._manner = manner
        self._task = task
        self._hear = hear
        self._id = ""
        self._usd_before = 0.0
        self._updates: Updates | None = None
        """None until the prompt is given: before it, agents only tell again what happened earlier."""

    # -- opening --

    async def open(self, wire: Wire) -> None:
        capable = await self._initialize(wire)
        try:
            opened = await self._enter(wire, capable)
        except Refused as refused:
            if refused.code != AUTH_REQUIRED or not (method := key_method(capable)):
                raise
            await self._ask(wire, "authenticate", {"methodId": method})
            opened = await self._enter(wire, capable)
        await self._set_mode(wire, opened)
        model = await self._set_model(wire, opened)
        self._hear(Began(self._id, model))

    async def _initialize(self, wire: Wire) -> Mapping[str, Any]:
        offered = {"fs": {"readTextFile": False, "writeTextFile": False}, "terminal": False}
        ours = {"name": "donewhen", "title": "donewhen", "version": __version__}
        hello = {"protocolVersion": PROTOCOL_VERSION, "clientCapabilities": offered, "clientInfo": ours}
        capable = mapping(await self._ask(wire, "initialize", hello))
        version = capable.get("protocolVersion")
        if version != PROTOCOL_VERSION:
            raise Refused(0, f"it speaks version {version!r} of the protocol, not {PROTOCOL_VERSION}")
        return capable

    async def _enter(self, wire: Wire, capable: Mapping[str, Any]) -> Mapping[str, Any]:
        """The session: the earlier one where the agent has it still and can go on with it, else a new one."""
        can = mapping(capable.get("agentCapabilities"))
        place = {"cwd": self._manner.cwd, "mcpServers": _servers(self._manner.mcp_url, can)}
        for method in _ways_back(can) if self._task.conversation else ():
            try:
                opened = mapping(await self._ask(wire, method, {"sessionId": self._task.conversation, **place}))
            except Refused as refused:
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
            raise Refused(0, "it opened a session without an id")
        return opened

    async def _set_mode(self, wire: Wire, opened: Mapping[str, Any]) -> None:
        """A mode decides what the agent asks leave for: without it the task is not given."""
        mode, modes = self._manner.mode, mapping(opened.get("modes"))
        if not mode or mode == modes.get("currentModeId"):
            return
        if mode in [one.get("id") for one in mappings(modes.get("availableModes"))]:
            await self._ask(wire, "session/set_mode", {"sessionId": self._id, "modeId": mode})
        elif not await self._set_option(wire, opened, "mode", mode):
            raise Refused(0, f"it has no mode {mode!r}")

    async def _set_model(self, wire: Wire, opened: Mapping[str, Any]) -> str:
        """The model that is used, as far as the agent says; a pinned one is set where it is offered."""
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
        except Refused as refused:
            self._hear(Complained("agent", f"the model {pinned} was refused: {_in_one_line(refused)}"))
            return current
        return wanted

    async def _set_option(self, wire: Wire, opened: Mapping[str, Any], category: str, value: str) -> bool:
        option = _option(opened, category)
        if value not in _values(option):
            return False
        if value != option.get("currentValue"):
            choice = {"sessionId": self._id, "configId": text(option.get("id")), "value": value}
            await self._ask(wire, "session/set_config_option", choice)
        return True

    async def _ask(self, wire: Wire, method: str, params: Mapping[str, Any]) -> Any:
        return await wire.ask(method, params, self._manner.answer_secs)

    # -- the prompt --

    async def prompt(self, wire: Wire) -> None:
        updates = self._updates = Updates(self._usd_before)
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

    def complains(self, problem: Refused | Silent, end: Any) -> Report:
        self.breaks_off()
        said = _in_one_line(problem)
        self._hear(Complained(_trouble(problem), said))
        return Report(end=end, detail=said)

    # -- listening --

    def raw(self, value: Any) -> None:
        self._hear(Raw(value))

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
            raise Refused(METHOD_NOT_FOUND, f"Method not found: {method}")
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
    """The methods that go on with a session. `resume` is preferred: `load` tells everything again first."""
    if mapping(can.get("sessionCapabilities")).get("resume") is not None:
        yield "session/resume"
    if can.get("loadSession") is True:
        yield "session/load"


def key_method(capable: Mapping[str, Any]) -> str:
    """A way to authenticate that needs no browser and no terminal: by a key that the agent has in its environment."""
    for one in mappings(capable.get("authMethods")):
        by_key = KEY_METHOD.search(f"{text(one.get('id'))} {text(one.get('name'))}") and one.get("type") != "terminal"
        if one.get("type") == "env_var" or by_key:
            return text(one.get("id"))
    return ""


def _option(opened: Mapping[str, Any], category: str) -> Mapping[str, Any]:
    options = mappings(opened.get("configOptions"))
    return next((one for one in options if category in (one.get("category"), one.get("id"))), mapping(None))


def _values(option: Mapping[str, Any]) -> list[str]:
    """What can be chosen, groups or not."""
    choices = mappings(option.get("options"))
    every = [*choices, *(one for group in choices for one in mappings(group.get("options")))]
    return [text(one.get("value")) for one in every if text(one.get("value"))]


def _named(model: str, offered: list[str]) -> str:
    """A model among those that are offered, some of which name their provider first."""
    exact = [one for one in offered if one == model]
    return next((one for one in (*exact, *offered) if model and (one == model or one.endswith(f"/{model}"))), "")


def _trouble(problem: Refused | Silent) -> Trouble:
    if isinstance(problem, Refused):
        return "sign_in" if problem.code == AUTH_REQUIRED else trouble_of(f"{_in_one_line(problem)} {problem.data}")
    return "agent"


def _in_one_line(problem: Refused | Silent) -> str:
    """What an agent answered with, its details included: the message alone is often just "Internal error"."""
    data = problem.data if isinstance(problem, Refused) else None
    details = (
        data if isinstance(data, str) else text(mapping(data).get("details")) or text(mapping(data).get("message"))
    )
    return " ".join(": ".join(filter(None, (str(problem), details))).split())
