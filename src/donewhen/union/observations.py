"""Repeated judgements of one tree, counted per check, to decide whether a tree with flaky checks is red.

This module only counts. It does not judge trees and does not blame patches.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import takewhile

from donewhen.records import frozen


@frozen
class Observation:
    """One judgement: the red checks, in the order in which they ran. Empty: every check ran and was green."""

    red: tuple[str, ...] = ()

    @property
    def is_green(self) -> bool:
        return not self.red


@dataclass
class Observations:
    """All judgements of one tree. Patches that cannot be merged have no tree and count as red without a judgement."""

    tree: str
    conflict: tuple[str, ...] = ()
    """Paths at which the patches cannot be merged."""
    times_judged: int = 0
    greens: int = 0
    reds: Counter[str] = field(default_factory=Counter[str])
    passes: Counter[str] = field(default_factory=Counter[str])
    """Checks seen green in a judgement that was red because of others."""

    def add(self, seen: Observation, first: Iterable[str]) -> None:
        """Count a judgement in which the checks of `first` ran before all others."""
        self.times_judged += 1
        self.greens += seen.is_green
        self.reds.update(seen.red)
        if seen.red:
            self.passes.update(takewhile(lambda check: check != seen.red[0], first))

    @property
    def lead(self) -> int:
        """Majority of red over green answers for the check where it is largest; negative if green has the majority."""
        ahead = [reds - self.passes[check] for check, reds in self.reds.items()]
        return max(ahead, default=0) - self.greens

    @property
    def suspect(self) -> str | None:
        """The check with the largest majority of red answers."""
        return max(self.reds, key=lambda check: self.reds[check] - self.passes[check], default=None)

    @property
    def is_red(self) -> bool:
        return self.lead > 0 or not self.greens

    @property
    def is_judged(self) -> bool:
        return self.times_judged > 0 or bool(self.conflict)

    @property
    def is_settled(self) -> bool:
        return self.lead > 0 or (self.lead < 0 and self.greens > 0) or bool(self.conflict)

    @property
    def flaky(self) -> list[str]:
        """Checks that were both green and red."""
        return [check for check in self.reds if self.greens or self.passes[check]]
