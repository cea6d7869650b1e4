"""A ready-made loop that is filled in for a repository, before it is written. Data, and no rules."""

from collections.abc import Callable, Mapping
from dataclasses import field

from donewhen.loops.catalogue.facts import RepositoryFacts
from donewhen.loops.spec import ActionKind, LoopLevel, Reading
from donewhen.records import frozen


@frozen(kw_only=True)
class DraftInput:
    name: str
    comment: str
    read: Reading | None = None
    command: str = ""
    network: bool = False
    timeout_secs: int = 0
    """0 means the default."""


@frozen(kw_only=True)
class DraftCheck:
    name: str
    command: str
    comment: str


@frozen
class Filled:
    """One value that was filled in, and why it is this one."""

    key: str
    value: str
    why: str


@frozen(kw_only=True)
class LoopDraft:
    intent: str
    level: LoopLevel
    action: ActionKind
    maker: str
    checker: str
    inputs: tuple[DraftInput, ...] = ()
    checks: tuple[str, ...] = ()
    own_check: DraftCheck | None = None
    never: tuple[str, ...] = ()
    filled: tuple[Filled, ...] = ()


@frozen(kw_only=True)
class ReadyLoop:
    name: str
    what: str
    """What it does, in one line."""
    schedule: str
    turns: int
    tokens: int
    tokens_per_day: int
    minutes: int
    usd_per_day: float
    draft: Callable[[RepositoryFacts], LoopDraft] = field(repr=False)
    """Fills it in. Raises BadInput (`needs …`, with what to do) if the repository lacks something."""

    @property
    def budget(self) -> Mapping[str, float]:
        names = ("turns", "tokens", "minutes", "tokens_per_day", "usd_per_day")
        return {name: getattr(self, name) for name in names}
