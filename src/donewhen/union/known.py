"""The questions of a search: unions merged and judged by whoever is handed in, counted, and kept by their trees.

Two unions with the same files are one tree and judged once. This module decides when a question is a new one, never
whether it is worth asking.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

from donewhen.union.tally import Seen, Tally

Members = tuple[str, ...]
"""Ids of patches, in the order in which they are applied."""


@dataclass(frozen=True)
class Merged:
    """Patches put together: the identity of what came out, or the paths at which they cannot be merged."""

    tree: str = ""
    conflict: tuple[str, ...] = ()


class Probe(Protocol):
    """Whoever merges and judges. What it raises ends the search."""

    async def merged(self, members: Members) -> Merged:
        """The patches applied to the base in this order. Cheap: nothing is run."""
        ...

    async def judged(self, tree: str, first: tuple[str, ...], *, fresh: bool) -> Seen:
        """Run the checks on a tree: those of `first` before the others and in that order.

        It may stop at the first red check; a green has run everything. `fresh`: past every cache, because this tree
        was judged before and the question is whether it answers the same again.
        """
        ...


@dataclass(frozen=True)
class Limits:
    at_once: int = 1
    """Judgements that may go on at the same time."""
    confirmations: int = 2
    """How often a red has to come back before somebody is blamed for it."""
    asks: int = 15
    """Judgements of one tree, at most, where its checks cannot make up their minds."""
    most_runs: int | None = None
    """Judgements of all kinds, at most; then the best union so far has to do."""


USUAL = Limits()


class Spent(Exception):
    """The judgements that the limits allow are used up."""


class Questions:
    """Asks the probe, and keeps what it said."""

    def __init__(self, probe: Probe, applied: Sequence[str], limits: Limits) -> None:
        self._probe = probe
        self._place = {id: place for place, id in enumerate(applied)}
        self.limits = limits
        self.tallies: dict[Members, Tally] = {}
        self._trees: dict[str, Tally] = {}
        self._often_red: Counter[str] = Counter()
        self.runs = 0
        self.confirmations = 0

    def union(self, ids: Iterable[str]) -> Members:
        """Patches in the order in which they are applied, whatever the order in which they are tried."""
        return tuple(sorted(ids, key=self._place.__getitem__))

    async def tally(self, members: Members) -> Tally:
        """What is known of a union, which may be nothing but how it merges."""
        if members not in self.tallies:
            merged = await self._probe.merged(members)
            tally = Tally(merged.tree, merged.conflict)
            self.tallies[members] = tally if merged.conflict else self._trees.setdefault(merged.tree, tally)
        return self.tallies[members]

    async def find_out(self, tally: Tally) -> None:
        """Judge a tree that was not judged before, and again only as long as its answers are undecided."""
        if not tally.seen:
            self._may_ask()
            self.runs += 1
            await self._ask(tally)
        await self.settle(tally)

    async def settle(self, tally: Tally) -> None:
        while not tally.settled and tally.asked < self.limits.asks:
            await self.again(tally)

    async def again(self, tally: Tally) -> None:
        """Judge a tree only to be sure of it."""
        self._may_ask()
        self.confirmations += 1
        await self._ask(tally)

    @property
    def wavering(self) -> list[Tally]:
        """The trees of which some check gave two answers."""
        return [tally for tally in self._trees.values() if tally.torn]

    def _may_ask(self) -> None:
        if self.limits.most_runs is not None and self.runs + self.confirmations >= self.limits.most_runs:
            raise Spent

    async def _ask(self, tally: Tally) -> None:
        often = [check for check, _ in self._often_red.most_common()]
        first = tuple(dict.fromkeys([tally.suspect, *often] if tally.suspect else often))
        seen = await self._probe.judged(tally.tree, first, fresh=tally.asked > 0)
        tally.add(seen, first)
        self._often_red.update(seen.turned)
