"""What the counts of a hint say about it: whom to offer, what to withhold, whom to retire. Rules only, nothing is kept.

A hint that was shown has helped or not. Every tenth time it is withheld although it fits: how those rounds end is what
would have happened anyway, and the only thing that help can be measured by.
"""

from math import sqrt

from donewhen.records import frozen

SURE = 1.96
"""Standard deviations: nineteen times out of twenty the rate lies within."""
SHOWN_BETWEEN = 9
"""So many times it is shown for each time it is withheld."""
MORE_HURT_THAN_HELPED = 2


@frozen(kw_only=True)
class Counts:
    """How the rounds ended that a hint was offered for. One that was not judged is neither of both."""

    shown: int = 0
    helped: int = 0
    hurt: int = 0
    withheld: int = 0
    withheld_passed: int = 0
    withheld_red: int = 0

    @property
    def is_retired(self) -> bool:
        """Whether the evidence is against it: it fails too often, or rounds do better without it."""
        if self.hurt > self.helped + MORE_HURT_THAN_HELPED:
            return True
        # Bound against bound: of the few rounds without it, all may have passed by chance.
        return wilson(self.helped, self.hurt)[1] < wilson(self.withheld_passed, self.withheld_red)[0]

    def withholds_next(self, shown_for_signature: int) -> bool:
        """Whether the next offer is not shown. Of a signature the first offer always is."""
        return shown_for_signature > 0 and self.shown >= SHOWN_BETWEEN * (self.withheld + 1)

    @property
    def promise(self) -> tuple[float, int]:
        """To sort by: who surely helps most, and among those who are not known to help, who has failed least."""
        return wilson(self.helped, self.hurt)[0], -self.hurt


def wilson(good: int, bad: int) -> tuple[float, float]:
    """Between which bounds a rate lies that was seen so many times; all of it when nothing was seen."""
    seen = good + bad
    if not seen:
        return 0.0, 1.0
    rate, spread = good / seen, SURE**2 / seen
    middle = (rate + spread / 2) / (1 + spread)
    half = SURE * sqrt(rate * (1 - rate) / seen + spread / (4 * seen)) / (1 + spread)
    return min(rate, max(0.0, middle - half)), max(rate, min(1.0, middle + half))
