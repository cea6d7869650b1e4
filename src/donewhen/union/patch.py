"""A finished patch as data: what it is called, what it says it would touch, and the tree it makes of what it stands on.

Where it came from, a branch, a file or a worker of ours, is forgotten here.
"""

from donewhen.records import frozen

WHOLE_FILE = "*"


@frozen
class Footprint:
    """What a patch said beforehand that it would write: files, and in some of them only these symbols."""

    files: frozenset[str]
    symbols: tuple[tuple[str, str], ...] = ()
    """(file, symbol); a file that is not among them may be written as a whole."""

    def symbols_of(self, path: str) -> frozenset[str]:
        """The symbols it may change there; empty when all of the file is meant."""
        named = frozenset(symbol for file, symbol in self.symbols if file == path)
        return frozenset() if WHOLE_FILE in named else named


@frozen(kw_only=True)
class Patch:
    id: str
    tree: str
    """The tree id of what it stands on with this patch alone."""
    on: str = ""
    """The tree id of what it stands on: patches that are together already. Empty for the base."""
    title: str = ""
    """One line for people."""
    origin: str = ""
    """The commit it was, where it was one."""
    footprint: Footprint | None = None
    unfit: str = ""
    """Why there is no such tree: it does not go onto what it should stand on. Empty for a patch that does."""
