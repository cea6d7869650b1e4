"""What is judged of a candidate, as plain data. `protect` finds it out; where nothing changed, nobody has to."""

from typing import NamedTuple

from donewhen.judge.verdict import Edit


class Judged(NamedTuple):
    tree: str
    """J: what is judged, and what lands."""
    edits: tuple[Edit, ...]
    """Every change of the candidate that is not graded."""
    control: str
    """The base with the changes to tests only: the product's changes taken out again."""
    shadows: tuple[str, ...]
    """One line for each new module that hides the standard library, an installed package or the runner."""


def as_it_is(tree: str) -> Judged:
    """A tree that is judged whole: the base itself, or files that are not to be compared with one."""
    return Judged(tree=tree, edits=(), control=tree, shadows=())
