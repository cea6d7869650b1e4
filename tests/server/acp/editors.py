"""Editors for tests: the client of the official SDK at the real program, and a person who decides and answers."""

import contextlib
import os
import secrets
import signal
from asyncio.subprocess import Process
from collections.abc import AsyncGenerator, Callable, Sequence
from pathlib import Path
from typing import Any, cast

import anyio
from acp.client.connection import ClientSideConnection
from acp.helpers import text_block
from acp.interfaces import Client
from acp.schema import ClientCapabilities, PromptResponse
from acp.stdio import spawn_agent_process

from program import PROGRAM

Update = dict[str, Any]
FORMS: dict[str, Any] = {"elicitation": {"form": {}}}


class Person:
    """Decides and answers as the test says, and keeps what the editor shows."""

    def __init__(self, decision: str | None = "approve", answer: str | None = None) -> None:
        """`decision` is the id of the chosen option; None: the question is dismissed. The same for `answer`."""
        self.decision = decision
        self.answer = answer
        self.shown: list[Update] = []
        self.asked: list[dict[str, Any]] = []
        self.changed = anyio.Event()

    async def session_update(self, session_id: str, update: Any, **_: Any) -> None:
        self.shown.append(
            {"conversation": session_id, **update.model_dump(mode="json", by_alias=True, exclude_none=True)}
        )
        self._note()

    async def request_permission(self, session_id: str, tool_call: Any, options: Any, **_: Any) -> Any:
        self.asked.append(
            {
                "conversation": session_id,
                "title": tool_call.title,
                "text": "".join(one.content.text for one in tool_call.content),
                "options": [(one.option_id, one.kind) for one in options],
            }
        )
        self._note()
        if self.decision == "never":
            await anyio.sleep_forever()
        if self.decision is None:
            return {"outcome": {"outcome": "cancelled"}}
        return {"outcome": {"outcome": "selected", "optionId": self.decision}}

    async def create_elicitation(self, message: str, mode: Any, **_: Any) -> Any:
        self.asked.append({"question": message, "schema": mode.requested_schema})
        self._note()
        return (
            {"action": "decline"} if self.answer is None else {"action": "accept", "content": {"answer": self.answer}}
        )

    def on_connect(self, conn: Any) -> None:
        """The SDK calls it."""

    def _note(self) -> None:
        self.changed.set()
        self.changed = anyio.Event()

    async def sees(self, is_it: Callable[[Update], bool]) -> Update:
        """Wait until something is shown."""
        while True:
            for one in self.shown:
                if is_it(one):
                    return one
            await self.changed.wait()

    async def is_asked(self) -> dict[str, Any]:
        while not self.asked:
            await self.changed.wait()
        return self.asked[-1]

    def of(self, kind: str) -> list[Update]:
        return [one for one in self.shown if one["sessionUpdate"] == kind]

    @property
    def text(self) -> str:
        """What the agent has said."""
        return "".join(one["content"]["text"] for one in self.of("agent_message_chunk"))

    @property
    def tools(self) -> dict[str, Update]:
        """The latest state of each tool call, by its title."""
        calls: dict[str, Update] = {}
        for one in self.shown:
            if one["sessionUpdate"] in ("tool_call", "tool_call_update"):
                calls[one["toolCallId"]] = {**calls.get(one["toolCallId"], {}), **one}
        return {str(one.get("title")): one for one in calls.values()}

    @property
    def plan(self) -> list[tuple[str, str]]:
        return [(one["content"], one["status"]) for one in self.of("plan")[-1]["entries"]]


class Editor:
    """An editor with one conversation."""

    def __init__(self, connection: ClientSideConnection, process: Process, conversation: str) -> None:
        self.connection = connection
        self.process = process
        self.conversation = conversation

    async def prompt(self, *blocks: Any) -> str:
        """Send a prompt and return why the agent stopped."""
        content = [text_block(one) if isinstance(one, str) else one for one in blocks]
        reply: PromptResponse = await self.connection.prompt(session_id=self.conversation, prompt=content)
        return reply.stop_reason

    async def cancel(self) -> None:
        await self.connection.cancel(session_id=self.conversation)

    async def choose(self, option: str, value: str) -> Any:
        return await self.connection.set_config_option(config_id=option, session_id=self.conversation, value=value)


@contextlib.asynccontextmanager
async def started(person: Person, *options: str, capabilities: Any = None) -> AsyncGenerator[tuple[Any, Process]]:
    """Provide a connection to the program. It must end by itself, quickly and well, when the connection is closed."""
    async with spawn_agent_process(
        cast("Client", person),
        str(PROGRAM),
        "acp",
        *options,
        env=dict(os.environ),
        transport_kwargs={"stderr": None, "shutdown_timeout": 30.0},
        use_unstable_protocol=True,
    ) as (connection, process):
        given = ClientCapabilities.model_validate(capabilities or {})
        await connection.initialize(protocol_version=1, client_capabilities=given)
        yield connection, process


@contextlib.asynccontextmanager
async def editor(
    person: Person, directory: Path, *options: str, capabilities: Any = None, load: str = ""
) -> AsyncGenerator[Editor]:
    """Provide an editor with a new conversation, or with one that it loads."""
    async with started(person, *options, capabilities=capabilities) as (connection, process):
        if load:
            await connection.load_session(cwd=str(directory), session_id=load, mcp_servers=[])
            yield Editor(connection, process, load)
        else:
            made = await connection.new_session(cwd=str(directory), mcp_servers=[])
            yield Editor(connection, process, made.session_id)


def new_mark() -> str:
    """Return seconds of sleep by which one test finds its own commands."""
    return f"{secrets.randbelow(10**6) + 10**6}.25"


def processes(mark: str) -> list[int]:
    """Return the processes whose command line has a mark in it."""
    found: list[int] = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            with contextlib.suppress(OSError):
                if mark.encode() in (entry / "cmdline").read_bytes():
                    found.append(int(entry.name))
    return found


async def until(is_so: Callable[[], object]) -> None:
    """Wait until something is so that no event tells. The time limit of the test ends a wait in vain."""
    while not is_so():
        with anyio.move_on_after(0.02):
            await anyio.sleep_forever()


def kill(pids: Sequence[int]) -> None:
    for pid in pids:
        os.kill(pid, signal.SIGKILL)
