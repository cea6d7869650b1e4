"""The agent that an editor talks to: ACP version 1. Its sessions are conversations here; each may have many sessions.

    code = run_agent(Defaults(...), say)

With a daemon, sessions go through it and survive the editor. Without one they work in this process, and what still
works when the editor leaves is cancelled: nothing may go on unattended and cost money.
"""

import contextlib
import itertools
import os
import signal
from collections.abc import Callable, Generator, Sequence
from functools import partial
from typing import Any, cast

import anyio
from acp import PROTOCOL_VERSION
from acp.agent.connection import AgentSideConnection
from acp.exceptions import RequestError
from acp.interfaces import Agent, Client
from acp.schema import (
    AgentCapabilities,
    AvailableCommand,
    AvailableCommandInput,
    AvailableCommandsUpdate,
    CloseSessionResponse,
    Implementation,
    InitializeResponse,
    ListSessionsResponse,
    LoadSessionResponse,
    NewSessionResponse,
    PromptCapabilities,
    PromptResponse,
    ResumeSessionResponse,
    SessionCapabilities,
    SessionCloseCapabilities,
    SessionInfo,
    SessionListCapabilities,
    SessionResumeCapabilities,
    SetSessionConfigOptionResponse,
    UnstructuredCommandInput,
)

from donewhen import __version__
from donewhen.errors import BadInput, DonewhenError
from donewhen.server.acp.choices import Choices, Defaults
from donewhen.server.acp.conversations import Conversations, EditorConversation
from donewhen.server.acp.editor import Editor
from donewhen.server.acp.stdio import StdioTransport, private_stdio
from donewhen.server.acp.talk import COMMANDS, Talk
from donewhen.server.acp.transcript import Transcript
from donewhen.server.error_kinds import error_data
from donewhen.server.local_service import run_with_service
from donewhen.server.methods.method import Right
from donewhen.server.service import Caller, Service, Surroundings
from donewhen.workspace.state_dir import state_root

MOST_LISTED = 200
MOST_OPEN = 100
"""Conversations that are open at the same time."""
END_SECS = 8.0
"""How long the sessions of an editor that has left may take to stop."""
PROMPT = "session/prompt"
"""The requests that a daemon goes on with when the editor has left."""
Say = Callable[[str], None]


class EditorsAgent:
    """The SDK calls its methods, each in a task of its own. Methods of the protocol that it lacks are not offered.

    MCP servers and further directories of the editor are not used: a session works on one repository in its sandbox.
    """

    def __init__(self, service: Service, conversations: Conversations, choices: Choices) -> None:
        self._service = service
        self._conversations = conversations
        self._choices = choices
        self._client: Client | None = None
        self._has_forms = False
        self._talks: dict[str, Talk] = {}

    def on_connect(self, conn: Client) -> None:
        self._client = conn

    async def initialize(
        self, protocol_version: int, client_capabilities: Any = None, client_info: Any = None, **_: Any
    ) -> InitializeResponse:
        del protocol_version, client_info  # whatever it asks for, it gets the only version that there is
        elicitation = getattr(client_capabilities, "elicitation", None)
        self._has_forms = getattr(elicitation, "form", None) is not None
        return InitializeResponse(
            protocol_version=PROTOCOL_VERSION,
            agent_info=Implementation(name="donewhen", title="donewhen", version=__version__),
            auth_methods=[],
            agent_capabilities=AgentCapabilities(
                load_session=True,
                prompt_capabilities=PromptCapabilities(image=False, audio=False, embedded_context=True),
                session_capabilities=SessionCapabilities(
                    list=SessionListCapabilities(), close=SessionCloseCapabilities(), resume=SessionResumeCapabilities()
                ),
            ),
        )

    async def new_session(self, cwd: str, **_: Any) -> NewSessionResponse:
        with _request_errors():
            _require_absolute(cwd)
            conversation = self._conversations.store(self._conversations.new(cwd))
            talk = await self._open(conversation)
        return NewSessionResponse(session_id=conversation.id, config_options=talk.choices())

    async def load_session(self, cwd: str, session_id: str, **_: Any) -> LoadSessionResponse:
        with _request_errors():
            talk = await self._reopen(session_id, cwd)
            await talk.replay()
        return LoadSessionResponse(config_options=talk.choices())

    async def resume_session(self, session_id: str, cwd: str, **_: Any) -> ResumeSessionResponse:
        """Go on with a conversation that the editor still shows."""
        with _request_errors():
            talk = await self._reopen(session_id, cwd)
        return ResumeSessionResponse(config_options=talk.choices())

    async def list_sessions(self, cwd: str | None = None, **_: Any) -> ListSessionsResponse:
        found = (one for one in self._conversations.all() if cwd in (None, one.directory) and one.turns)
        return ListSessionsResponse(
            sessions=[
                SessionInfo(session_id=one.id, cwd=one.directory, title=one.title, updated_at=one.updated_at)
                for one in itertools.islice(found, MOST_LISTED)
            ]
        )

    async def close_session(self, session_id: str, **_: Any) -> CloseSessionResponse:
        talk = self._talks.get(session_id)
        if talk is not None:
            await talk.cancel()
            del self._talks[session_id]
        return CloseSessionResponse()

    async def set_config_option(
        self, config_id: str, session_id: str, value: str | bool, **_: Any
    ) -> SetSessionConfigOptionResponse:
        with _request_errors():
            talk = self._talk(session_id)
            talk.choose(config_id, value)
        return SetSessionConfigOptionResponse(config_options=talk.choices())

    async def prompt(self, session_id: str, prompt: Sequence[Any], **_: Any) -> PromptResponse:
        with _request_errors():
            return PromptResponse(stop_reason=await self._talk(session_id).prompt(prompt))

    async def cancel(self, session_id: str, **_: Any) -> None:
        talk = self._talks.get(session_id)
        if talk is not None:
            await talk.cancel()

    async def cancel_all(self) -> None:
        """Stop everything that works for the editor."""
        async with anyio.create_task_group() as tasks:
            for talk in self._talks.values():
                tasks.start_soon(talk.cancel)

    async def _reopen(self, id: str, cwd: str) -> Talk:
        _require_absolute(cwd)
        if id in self._talks:
            return self._talks[id]
        return await self._open(self._conversations.load(id).changed(directory=cwd))

    async def _open(self, conversation: EditorConversation) -> Talk:
        if len(self._talks) >= MOST_OPEN:
            idle = next((id for id, talk in self._talks.items() if talk.is_idle), None)
            if idle is None:
                raise BadInput(f"{MOST_OPEN} conversations are worked on; close one first")
            del self._talks[idle]
        assert self._client is not None  # the SDK connects before it calls
        editor = Editor(self._client, conversation.id, self._has_forms)
        surroundings = Surroundings(conversation.directory, dict(os.environ))
        caller = Caller(name="the editor", rights=frozenset(Right), surroundings=surroundings)
        transcript = Transcript(self._conversations, conversation, editor)
        talk = self._talks[conversation.id] = Talk(self._service, caller, editor, self._choices, transcript)
        await editor.show(_commands())
        return talk

    def _talk(self, id: str) -> Talk:
        talk = self._talks.get(id)
        if talk is None:
            raise BadInput("there is no such conversation here; load it first")
        return talk


def _require_absolute(cwd: str) -> None:
    if not os.path.isabs(cwd) or "\0" in cwd:
        raise BadInput("the directory of a conversation must be an absolute path")


@contextlib.contextmanager
def _request_errors() -> Generator[None]:
    """EditorTurn an error into one of the protocol."""
    try:
        yield
    except BadInput as error:
        raise RequestError(-32602, str(error), error_data(error)) from error
    except DonewhenError as error:
        raise RequestError(-32603, str(error), error_data(error)) from error


def _commands() -> AvailableCommandsUpdate:
    hint = AvailableCommandInput(root=UnstructuredCommandInput(hint="a branch; without one, the session's own"))
    return AvailableCommandsUpdate(
        session_update="available_commands_update",
        available_commands=[
            AvailableCommand(name=name, description=text, input=hint if name == "land" else None)
            for name, text in COMMANDS.items()
        ],
    )


def run_agent(defaults: Defaults, say: Say) -> int:
    """Serve the editor at stdin and stdout until it leaves. Return the exit code."""
    with private_stdio() as (read_from, write_to):
        transport = StdioTransport(read_from, write_to)
        return run_with_service(partial(_serve, transport, Choices(defaults)), say)


async def _serve(transport: StdioTransport, choices: Choices, service: Service, is_daemon: bool) -> int:
    agent = EditorsAgent(service, Conversations(state_root(os.environ)), choices)
    # Closing and resuming are in version 1 of the protocol; the SDK still counts them as unstable.
    connection = AgentSideConnection(cast("Agent", agent), transport, listening=False, use_unstable_protocol=True)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(_stop_at_signal, tasks.cancel_scope)
        await connection.listen()
        tasks.cancel_scope.cancel()
    with anyio.CancelScope(shield=True), anyio.move_on_after(END_SECS):
        if not is_daemon:
            await agent.cancel_all()
        await transport.wait_until_answered(except_for=PROMPT if is_daemon else "")
    with anyio.CancelScope(shield=True), anyio.move_on_after(END_SECS):
        await connection.close()
    return 0


async def _stop_at_signal(scope: anyio.CancelScope) -> None:
    with anyio.open_signal_receiver(signal.SIGTERM, signal.SIGINT, signal.SIGHUP) as signals:
        async for _ in signals:
            scope.cancel()
            return
