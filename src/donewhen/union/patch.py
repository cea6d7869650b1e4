"""A finished patch as data: its id, its declared footprint, and the tree that results from applying it.

The records do not distinguish whether it came from a branch, a file or one of our workers.
"""

from donewhen.records import frozen

WHOLE_FILE = "*"


@frozen
class Footprint:
    """The files that a patch declared in advance it would write, and in some of them only these symbols."""

    files: frozenset[str]
    symbols: tuple[tuple[str, str], ...] = ()
    """(file, symbol) pairs. A declared file without a pair may be written as a whole."""

    def symbols_of(self, path: str) -> frozenset[str]:
        """Return the symbols that it may change in a file; empty if it may change the whole file."""
        named = frozenset(symbol for file, symbol in self.symbols if file == path)
        return frozenset() if WHOLE_FILE in named else named


@frozen(kw_only=True)
class Patch:
    id: str
    tree: str
    """Tree id after applying this patch alone to `on`."""
    on: str = ""
    """Id of the tree on which the patch was made: patches that are already combined. Empty for the base."""
    title: str = ""
    """One line for people."""
    origin: str = ""
    """The commit from which it was made, if there was one."""
    footprint: Footprint | None = None
    apply_problem: str = ""
    """Why `tree` is missing: the patch does not apply. Empty for a patch that applies."""
