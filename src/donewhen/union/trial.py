"""Who is to blame when a green union turns red with one more patch, and together with whom.

Looking for a suspect takes one judgement a step, and any of them may have been a check's bad moment. So nobody is
blamed for what the search saw on its way: the smallest guilty union is judged by itself, again and again, and so are
its parts. What comes out of a trial may also be that there is nothing to blame anybody for.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace

from donewhen.union.beliefs import Beliefs, Standing
from donewhen.union.known import Members


@dataclass(frozen=True)
class Blame:
    """Why one patch was left out."""

    culprit: str
    partner: str | None
    """The other of two patches that are red together; None when the culprit is red alone or it takes more than two."""
    check: str | None
    """The check that turned; None when the patches cannot even be merged."""
    witness: Members
    """The smallest union with the culprit that was proven red."""
    confirmed: bool = True
    """False: always red, but never the same check often enough."""
    conflict: tuple[str, ...] = ()
    """Paths at which the witness cannot be merged."""

    @property
    def also_in(self) -> Members:
        """The other members of the witness, where they are more than a pair."""
        return tuple(id for id in self.witness if id not in (self.culprit, self.partner))


async def first_red(known: Beliefs, count: int, union: Callable[[int], Members]) -> int:
    """The smallest number whose union is red, given that the last one is; each union holds the one before it.

    What is known already narrows the search. Where knowledge contradicts itself, the smallest red is believed. If the
    last one cannot even be merged, this is about merging alone, and nothing is judged.
    """
    if await known.unmerged(union(count - 1)):
        return await _bisected(-1, count - 1, union, known.unmerged)
    beliefs = [known.believed(union(number)) for number in range(count)]
    high = beliefs.index(True) if True in beliefs else count - 1
    low = max((number for number in range(high) if beliefs[number] is False), default=-1)
    return await _bisected(low, high, union, known.red)


async def _bisected(
    low: int, high: int, union: Callable[[int], Members], red: Callable[[Members], Awaitable[bool]]
) -> int:
    while high - low > 1:
        middle = (low + high) // 2
        if await red(union(middle)):
            high = middle
        else:
            low = middle
    return high


async def trial(known: Beliefs, before: Sequence[str], culprit: str) -> Blame | None:
    """The blame for a red union whose last patch in the search order made it so; None when it does not hold."""
    number = await first_red(known, len(before) + 1, lambda number: known.union([*before[:number], culprit]))
    if not number:
        return await _alone(known, culprit)
    partner = before[number - 1]
    pair, witness = known.union([partner, culprit]), known.union([*before[:number], culprit])
    if await known.unmerged(witness):
        # That patches cannot be merged is a fact, which needs no second look.
        together = await known.unmerged(pair)
        return _blame(known, culprit, partner if together else None, pair if together else witness, "red")
    standing = await known.sure(pair)
    if standing == "green":
        return await _several(known, before[:number], culprit)
    for one in (culprit, partner):
        blame = await _alone(known, one)
        if blame:
            return blame
    return _blame(known, culprit, partner, pair, standing)


async def retrial(known: Beliefs, blame: Blame) -> Blame:
    """The blame of a pair turned round; or that of the other alone, if it does not need the culprit for it."""
    assert blame.partner
    alone = await _alone(known, blame.partner)
    if alone:
        return alone
    return replace(blame, culprit=blame.partner, partner=blame.culprit)


async def _alone(known: Beliefs, culprit: str) -> Blame | None:
    if not await known.red_on_second_thought((culprit,)):
        return None
    standing = await known.sure((culprit,))
    return None if standing == "green" else _blame(known, culprit, None, (culprit,), standing)


async def _several(known: Beliefs, before: Sequence[str], culprit: str) -> Blame | None:
    """More than two are needed: the culprit, the last of those before it, and somebody else among them."""
    witness = known.union([*before, culprit])
    standing = await known.sure(witness)
    if standing == "green":
        return None
    if await known.red_on_second_thought(known.union(before)):
        # Red without the one who is accused: a green on the way here was wrong.
        return await trial(known, before[:-1], before[-1])
    return _blame(known, culprit, None, witness, standing)


def _blame(known: Beliefs, culprit: str, partner: str | None, witness: Members, standing: Standing) -> Blame:
    check, conflict = known.why(witness)
    return Blame(culprit, partner, check, witness, standing == "red", conflict)
