"""What an agent tells while it works, in one vocabulary for all of them. Plain data.

Readers of streams (`streams/`) and the protocol client (`acp`) make happenings; the engine counts them, tells them and
decides what they mean. Nothing here says that the work is done: that is never an agent's to say.
"""

from collections.abc import Callable, Mapping
from dataclasses import field
from typing import Any, Literal

from donewhen.model.base import Usage
from donewhen.records import frozen

Trouble = Literal["agent", "sign_in", "quota", "limit"]
"""`agent`: its own error flag, whatever it is; `sign_in`: credentials are missing or refused; `quota`: used up;
`limit`: it stopped at a limit of turns, time or money that it keeps by itself."""


@frozen
class Raw:
    """Something as the agent sent it, for those who want to see it: one JSON value, or one line of text."""

    value: Any


@frozen
class Began:
    conversation: str = ""
    """The agent's own name for it, to go on with later."""
    model: str = ""


@frozen
class Spoke:
    """Words of the model to whoever reads, whole. The last of them are its closing words."""

    text: str


@frozen
class Called:
    """A tool of the agent's own is used."""

    id: str
    tool: str
    input: Mapping[str, Any]


@frozen
class Returned:
    """What came of it; `ok` is false for a failure or a refusal."""

    id: str
    ok: bool
    text: str


@frozen
class Turned:
    """One request to a model was answered. `usage` and `usd` are of this turn; None where the agent does not say."""

    usage: Usage | None = None
    usd: float | None = None
    model: str = ""
    over: bool = field(default=False, compare=False)
    """Whether its calls have returned already: what comes next is another turn."""


@frozen
class Totalled:
    """What the whole invocation has used so far, where the agent sums up by itself. Replaces, does not add."""

    usage: Usage | None = None
    usd: float | None = None
    with_earlier: bool = False
    """Whether what earlier invocations of the same conversation used is in it."""


@frozen
class Complained:
    """The agent reports an error of its own; the tree is judged all the same."""

    trouble: Trouble
    message: str
    reset_at: str = ""
    """For `quota`: when it is said to be over, in UTC as events have it."""


@frozen
class Stopped:
    """The agent says that it has finished this task; its process is not worth waiting for any more."""

    said: str = ""


Happening = Raw | Began | Spoke | Called | Returned | Turned | Totalled | Complained | Stopped
Hear = Callable[[Happening], None]
"""Told each one as it happens. Whoever raises ends the agent."""
