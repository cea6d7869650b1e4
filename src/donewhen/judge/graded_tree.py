"""The judged tree of a candidate, as plain data. `protect` computes it, unless nothing changed."""

from typing import NamedTuple

from donewhen.judge.verdict import Edit


class GradedTree(NamedTuple):
    tree: str
    """The judged tree: what is judged, and what lands."""
    edits: tuple[Edit, ...]
    """Every change of the candidate that is not graded."""
    control: str
    """The control tree: the base with the changes to tests only, without the changes to the product."""
    shadows: tuple[str, ...]
    """One line for each new module that shadows the standard library, an installed package or the runner."""
    loaded: tuple[str, ...] = ()
    """New files without tests that the runner executes because a pattern of the command covers them."""


def whole_tree(tree: str) -> GradedTree:
    """Return a tree that is judged whole: the base itself, or files that are not compared with a base."""
    return GradedTree(tree=tree, edits=(), control=tree, shadows=())
