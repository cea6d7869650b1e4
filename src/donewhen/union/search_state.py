"""What a search knows about unions of patches, red or green, from as few judgements as possible.

A check may give a different answer when it runs again. The majority counts, and one more judgement breaks a tie. Before
a patch is blamed, a red must be repeated. This module does not decide which patch is to blame.
"""

from collections.abc import Iterable
from typing import Literal

from donewhen.union.oracle import CachedOracle, Members

Standing = Literal["green", "red", "doubtful"]

MOST_DOUBT = 3
"""Maximum number of additional repetitions of a red after flaky checks were seen."""


class SearchState:
    """The knowledge of one search."""

    def __init__(self, questions: CachedOracle, green_alone: Iterable[str] = ()) -> None:
        self.questions = questions
        self.union = questions.union
        self._green_alone = {(id,) for id in green_alone}

    def believed(self, members: Members) -> bool | None:
        """Return whether a union is red, without a new judgement; None if unknown."""
        tally = self.questions.tallies.get(members)
        if tally and tally.seen:
            return tally.red
        return False if not members or members in self._green_alone else None

    async def unmerged(self, members: Members) -> bool:
        """Return whether patches cannot be merged. This needs no judgement."""
        return bool((await self.questions.tally(members)).conflict)

    async def red(self, members: Members) -> bool:
        """Return whether a union is red, with the weak evidence that is enough to continue a search."""
        believed = self.believed(members)
        return believed if believed is not None else await self.seen_red(members)

    async def seen_red(self, members: Members) -> bool:
        """The same, but only from judgements of this search: an earlier green of a patch alone does not count."""
        tally = await self.questions.tally(members)
        await self.questions.find_out(tally)
        return tally.red

    async def sure(self, members: Members) -> Standing:
        """Return the state of a union before a patch is blamed: red only after the repetitions that the limits demand.

        The first red, with which the search selected this union, does not count: it was found by looking for a red.
        After flaky checks were seen, a red must be repeated more often.
        """
        tally = await self.questions.tally(members)
        if tally.conflict:
            return "red"
        selected = tally.asked > 0
        while not tally.asked or (
            0 <= tally.lead < self._needed(selected) and tally.asked < self.questions.limits.asks
        ):
            await self.questions.again(tally)
        await self.questions.settle(tally)
        if not tally.red:
            return "green"
        return "red" if tally.lead >= self._needed(selected) else "doubtful"

    def _needed(self, selected: bool) -> int:
        """Return the majority that red answers need."""
        return self.questions.limits.confirmations + selected + min(len(self.questions.wavering), MOST_DOUBT)

    async def red_on_second_thought(self, members: Members) -> bool:
        """Judge a union once more and return whether it is red. If answers differ, repeat until one leads by two."""
        tally = await self.questions.tally(members)
        if members in self._green_alone and not tally.seen:
            return False
        once, most = tally.asked + 1, self.questions.limits.asks
        while (
            not tally.conflict and tally.asked < most and (tally.asked < once or (tally.torn and abs(tally.lead) < 2))
        ):
            await self.questions.again(tally)
        return tally.red

    def why(self, members: Members) -> tuple[str | None, tuple[str, ...]]:
        """Return, for a red union, the check that broke or the paths at which its patches cannot be merged."""
        tally = self.questions.tallies[members]
        return tally.suspect, tally.conflict

    @property
    def flaky(self) -> tuple[str, ...]:
        """Checks that were both green and red on one tree."""
        return tuple(sorted({check for tally in self.questions.wavering for check in tally.torn}))

    def greens(self) -> list[Members]:
        """Return the unions that were seen green."""
        return [members for members, tally in self.questions.tallies.items() if tally.seen and not tally.red]
