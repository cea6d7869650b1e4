"""What a search knows about unions of patches, red or green, from as few judgements as possible.

A check may give a different answer when it runs again. The majority counts, and one more judgement breaks a tie. Before
a patch is blamed, a red must be repeated. This module does not decide which patch is to blame.
"""

from collections.abc import Iterable
from typing import Literal

from donewhen.union.oracle import CachedOracle, Members

UnionState = Literal["green", "red", "doubtful"]

MOST_DOUBT = 3
"""Maximum number of additional repetitions of a red after flaky checks were seen."""


class SearchState:
    """The knowledge of one search."""

    def __init__(self, oracle: CachedOracle, green_alone: Iterable[str] = ()) -> None:
        self.oracle = oracle
        self.union = oracle.union
        self._green_alone = {(id,) for id in green_alone}

    def known_red(self, members: Members) -> bool | None:
        """Return whether a union is red, without a new judgement; None if unknown."""
        observations = self.oracle.observations.get(members)
        if observations and observations.is_judged:
            return observations.is_red
        return False if not members or members in self._green_alone else None

    async def has_conflict(self, members: Members) -> bool:
        """Return whether patches cannot be merged. This needs no judgement."""
        return bool((await self.oracle.observe(members)).conflict)

    async def is_red(self, members: Members) -> bool:
        """Return whether a union is red, with the weak evidence that is enough to continue a search."""
        known = self.known_red(members)
        return known if known is not None else await self.is_judged_red(members)

    async def is_judged_red(self, members: Members) -> bool:
        """The same, but only from judgements of this search: an earlier green of a patch alone does not count."""
        observations = await self.oracle.observe(members)
        await self.oracle.judge_if_new(observations)
        return observations.is_red

    async def confirmed_state(self, members: Members) -> UnionState:
        """Return the state of a union before a patch is blamed: red only after the repetitions that the limits demand.

        The first red, with which the search selected this union, does not count: it was found by looking for a red.
        After flaky checks were seen, a red must be repeated more often.
        """
        observations = await self.oracle.observe(members)
        if observations.conflict:
            return "red"
        selected = observations.times_judged > 0
        while not observations.times_judged or (
            0 <= observations.lead < self._needed_majority(selected)
            and observations.times_judged < self.oracle.limits.asks
        ):
            await self.oracle.confirm(observations)
        await self.oracle.settle(observations)
        if not observations.is_red:
            return "green"
        return "red" if observations.lead >= self._needed_majority(selected) else "doubtful"

    def _needed_majority(self, selected: bool) -> int:
        """Return the majority that red answers need."""
        return self.oracle.limits.confirmations + selected + min(len(self.oracle.flaky_trees), MOST_DOUBT)

    async def is_red_again(self, members: Members) -> bool:
        """Judge a union once more and return whether it is red. If answers differ, repeat until one leads by two."""
        observations = await self.oracle.observe(members)
        if members in self._green_alone and not observations.is_judged:
            return False
        wanted, most = observations.times_judged + 1, self.oracle.limits.asks
        while (
            not observations.conflict
            and observations.times_judged < most
            and (observations.times_judged < wanted or (observations.flaky and abs(observations.lead) < 2))
        ):
            await self.oracle.confirm(observations)
        return observations.is_red

    def cause(self, members: Members) -> tuple[str | None, tuple[str, ...]]:
        """Return, for a red union, the check that broke or the paths at which its patches cannot be merged."""
        observations = self.oracle.observations[members]
        return observations.suspect, observations.conflict

    @property
    def flaky(self) -> tuple[str, ...]:
        """Checks that were both green and red on one tree."""
        return tuple(sorted({check for observations in self.oracle.flaky_trees for check in observations.flaky}))

    def greens(self) -> list[Members]:
        """Return the unions that were seen green."""
        return [
            members
            for members, observations in self.oracle.observations.items()
            if observations.is_judged and not observations.is_red
        ]
