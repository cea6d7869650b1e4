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

    async def merge(self, members: Members) -> MergedTree:
        """Apply the patches to the base in this order. Cheap: no check runs."""
        ...

    async def judge(self, tree: str, first: tuple[str, ...], *, fresh: bool) -> Observation:
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


DEFAULT_LIMITS = SearchLimits()


class SearchExhausted(Exception):
    """The allowed number of judgements is used up."""


class CachedOracle:
    """Asks the oracle and caches its answers."""

    def __init__(self, oracle: Oracle, applied: Sequence[str], limits: SearchLimits) -> None:
        self._oracle = oracle
        self._position = {id: place for place, id in enumerate(applied)}
        self.limits = limits
        self.observations: dict[Members, Observations] = {}
        self._trees: dict[str, Observations] = {}
        self._often_red: Counter[str] = Counter()
        self.runs = 0
        self.confirmations = 0

    def union(self, ids: Iterable[str]) -> Members:
        """Return the patches in the order of applying, whatever the order of trying."""
        return tuple(sorted(ids, key=self._position.__getitem__))

    async def observe(self, members: Members) -> Observations:
        """Return what is known about a union; it may only be how it merges."""
        if members not in self.observations:
            merged = await self._oracle.merge(members)
            observations = Observations(merged.tree, merged.conflict)
            self.observations[members] = (
                observations if merged.conflict else self._trees.setdefault(merged.tree, observations)
            )
        return self.observations[members]

    async def judge_if_new(self, observations: Observations) -> None:
        """Judge a tree that was not judged before; repeat only while its answers are undecided."""
        if not observations.is_judged:
            self._check_limit()
            self.runs += 1
            await self._judge(observations)
        await self.settle(observations)

    async def settle(self, observations: Observations) -> None:
        while not observations.is_settled and observations.times_judged < self.limits.asks:
            await self.confirm(observations)

    async def confirm(self, observations: Observations) -> None:
        """Judge a tree only to confirm its answer."""
        self._check_limit()
        self.confirmations += 1
        await self._judge(observations)

    @property
    def flaky_trees(self) -> list[Observations]:
        """The trees on which some check was both green and red."""
        return [observations for observations in self._trees.values() if observations.flaky]

    def _check_limit(self) -> None:
        if self.limits.most_runs is not None and self.runs + self.confirmations >= self.limits.most_runs:
            raise SearchExhausted

    async def _judge(self, observations: Observations) -> None:
        often = [check for check, _ in self._often_red.most_common()]
        first = tuple(dict.fromkeys([observations.suspect, *often] if observations.suspect else often))
        seen = await self._oracle.judge(observations.tree, first, fresh=observations.times_judged > 0)
        observations.add(seen, first)
        self._often_red.update(seen.red)
