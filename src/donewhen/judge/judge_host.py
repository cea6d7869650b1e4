"""What the judge needs from its caller: trees, sandboxes, and facts about the machine. No settings are read here.

`session.workplace.Workplace` implements the protocol. The judge depends on the protocol only.
"""

from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import field
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from donewhen.records import frozen
from donewhen.workspace.git.store import Store
from donewhen.workspace.sandbox.level import SandboxProbe
from donewhen.workspace.trees.trees import Tree, TreeLayers, Trees

if TYPE_CHECKING:
    from donewhen.workspace.sandbox.sandbox import Sandbox, SandboxTree


class JudgeHost(Protocol):
    @property
    def store(self) -> Store: ...
    @property
    def trees(self) -> Trees: ...
    @property
    def probe(self) -> SandboxProbe: ...
    def tree(
        self,
        kind: str,
        commit: str,
        candidate: str = "",
        hidden: frozenset[str] | None = None,
        unguarded_setup: bool = False,
    ) -> AbstractAsyncContextManager[Tree]: ...
    def sandbox_of(self, tree: "SandboxTree") -> "Sandbox": ...
    async def tree_layers(
        self, commit: str, candidate: str = "", hidden: frozenset[str] = frozenset(), unguarded_setup: bool = False
    ) -> TreeLayers: ...
    async def held_out_files(self, base: str) -> frozenset[str]:
        """Return the files that only held-out checks may see."""
        ...


@frozen(kw_only=True)
class JudgeEnvironment:
    """What a verdict depends on, besides the tree and the check."""

    path: str
    """The PATH for commands."""
    digest: str
    """Identifies all facts of the machine and the settings that can change a verdict; empty if they are unknown."""
    tools: str = ""
    """Identifies the installed tools in their current state."""
    trouble: str = ""
    """Why no run on this machine can be believed; then every check is `infra`."""
    passed: Mapping[str, str] = field(default_factory=dict[str, str])
    """Environment variables of the user that commands get."""
    secrets: Mapping[str, str] = field(default_factory=dict[str, str])
    """Name → value. Values are never shown."""
    sites: tuple[Path, ...] = ()
    """The directories of installed Python packages."""
