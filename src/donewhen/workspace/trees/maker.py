"""A maker tree as an engine uses it: files, shell, and snapshots of the work so far.

This module does not decide which commands may run or what happens with the result.
"""

from dataclasses import dataclass

from donewhen.workspace.sandbox.sandbox import Sandbox
from donewhen.workspace.trees.capture.refusals import CandidateRefused
from donewhen.workspace.trees.overlay import Files
from donewhen.workspace.trees.trees import Tree, Trees


@dataclass(slots=True)
class Maker:
    trees: Trees
    tree: Tree
    sandbox: Sandbox

    @property
    def root(self) -> str:
        """The path of the tree as processes in it see it."""
        return self.tree.sandbox_tree.root

    @property
    def files(self) -> Files:
        return Files.of(self.trees, self.tree)

    async def is_unchanged(self) -> bool:
        """Return True if the tree equals its base."""
        try:
            return await self.snapshot() == await self.trees.store.tree_of(self.tree.facts.base)
        except CandidateRefused:
            return False

    async def snapshot(self) -> str:
        """Capture the work so far as a tree id in the store. `CandidateRefused` names what cannot be captured."""
        return (await self.trees.capture(self.tree)).tree

    async def checkpoint(self) -> str:
        """Return a tree id to restore later. Fast if nothing was written; never used for judging."""
        return await self.trees.checkpoint(self.tree)

    async def restore(self, tree: str) -> None:
        """Restore the files of a snapshot. Ignored files stay unchanged where possible."""
        await self.trees.restore(self.tree, tree)
