"""A maker tree as an engine has it: its files, its shell, and snapshots of what was made so far.

What may be run, and what is made of it, is not decided here.
"""

from dataclasses import dataclass

from donewhen.workspace.capture.refusals import CandidateRefused
from donewhen.workspace.merged import Files
from donewhen.workspace.sandbox.room import Sandbox
from donewhen.workspace.trees import Tree, Trees


@dataclass(slots=True)
class Maker:
    trees: Trees
    tree: Tree
    room: Sandbox

    @property
    def root(self) -> str:
        """Where the tree appears to everything that runs in it."""
        return self.tree.place.root

    @property
    def files(self) -> Files:
        return Files.of(self.trees, self.tree)

    async def pristine(self) -> bool:
        """Whether the tree is just as it was in the beginning."""
        try:
            return await self.snapshot() == await self.trees.store.tree_of(self.tree.facts.base)
        except CandidateRefused:
            return False

    async def snapshot(self) -> str:
        """What was made so far, as a tree id in the store; `CandidateRefused` names what cannot be one."""
        return (await self.trees.capture(self.tree)).tree

    async def checkpoint(self) -> str:
        """The same, to come back to: quick while nothing was written, and nothing that anybody is judged by."""
        return await self.trees.checkpoint(self.tree)

    async def restore(self, tree: str) -> None:
        """Make the files those of a snapshot again. What is ignored stays as it is."""
        await self.trees.restore(self.tree, tree)
