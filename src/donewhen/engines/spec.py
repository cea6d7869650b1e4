"""Names of engines, as in `foreman:claude` or `planned:native`, and what the rest of the program asks about an engine.

Nothing is started here. Whether an agent exists is decided by the settings that name it.
"""

from enum import StrEnum
from typing import Literal, Self

from donewhen.errors import BadInput
from donewhen.records import frozen

TrackerMode = Literal["tool", "file", "words"]
"""How a builder reports the states of plan items."""
Role = Literal["engine", "builder", "worker"]
"""What the named engine is used as: an engine of a session, the builder of a plan, or the worker of a foreman."""


class EngineKind(StrEnum):
    """Kinds of engines. The values are in the log and in settings, and never change."""

    AUTO = "auto"
    NATIVE = "native"
    EXTERNAL = "external"
    FOREMAN = "foreman"
    PLANNED = "planned"

    @property
    def is_ours(self) -> bool:
        """True if it uses a model that we call ourselves, and not an agent."""
        return self in (EngineKind.NATIVE, EngineKind.FOREMAN, EngineKind.PLANNED)

    @property
    def has_workers(self) -> bool:
        """True if it divides the work among workers, which begin from the start in every attempt."""
        return self is EngineKind.FOREMAN

    @property
    def needs_clean_tree(self) -> bool:
        """True if it would replace the work of another engine with its own."""
        return self is EngineKind.FOREMAN

    @property
    def tracker_mode(self) -> TrackerMode:
        match self:
            case EngineKind.NATIVE:
                return "tool"
            case EngineKind.FOREMAN:
                return "words"
            case _:
                return "file"

    @classmethod
    def of(cls, text: object) -> "EngineKind | None":
        """Return the kind that the name of an engine begins with; None if it is unknown."""
        kind = str(text).partition(":")[0]
        return next((one for one in cls if one == kind), None)


def is_ours(name: object) -> bool:
    """Return True if the name of an engine in a log means one of ours alone, which costs what its models cost.

    A name with a part, as `foreman:claude`, may run an agent.
    """
    return any(kind.is_ours and kind == name for kind in EngineKind)


@frozen
class EngineSpec:
    kind: EngineKind
    agent: str = ""
    """The agent of an external engine; empty for the first one that is ready."""
    inner: "EngineSpec | None" = None
    """The builder of a plan, or the worker of a foreman; None to leave it to the settings."""

    @classmethod
    def parse(cls, text: str, role: Role) -> Self:
        """Return what a name means. Raise `BadInput` for a name that is not allowed there."""
        kind, (_, colon, name) = EngineKind.of(text), text.partition(":")
        if kind is None and role != "engine":
            return cls(EngineKind.EXTERNAL, text)  # an agent may be named alone
        has_no_parts = kind in (EngineKind.AUTO, EngineKind.NATIVE)
        if kind is None or kind not in _KINDS[role] or (colon and (not name or has_no_parts)):
            raise BadInput(_UNKNOWN[role].format(text))
        match kind:
            case EngineKind.FOREMAN if name:
                return cls(kind, inner=cls.parse(name, "worker"))
            case EngineKind.PLANNED if name:
                return cls(kind, inner=cls.parse(name, "builder"))
            case _:
                return cls(kind, name)


_KINDS = {
    "engine": tuple(EngineKind),
    "builder": (EngineKind.AUTO, EngineKind.NATIVE, EngineKind.EXTERNAL, EngineKind.FOREMAN),
    "worker": (EngineKind.NATIVE, EngineKind.EXTERNAL),
}
_UNKNOWN = {
    "engine": f"unknown engine '{{}}'; use {', '.join(EngineKind)}",
    "builder": "unknown builder '{}'; use native, auto, external, foreman or an agent",
    "worker": "unknown worker '{}'; use native, external or an agent",
}
