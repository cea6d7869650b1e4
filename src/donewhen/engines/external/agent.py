"""The seam to somebody else's agent: a task in, a report out. One call is one invocation of the agent.

An agent works in the sandbox of a maker tree; what it can reach from there is `quarters`. Which program it is, and how
it talks, is data (`profile`); an implementation knows a way of talking (`cli`, `acp`), never a vendor.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import field
from typing import Any, Literal, Protocol

from donewhen.engines.external.happening import Hear
from donewhen.records import frozen


@frozen
class Wish:
    """What an agent asks leave for before it does it."""

    tool: str
    kind: Literal["read", "write", "execute", "fetch", "other"]
    command: str = ""
    """The shell command, for `execute`; empty where the agent does not say which."""
    paths: tuple[str, ...] = ()
    detail: Mapping[str, Any] = field(default_factory=dict[str, Any])


Permit = Callable[[Wish], Awaitable[bool]]
"""Whether a wish is granted: by the policy, or by a person where the policy says so."""


@frozen(kw_only=True)
class Task:
    text: str
    conversation: str = ""
    """To go on with, where the agent can; empty for a new one."""
    model: str = ""
    """The model's name as its provider has it; empty: whatever the agent would use."""
    max_turns: int
    permit: Permit


@frozen(kw_only=True)
class Report:
    """How an invocation ended. None of it says anything about the work."""

    end: Literal["exited", "stopped", "died", "timed_out", "not_started"]
    """`exited`: by itself, whatever its code; `stopped`: it said that it had finished, and was ended; `died`: by a
    signal that was not ours, or without a word that it should have said."""
    exit_code: int | None = None
    detail: str = ""
    """One line for people: why it did not start, or its last words on stderr."""


class Agent(Protocol):
    async def work(self, task: Task, hear: Hear) -> Report: ...
