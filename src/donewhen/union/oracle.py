"""The interface by which a search merges and judges unions, and a cache of the answers, keyed by tree.

Two unions with the same files have the same tree and are judged once. This module counts judgements and decides whether
a question is new, never whether it is useful.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Protocol

from donewhen.records import frozen
from donewhen.union.observations import Observation, Observations

Members = tuple[str, ...]
"""Ids of patches, in the order of applying."""


@frozen
class MergedTree:
    """The identity of a merged tree, or the paths at which the patches cannot be merged."""

    tree: str = ""
    conflict: tuple[str, ...] = ()


class Oracle(Protocol):
    """Merges and judges unions. An exception that it raises ends the search."""

    async def merged(self, members: Members) -> MergedTree:
        """Apply the patches to the base in this order. Cheap: no check runs."""
        ...

    async def judged(self, tree: str, first: tuple[str, ...], *, fresh: bool) -> Observation:
        """Run the checks on a tree: those of `first` before the others and in that order.

        It may stop at the first red check; a green answer means that every check ran. `fresh`: bypass every cache,
        because this tree was judged before and the question is whether the answer is the same again.
        """
        ...


@frozen
class SearchLimits:
    at_once: int = 1
    """Number of judgements that may run at the same time."""
    confirmations: int = 2
    """How often a red must be repeated before a patch is blamed for it."""
    asks: int = 15
    """Maximum judgements of one tree whose checks give different answers."""
    most_runs: int | None = None
    """Maximum judgements of all kinds; then the best union so far is the result. None: no limit."""


USUAL = SearchLimits()


class SearchExhausted(Exception):
    """The allowed number of judgements is used up."""


class CachedOracle:
    """Asks the probe and caches its answers."""

    def __init__(self, probe: Oracle, applied: Sequence[str], limits: SearchLimits) -> None:
        self._probe = probe
        self._place = {id: place for place, id in enumerate(applied)}
        self.limits = limits
        self.tallies: dict[Members, Observations] = {}
        self._trees: dict[str, Observations] = {}
        self._often_red: Counter[str] = Counter()
        self.runs = 0
        self.confirmations = 0

    def union(self, ids: Iterable[str]) -> Members:
        """Return the patches in the order of applying, whatever the order of trying."""
        return tuple(sorted(ids, key=self._place.__getitem__))

    async def tally(self, members: Members) -> Observations:
        """Return what is known about a union; it may only be how it merges."""
        if members not in self.tallies:
            merged = await self._probe.merged(members)
            tally = Observations(merged.tree, merged.conflict)
            self.tallies[members] = tally if merged.conflict else self._trees.setdefault(merged.tree, tally)
        return self.tallies[members]

    async def find_out(self, tally: Observations) -> None:
        """Judge a tree that was not judged before; repeat only while its answers are undecided."""
        if not tally.seen:
            self._may_ask()
            self.runs += 1
            await self._ask(tally)
        await self.settle(tally)

    async def settle(self, tally: Observations) -> None:
        while not tally.settled and tally.asked < self.limits.asks:
            await self.again(tally)

    async def again(self, tally: Observations) -> None:
        """Judge a tree only to confirm its answer."""
        self._may_ask()
        self.confirmations += 1
        await self._ask(tally)

    @property
    def wavering(self) -> list[Observations]:
        """The trees on which some check was both green and red."""
        return [tally for tally in self._trees.values() if tally.torn]

    def _may_ask(self) -> None:
        if self.limits.most_runs is not None and self.runs + self.confirmations >= self.limits.most_runs:
            raise SearchExhausted

    async def _ask(self, tally: Observations) -> None:
        often = [check for check, _ in self._often_red.most_common()]
        first = tuple(dict.fromkeys([tally.suspect, *often] if tally.suspect else often))
        seen = await self._probe.judged(tally.tree, first, fresh=tally.asked > 0)
        tally.add(seen, first)
        self._often_red.update(seen.turned)
