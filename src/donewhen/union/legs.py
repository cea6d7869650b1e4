"""What a judgement of a tree tells this room: how each check stands beside the base. The judge is not known here."""

from collections.abc import Sequence
from typing import Literal, Protocol

from donewhen.records import frozen

Stands = Literal["kept", "gained", "turned", "open", "unknown"]
"""Green, as on the base · green, and red on the base · worse than on the base · red as on the base, which decides
nothing · it could not be found out."""
Gains = frozenset[tuple[str, str]]
"""What was red on the base and is not any more: a check, and a test in it; no test stands for the whole check."""


@frozen(kw_only=True)
class Leg:
    """One check on one tree."""

    name: str
    stands: Stands
    status: str
    """The check's result in the words of the contract."""
    detail: str = ""
    """One line: why it stands so."""
    exit_code: int | None = None
    duration_ms: int = 0
    quarantined: bool = False
    passed: frozenset[str] = frozenset()
    """Names of the tests in it that passed, where it was red on the base and its runner names them."""

    @property
    def gains(self) -> Gains:
        """The check if it is green now, else the tests that pass in it; of answers that may be believed."""
        if self.stands == "gained":
            return frozenset({(self.name, "")})
        return frozenset((self.name, test) for test in self.passed) if self.status == "fail" else frozenset()

    def misses(self, gains: Gains) -> bool:
        """Whether it is red as on the base, and not all of this is there."""
        red = self.stands in ("open", "kept")
        return red and any(name == self.name and test not in self.passed for name, test in gains)

    @property
    def has_news(self) -> bool:
        """Whether it does not stand just as badly as on the base."""
        return self.stands in ("gained", "turned")


@frozen
class Judgement:
    legs: tuple[Leg, ...]
    taken_back: tuple[str, ...] = ()
    """Protected paths that the tree changes, with the rule that protects each; they are not part of what was judged."""

    @property
    def turned(self) -> tuple[str, ...]:
        return tuple(leg.name for leg in self.legs if leg.stands == "turned")

    @property
    def unknown(self) -> tuple[Leg, ...]:
        return tuple(leg for leg in self.legs if leg.stands == "unknown")

    @property
    def gains(self) -> Gains:
        return frozenset[tuple[str, str]]().union(*(leg.gains for leg in self.legs))

    def lost(self, gains: Gains) -> tuple[str, ...]:
        """The checks that decide nothing beside the base and in which something is missing that was reached before."""
        return tuple(leg.name for leg in self.legs if leg.misses(gains))

    @property
    def shows_something(self) -> bool:
        """Whether there is positive evidence in it: something that could have been red and was green."""
        return any(leg.stands in ("kept", "gained") for leg in self.legs)


class Judging(Protocol):
    """Judges a tree beside the base."""

    async def __call__(
        self,
        tree: str,
        phase: Literal["gate", "union"],
        first: Sequence[str] = (),
        *,
        fresh: bool = False,
        proven: bool = True,
    ) -> Judgement:
        """With `first`, these checks are run before the others, and the others only if none of them turned.

        `fresh`: past every cache. Not `proven`: the checks alone, without what makes a green believable.
        """
        ...
