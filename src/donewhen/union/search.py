"""Search of a red union: which patches work together, and which break it, with few judgements.

    found = await search(patches, oracle)

Patches are always applied in the given order, but tried in the order of their risk. The smallest red prefix of that
order gives a culprit. A second search gives its partner, and `blame.find_blame` confirms or rejects the result. The
culprit is left out and the rest is judged again. So the kept patches were seen green together, and each dropped patch
was seen to break the patches before it. This module does not merge or run anything: the oracle does.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import anyio

from donewhen.records import frozen
from donewhen.union.blame import Blame, find_blame, first_red, swap_blame
from donewhen.union.oracle import DEFAULT_LIMITS, CachedOracle, Members, Oracle, SearchExhausted, SearchLimits
from donewhen.union.order import SearchItem, by_risk, components, lanes
from donewhen.union.search_state import SearchState


@frozen
class SearchResult:
    kept: Members
    """A maximal green union, in the order of applying. It was seen green as a whole, with every check."""
    blames: tuple[Blame, ...]
    runs: int
    """Number of judgements of trees that had no answer yet."""
    confirmations: int
    """Number of repeated judgements, made only to confirm an answer."""
    flaky: tuple[str, ...]
    """Checks that were both green and red on one tree."""
    undecided: Members = ()
    """Patches neither kept nor blamed, because the allowed number of judgements was used up."""


async def search(
    patches: Sequence[SearchItem], oracle: Oracle, *, limits: SearchLimits = DEFAULT_LIMITS
) -> SearchResult:
    """Return a maximal green union of the patches. The empty union (the base) must be green."""
    order = by_risk(patches)
    cached = CachedOracle(oracle, [item.id for item in patches], limits)
    known = SearchState(cached, [item.id for item in patches if item.green_alone])
    salvage = Salvage(known, [item.id for item in order])
    try:
        if await salvage.is_red():
            await _search_lanes(salvage, lanes(components(order), limits.at_once))
        await salvage.finish()
        await salvage.add_again()
    except SearchExhausted:
        kept = max(known.greens(), key=len, default=())
        blamed = {blame.culprit for blame in salvage.blames}
        undecided = known.union(id for id in salvage.start_order if id not in blamed and id not in kept)
        return _result(known, salvage, kept, undecided)
    return _result(known, salvage, salvage.sequence)


async def _search_lanes(whole: "Salvage", groups: list[list[SearchItem]]) -> None:
    """Search independent groups at the same time. The remaining patches must still be judged together."""
    if len(groups) < 2:
        return
    parts = [Salvage(whole.known, [id for id in whole.sequence if id in {item.id for item in lane}]) for lane in groups]
    try:
        async with anyio.create_task_group() as tasks:
            for part in parts:
                tasks.start_soon(part.finish)
    except ExceptionGroup as group:
        # A real error takes precedence over an exhausted search.
        raise min(group.exceptions, key=lambda error: isinstance(error, SearchExhausted)) from group
    finally:
        whole.blames += [blame for part in parts for blame in part.blames]
        whole.sequence = [id for id in whole.sequence if any(id in part.sequence for part in parts)]


@dataclass
class Salvage:
    """A set of patches from which culprits are removed one by one until the rest is green."""

    known: SearchState
    sequence: list[str]
    """The remaining patches in the order of trying; initially all."""
    blames: list[Blame] = field(default_factory=list[Blame])
    start_order: dict[str, int] = field(init=False)
    _spared: set[str] = field(default_factory=set[str])
    """Partners for which `_drop_partner_instead` was already tried."""
    _judged_twice: Members = ()

    def __post_init__(self) -> None:
        self.start_order = {id: place for place, id in enumerate(self.sequence)}

    async def is_red(self) -> bool:
        """Return whether the remaining union is red, judged twice: one flaky result must not start a search."""
        union = self.known.union(self.sequence)
        if not union or not await self.known.is_judged_red(union):
            return False
        judged_twice, self._judged_twice = self._judged_twice == union, union
        return judged_twice or await self.known.is_red_again(union)

    async def finish(self) -> None:
        """Remove patches until the rest is green."""
        while await self.is_red():
            await self._remove_one()

    async def _remove_one(self) -> None:
        union = self.known.union
        last = await first_red(self.known, len(self.sequence), lambda number: union(self.sequence[: number + 1]))
        blame = await find_blame(self.known, self.sequence[:last], self.sequence[last])
        if blame is None:
            return
        self.blames.append(blame)
        self.sequence.remove(blame.culprit)
        if blame.partner:
            await self._drop_partner_instead(blame.partner, self.sequence[:last])

    async def _drop_partner_instead(self, partner: str, prefix: list[str]) -> None:
        """Drop a partner of several culprits instead of them, if that keeps more patches. Tried once per partner."""
        victims = [blame for blame in self.blames if blame.partner == partner]
        if len(victims) < 2 or partner in self._spared:
            return
        self._spared.add(partner)
        culprits = [blame.culprit for blame in victims]
        if await self.known.is_red(self.known.union([*(id for id in prefix if id != partner), *culprits])):
            return
        self.blames = [blame for blame in self.blames if blame not in victims]
        self.blames.append(await swap_blame(self.known, victims[0]))
        self.sequence = self._in_order([*(id for id in self.sequence if id != partner), *culprits])

    async def add_again(self) -> None:
        """Add a culprit again if a patch of its witness was dropped later and the union with it is green."""
        for blame in list(self.blames):
            if set(blame.witness) - {blame.culprit} <= set(self.sequence):
                continue
            extended = self._in_order([*self.sequence, blame.culprit])
            if not await self.known.is_judged_red(self.known.union(extended)):
                self.sequence = extended
                self.blames.remove(blame)

    def _in_order(self, ids: Sequence[str]) -> list[str]:
        return sorted(ids, key=self.start_order.__getitem__)


def _result(known: SearchState, salvage: Salvage, kept: Sequence[str], undecided: Members = ()) -> SearchResult:
    blames = tuple(blame for blame in salvage.blames if blame.culprit not in kept)
    oracle = known.oracle
    return SearchResult(known.union(kept), blames, oracle.runs, oracle.confirmations, known.flaky, undecided)
