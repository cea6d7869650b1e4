"""What is taken of a changed file that is looked into: all of it, none of it, or a text in between. Plain data."""

from donewhen.records import frozen


class Unreadable(Exception):
    """A file that its reader cannot follow; it comes from the base."""


@frozen
class Taken:
    content: bytes | None = None
    """The text that is judged, where it is neither the candidate's nor the base's."""
    reverted: tuple[str, ...] = ()
    """The parts that stay as the base has them."""
    none: bool = False
    """Nothing is taken: the whole file comes from the base."""

    @property
    def is_all(self) -> bool:
        return not self.none and not self.reverted


ALL = Taken()
WHOLE = Taken(none=True)
"""Nothing is taken; the protection concerns the whole file."""
