"""What is known about unions of patches, and how surely: red or green, from as few judgements as will do.

A check may answer differently when it is asked again. The majority is believed and a tie is broken by asking once more;
where somebody would be blamed, a red has to come back. This module knows nothing about who is to blame.
"""

from collections.abc import Iterable
from typing import Literal

from donewhen.union.known import Members, Questions

Standing = Literal["green", "red", "doubtful"]

MOST_DOUBT = 3
"""How much more often a red has to come back, at most, where checks have been seen to waver."""


class Beliefs:
    """The memory of one search."""

    def __init__(self, questions: Questions, green_alone: Iterable[str] = ()) -> None:
        self.questions = questions
        self.union = questions.union
        self._green_alone = {(id,) for id in green_alone}

    def believed(self, members: Members) -> bool | None:
        """Whether a union is red, without asking anybody; None when nothing is known about it."""
        tally = self.questions.tallies.get(members)
        if tally and tally.seen:
            return tally.red
        return False if not members or members in self._green_alone else None

    async def unmerged(self, members: Members) -> bool:
        """Whether patches cannot even be merged; nothing is judged for that."""
        return bool((await self.questions.tally(members)).conflict)

    async def red(self, members: Members) -> bool:
        """Whether a union is red, from the little that it takes to go on with a search."""
        believed = self.believed(members)
        return believed if believed is not None else await self.seen_red(members)

    async def seen_red(self, members: Members) -> bool:
        """The same for what was seen here: that a patch was green by itself elsewhere does not count."""
        tally = await self.questions.tally(members)
        await self.questions.find_out(tally)
        return tally.red

    async def sure(self, members: Members) -> Standing:
        """What a union is, when somebody is to be blamed for it: red only as often as the limits say.

        The red that made anybody look here does not count, for it was found by looking for one. Where checks have been
        seen to waver, a red has to come back more often.
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
        """By how many answers red has to be ahead."""
        return self.questions.limits.confirmations + selected + min(len(self.questions.wavering), MOST_DOUBT)

    async def red_on_second_thought(self, members: Members) -> bool:
        """Whether a union is red, judged once more now; if that makes it waver, until one answer is clearly ahead."""
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
        """Of a red union: the check that turned, or the paths at which its patches cannot be merged."""
        tally = self.questions.tallies[members]
        return tally.suspect, tally.conflict

    @property
    def flaky(self) -> tuple[str, ...]:
        """Checks that gave two answers for one tree."""
        return tuple(sorted({check for tally in self.questions.wavering for check in tally.torn}))

    def greens(self) -> list[Members]:
        """The unions that were seen green."""
        return [members for members, tally in self.questions.tallies.items() if tally.seen and not tally.red]
