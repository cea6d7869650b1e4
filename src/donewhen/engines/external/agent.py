"""Interface to another vendor's agent: a task in, a report out. One call is one invocation of the agent.

An agent works in the sandbox of a maker tree; `run.agent_environment` defines what it can reach from there. Which
program it is and how it communicates is data (`discover.profile`). An implementation (`run.cli_agent`, `acp.client`)
knows an interface, never a vendor.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import field
from typing import Any, Literal, Protocol

from donewhen.engines.external.agent_events import OnAgentEvent
from donewhen.records import frozen


@frozen
class PermissionRequest:
    """An action for which an agent asks permission before it acts."""

    tool: str
    kind: Literal["read", "write", "execute", "fetch", "other"]
    command: str = ""
    """The shell command, for `execute`; empty if the agent does not state it."""
    paths: tuple[str, ...] = ()
    detail: Mapping[str, Any] = field(default_factory=dict[str, Any])


Permit = Callable[[PermissionRequest], Awaitable[bool]]
"""Returns True if the request is granted: by the policy, or by a person where the policy asks one."""


@frozen(kw_only=True)
class AgentTask:
    text: str
    conversation: str = ""
    """The conversation to resume, if the agent can; empty for a new one."""
    model: str = ""
    """The model's name as its provider spells it; empty: the agent's own default."""
    max_turns: int
    permit: Permit


InvocationEnd = Literal["exited", "stopped", "died", "timed_out", "not_started"]
"""`exited`: ended on its own, with any exit code; `stopped`: it reported that it had finished, or we ended it; `died`:
killed by a signal that we did not send, or ended without a required answer."""


@frozen(kw_only=True)
class AgentReport:
    """How an invocation ended. Nothing here says anything about the work."""

    end: InvocationEnd
    exit_code: int | None = None
    detail: str = ""
    """One line for people: why it did not start, or the last line it wrote to stderr."""


class Agent(Protocol):
    async def work(self, task: AgentTask, on_event: OnAgentEvent) -> AgentReport: ...
