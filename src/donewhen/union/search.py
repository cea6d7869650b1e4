"""Which of several patches go together, and who is to blame for the rest: a red union searched in few judgements.

    found = await search(patches, probe)

Patches are applied in the order given, always; they are tried in the order of their risk. The smallest red prefix of
that order names a culprit, a second search names its partner, a trial decides (see `trial`), the culprit is left out,
and what is left is judged. So what is kept was seen green as a whole, and everybody who is missing was seen to break
what stood before it. Nothing is merged or run here: that is what the probe is for.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import anyio

from donewhen.union.beliefs import Beliefs
from donewhen.union.known import USUAL, Limits, Members, Probe, Questions, Spent
from donewhen.union.ordering import Item, by_risk, components, lanes
from donewhen.union.trial import Blame, first_red, retrial, trial


@dataclass(frozen=True)
class Found:
    kept: Members
    """A maximal union that passes, in the order in which it is applied; seen green as it is, with every check."""
    blames: tuple[Blame, ...]
    runs: int
    """Judgements made to find something out."""
    confirmations: int
    """Judgements made only to be sure."""
    flaky: tuple[str, ...]
    """Checks that gave two answers for one tree."""
    left: Members = ()
    """Neither kept nor blamed, because the judgements that the limits allow were used up."""


async def search(patches: Sequence[Item], probe: Probe, *, limits: Limits = USUAL) -> Found:
    """A maximal union of the patches that is green, given that none of them at all is green."""
    order = by_risk(patches)
    questions = Questions(probe, [item.id for item in patches], limits)
    known = Beliefs(questions, [item.id for item in patches if item.green_alone])
    salvage = Salvage(known, [item.id for item in order])
    try:
        if await salvage.is_red():
            await _lane_by_lane(salvage, lanes(components(order), limits.at_once))
        await salvage.finish()
        await salvage.offer_again()
    except Spent:
        return _so_far(known, salvage)
    return _found(known, salvage, salvage.sequence)


async def _lane_by_lane(whole: "Salvage", dealt: list[list[Item]]) -> None:
    """Search the independent parts at the same time, each by itself; what they leave is still to be judged together."""
    if len(dealt) < 2:
        return
    parts = [Salvage(whole.known, [id for id in whole.sequence if id in {item.id for item in lane}]) for lane in dealt]
    try:
        async with anyio.create_task_group() as tasks:
            for part in parts:
                tasks.start_soon(part.finish)
    except ExceptionGroup as group:
        # What went wrong in one part comes before what another ran out of.
        raise min(group.exceptions, key=lambda error: isinstance(error, Spent)) from group
    finally:
        whole.blames += [blame for part in parts for blame in part.blames]
        whole.sequence = [id for id in whole.sequence if any(id in part.sequence for part in parts)]


@dataclass
class Salvage:
    """What is left of some patches while those that break it are taken out, one after the other."""

    known: Beliefs
    sequence: list[str]
    """In the order of trying; starts as everything."""
    blames: list[Blame] = field(default_factory=list[Blame])
    given: dict[str, int] = field(init=False)
    _spared: set[str] = field(default_factory=set[str])
    """Partners that leaving out did not help."""
    _thought_over: Members = ()

    def __post_init__(self) -> None:
        self.given = {id: place for place, id in enumerate(self.sequence)}

    async def is_red(self) -> bool:
        """Whether what is left is red, twice: a search is not begun on account of a check's bad moment."""
        union = self.known.union(self.sequence)
        if not union or not await self.known.seen_red(union):
            return False
        thought_over, self._thought_over = self._thought_over == union, union
        return thought_over or await self.known.red_on_second_thought(union)

    async def finish(self) -> None:
        """Take patches out until what is left is green."""
        while await self.is_red():
            await self._take_one_out()

    async def _take_one_out(self) -> None:
        union = self.known.union
        last = await first_red(self.known, len(self.sequence), lambda number: union(self.sequence[: number + 1]))
        blame = await trial(self.known, self.sequence[:last], self.sequence[last])
        if blame is None:
            return
        self.blames.append(blame)
        self.sequence.remove(blame.culprit)
        if blame.partner:
            await self._without(blame.partner, self.sequence[:last])

    async def _without(self, hub: str, prefix: list[str]) -> None:
        """Leave out one that fights with several, where that keeps more than it costs. Tried once for each."""
        victims = [blame for blame in self.blames if blame.partner == hub]
        if len(victims) < 2 or hub in self._spared:
            return
        self._spared.add(hub)
        culprits = [blame.culprit for blame in victims]
        if await self.known.red(self.known.union([*(id for id in prefix if id != hub), *culprits])):
            return
        self.blames = [blame for blame in self.blames if blame not in victims]
        self.blames.append(await retrial(self.known, victims[0]))
        self.sequence = self._in_order([*(id for id in self.sequence if id != hub), *culprits])

    async def offer_again(self) -> None:
        """Take back whoever was left out because of somebody who was left out later."""
        for blame in list(self.blames):
            if set(blame.witness) - {blame.culprit} <= set(self.sequence):
                continue
            grown = self._in_order([*self.sequence, blame.culprit])
            if not await self.known.seen_red(self.known.union(grown)):
                self.sequence = grown
                self.blames.remove(blame)

    def _in_order(self, ids: Sequence[str]) -> list[str]:
        return sorted(ids, key=self.given.__getitem__)


def _found(known: Beliefs, salvage: Salvage, kept: Sequence[str], left: Members = ()) -> Found:
    blames = tuple(blame for blame in salvage.blames if blame.culprit not in kept)
    asked = known.questions
    return Found(known.union(kept), blames, asked.runs, asked.confirmations, known.flaky, left)


def _so_far(known: Beliefs, salvage: Salvage) -> Found:
    """The largest union that was seen green before the limit was reached."""
    kept = max(known.greens(), key=len, default=())
    blamed = {blame.culprit for blame in salvage.blames}
    left = known.union(id for id in salvage.given if id not in blamed and id not in kept)
    return _found(known, salvage, kept, left)
