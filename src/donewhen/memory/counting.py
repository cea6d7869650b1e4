"""Rules about the counts of a hint: which hint to show, when to withhold it, when to retire it. Nothing is stored here.

A shown hint has helped or not. Every tenth time a matching hint is withheld: those rounds show what would have happened
without it, which is the only way to measure its effect.
"""

from math import sqrt

from donewhen.records import frozen

DEVIATIONS = 1.96
"""Standard deviations for a confidence of 95 %."""
SHOWN_PER_WITHHELD = 9
"""How often a hint is shown for each time it is withheld."""
MORE_HURT_THAN_HELPED = 2


@frozen(kw_only=True)
class Counts:
    """Results of the rounds for which a hint was offered. A round without a result is neither helped nor hurt."""

    shown: int = 0
    helped: int = 0
    hurt: int = 0
    withheld: int = 0
    withheld_passed: int = 0
    withheld_red: int = 0

    @property
    def is_retired(self) -> bool:
        """Whether the evidence is against the hint: it fails too often, or rounds do better without it."""
        if self.hurt > self.helped + MORE_HURT_THAN_HELPED:
            return True
        # Compare bounds, not rates: the few rounds without the hint may all have passed by chance.
        return wilson(self.helped, self.hurt)[1] < wilson(self.withheld_passed, self.withheld_red)[0]

    def is_next_withheld(self, shown_for_signature: int) -> bool:
        """Return whether the next offer is withheld. The first offer for a signature is always shown."""
        return shown_for_signature > 0 and self.shown >= SHOWN_PER_WITHHELD * (self.withheld + 1)

    @property
    def rank(self) -> tuple[float, int]:
        """Sort key: the highest certain rate of help first; among hints not known to help, the fewest failures."""
        return wilson(self.helped, self.hurt)[0], -self.hurt


def wilson(good: int, bad: int) -> tuple[float, float]:
    """Return the bounds of the Wilson interval of a rate; (0, 1) without observations."""
    seen = good + bad
    if not seen:
        return 0.0, 1.0
    rate, spread = good / seen, DEVIATIONS**2 / seen
    middle = (rate + spread / 2) / (1 + spread)
    half = DEVIATIONS * sqrt(rate * (1 - rate) / seen + spread / (4 * seen)) / (1 + spread)
    return min(rate, max(0.0, middle - half)), max(rate, min(1.0, middle + half))
