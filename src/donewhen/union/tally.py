"""The answers that one tree gave, counted for each check: what to believe of a tree whose checks may waver.

Only counting: nothing is asked here, and nobody blamed.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import takewhile


@dataclass(frozen=True)
class Seen:
    """One judgement: the checks that were red, in the order in which they ran. None: everything ran and was green."""

    turned: tuple[str, ...] = ()

    @property
    def green(self) -> bool:
        return not self.turned


@dataclass
class Tally:
    """All judgements of one tree; or of patches that make no tree, which is red without being asked."""

    tree: str
    conflict: tuple[str, ...] = ()
    """Paths at which its patches cannot be merged."""
    asked: int = 0
    greens: int = 0
    reds: Counter[str] = field(default_factory=Counter[str])
    passes: Counter[str] = field(default_factory=Counter[str])
    """Checks seen green in a judgement that was red on account of others."""

    def add(self, seen: Seen, first: Iterable[str]) -> None:
        """Count a judgement in which the checks of `first` were run before all others."""
        self.asked += 1
        self.greens += seen.green
        self.reds.update(seen.turned)
        if seen.turned:
            self.passes.update(takewhile(lambda check: check != seen.turned[0], first))

    @property
    def lead(self) -> int:
        """By how many answers red is ahead, for the check where it is most; negative where green is ahead."""
        ahead = [reds - self.passes[check] for check, reds in self.reds.items()]
        return max(ahead, default=0) - self.greens

    @property
    def suspect(self) -> str | None:
        """The check where red is most ahead."""
        return max(self.reds, key=lambda check: self.reds[check] - self.passes[check], default=None)

    @property
    def red(self) -> bool:
        return self.lead > 0 or not self.greens

    @property
    def seen(self) -> bool:
        return self.asked > 0 or bool(self.conflict)

    @property
    def settled(self) -> bool:
        return self.lead > 0 or (self.lead < 0 and self.greens > 0) or bool(self.conflict)

    @property
    def torn(self) -> list[str]:
        """Checks that gave two answers."""
        return [check for check in self.reds if self.greens or self.passes[check]]
