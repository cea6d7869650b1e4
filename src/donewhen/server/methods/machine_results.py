"""The results of the methods about this machine, by type. Loaded for types only."""

from typing import Any

from typing_extensions import TypedDict  # that of `typing` has no types at run time before Python 3.12


class AgentEntry(TypedDict):
    """An agent, and whether it can be used."""

    name: str
    title: str
    version: str
    program: str
    begins_with: str
    way: str
    governance: str
    status: str
    reason: str
    provider: str
    key: str
    """The name of the variable that holds the key, never its value."""
    counted: str


class ModelEntry(TypedDict):
    """A provider of models, and whether its key or address is set."""

    provider: str
    ready: bool
    why: str
    model: str | None


class DoctorFinding(TypedDict):
    """What this machine can or cannot do."""

    name: str
    ok: bool
    found: str
    cost: str
    fix: str


class PolicyRuling(TypedDict):
    """What the policy says about a command."""

    decision: str
    """`allow`, `ask` or `deny`."""
    rule: str
    reason: str
    command: str
    """The part of the command that the rule matched."""


class TrustedKey(TypedDict):
    """A key that needed trust."""

    key: str
    value: Any


class TrustedFile(TypedDict):
    """A file that is trusted as it is now."""

    file: str
    keys: list[TrustedKey]
