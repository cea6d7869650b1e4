"""Finds which patch makes a green union red, and together with which other patch.

The search judges each union once, and a flaky check may make any of these results wrong. So the search alone blames no
patch: the smallest red union is judged repeatedly, and so are its parts. This may show that no patch is to blame.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace

from donewhen.records import frozen
from donewhen.union.oracle import Members
from donewhen.union.search_state import SearchState, UnionState


@frozen
class Blame:
    """Why one patch was left out."""

    culprit: str
    partner: str | None
    """The other of two patches that are red together; None if the culprit is red alone or more than two are needed."""
    check: str | None
    """The check that broke; None if the patches cannot be merged."""
    witness: Members
    """The smallest union with the culprit that was proven red."""
    confirmed: bool = True
    """False: always red, but no single check was red often enough."""
    conflict: tuple[str, ...] = ()
    """Paths at which the witness cannot be merged."""


async def first_red(known: SearchState, count: int, union: Callable[[int], Members]) -> int:
    """Return the smallest number whose union is red. The last union must be red; each union contains the one before it.

    Known answers narrow the search. If they contradict each other, the smallest red one counts. If the last union
    cannot be merged, only merging is tested and nothing is judged.
    """
    if await known.has_conflict(union(count - 1)):
        return await _bisect(-1, count - 1, union, known.has_conflict)
    known_states = [known.known_red(union(number)) for number in range(count)]
    high = known_states.index(True) if True in known_states else count - 1
    low = max((number for number in range(high) if known_states[number] is False), default=-1)
    return await _bisect(low, high, union, known.is_red)


async def _bisect(
    low: int, high: int, union: Callable[[int], Members], red: Callable[[Members], Awaitable[bool]]
) -> int:
    while high - low > 1:
        middle = (low + high) // 2
        if await red(union(middle)):
            high = middle
        else:
            low = middle
    return high


async def find_blame(known: SearchState, before: Sequence[str], culprit: str) -> Blame | None:
    """Return the blame for a union that its last patch, in search order, made red; None if the red is not confirmed."""
    number = await first_red(known, len(before) + 1, lambda number: known.union([*before[:number], culprit]))
    if not number:
        return await _blame_alone(known, culprit)
    partner = before[number - 1]
    pair, witness = known.union([partner, culprit]), known.union([*before[:number], culprit])
    if await known.has_conflict(witness):
        # A failed merge is deterministic and needs no repetition.
        together = await known.has_conflict(pair)
        return _blame(known, culprit, partner if together else None, pair if together else witness, "red")
    state = await known.confirmed_state(pair)
    if state == "green":
        return await _blame_several(known, before[:number], culprit)
    for one in (culprit, partner):
        blame = await _blame_alone(known, one)
        if blame:
            return blame
    return _blame(known, culprit, partner, pair, state)


async def swap_blame(known: SearchState, blame: Blame) -> Blame:
    """Return the blame of a pair with the roles swapped, or the blame of the partner alone if it is red alone."""
    assert blame.partner
    alone = await _blame_alone(known, blame.partner)
    if alone:
        return alone
    return replace(blame, culprit=blame.partner, partner=blame.culprit)


async def _blame_alone(known: SearchState, culprit: str) -> Blame | None:
    if not await known.is_red_again((culprit,)):
        return None
    state = await known.confirmed_state((culprit,))
    return None if state == "green" else _blame(known, culprit, None, (culprit,), state)


async def _blame_several(known: SearchState, before: Sequence[str], culprit: str) -> Blame | None:
    """Blame for more than two patches: the culprit, the last one before it, and at least one other of `before`."""
    witness = known.union([*before, culprit])
    state = await known.confirmed_state(witness)
    if state == "green":
        return None
    if await known.is_red_again(known.union(before)):
        # Red without the accused patch: an earlier green answer was wrong.
        return await find_blame(known, before[:-1], before[-1])
    return _blame(known, culprit, None, witness, state)


def _blame(known: SearchState, culprit: str, partner: str | None, witness: Members, state: UnionState) -> Blame:
    check, conflict = known.cause(witness)
    return Blame(culprit, partner, check, witness, state == "red", conflict)
