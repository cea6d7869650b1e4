"""Agent events: what an agent reports while it works, in one vocabulary for all agents. Plain data.

Stream readers (`streams`) and the protocol client (`acp`) create agent events. The engine counts them, emits session
events for them and decides what they mean. No agent event states that the work is done: that is never the agent's
decision.
"""

from collections.abc import Callable, Mapping
from dataclasses import field
from typing import Any, Literal

from donewhen.model.interface import Usage
from donewhen.records import frozen

ProblemKind = Literal["agent", "sign_in", "quota", "limit"]
"""`agent`: any error that the agent reports about itself; `sign_in`: credentials are missing or refused; `quota`: used
up; `limit`: it stopped at a limit of turns, time or money that it enforces itself."""


@frozen
class RawLine:
    """One JSON value or one line of text as the agent sent it, for consumers that want the original."""

    value: Any


@frozen
class AgentStarted:
    conversation: str = ""
    """The agent's own id of the conversation, to resume it later."""
    model: str = ""


@frozen
class AgentText:
    """One complete text of the model to its reader. The last one is the closing message."""

    text: str


@frozen
class AgentToolCall:
    """The agent uses one of its own tools."""

    id: str
    tool: str
    input: Mapping[str, Any]


@frozen
class AgentToolResult:
    """Result of a tool call; `ok` is False for a failure or a refusal."""

    id: str
    ok: bool
    text: str


@frozen
class AgentTurn:
    """One answered request to a model. `usage` and `usd` are for this turn; None if the agent does not report them."""

    usage: Usage | None = None
    usd: float | None = None
    model: str = ""
    is_over: bool = field(default=False, compare=False)
    """True if its tool calls have already returned: what comes next is another turn."""


@frozen
class AgentTotals:
    """Usage of the whole invocation so far, from agents that report totals. Replaces earlier figures, does not add."""

    usage: Usage | None = None
    usd: float | None = None
    with_earlier: bool = False
    """True if it includes the usage of earlier invocations of the same conversation."""


@frozen
class AgentProblem:
    """An error that the agent reports about itself; the tree is judged anyway."""

    kind: ProblemKind
    message: str
    reset_at: str = ""
    """For `quota`: when it is available again according to the agent, in UTC in the format of events."""


@frozen
class AgentStopped:
    """The agent reports that it has finished this task; its process is not worth waiting for any more."""

    text: str = ""


AgentEvent = (
    RawLine
    | AgentStarted
    | AgentText
    | AgentToolCall
    | AgentToolResult
    | AgentTurn
    | AgentTotals
    | AgentProblem
    | AgentStopped
)
OnAgentEvent = Callable[[AgentEvent], None]
"""Receives each agent event as it happens. An exception that it raises ends the agent."""
