"""What the judge stands on, as it needs it: trees, rooms, and what is known of the machine. No settings are read here.

`session.workplace.Workplace` is one; the judge knows only this side of it.
"""

from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import field
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from donewhen.records import frozen
from donewhen.workspace.sandbox.level import Probe
from donewhen.workspace.store import Store
from donewhen.workspace.trees import Standing, Tree, Trees

if TYPE_CHECKING:
    from donewhen.workspace.sandbox.room import Place, Sandbox


class Ground(Protocol):
    @property
    def store(self) -> Store: ...
    @property
    def trees(self) -> Trees: ...
    @property
    def probe(self) -> Probe: ...
    def tree(self, kind: str, commit: str, candidate: str = "") -> AbstractAsyncContextManager[Tree]: ...
    def room_of(self, place: "Place") -> "Sandbox": ...
    async def standing(self, commit: str, candidate: str = "") -> Standing: ...


@frozen(kw_only=True)
class Surroundings:
    """What a verdict depends on besides the tree and the check."""

    path: str
    """The PATH that commands would get."""
    digest: str
    """Names everything of the machine and the settings that could change a verdict; empty when that cannot be known."""
    tools: str = ""
    """Names the installed tools as they are now."""
    trouble: str = ""
    """Why nothing that is run here can be believed; then every check is `infra`."""
    passed: Mapping[str, str] = field(default_factory=dict[str, str])
    """Variables of the person's that commands get."""
    secrets: Mapping[str, str] = field(default_factory=dict[str, str])
    """Name → value; never to be shown."""
    sites: tuple[Path, ...] = ()
    """Where installed Python packages lie."""
