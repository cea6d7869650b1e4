"""From finished patches to a union that is proven: gate each, put them together, judge, and search if it is red.

    united = await Uniting(gate, integration, judging, emit).united(patches)

The same steps for an engine's patches, which come one by one and may stand on what others have made, and for anybody's
branches. What is kept was judged as a whole, with every check; why each of the others is missing is told with whom and
by which check it came out.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import anyio

from donewhen import events
from donewhen.events import Emit
from donewhen.records import frozen
from donewhen.union.gate import Gate, Gated, Look
from donewhen.union.integrate import Integration, Obstacle, Together
from donewhen.union.known import Members, Merged, Seen
from donewhen.union.legs import Gains, Judgement, Judging
from donewhen.union.ordering import Item
from donewhen.union.patch import Patch
from donewhen.union.search import Found, search
from donewhen.union.trial import Blame
from donewhen.workspace.objects import shown

Why = Literal["patch_conflict", "duplicate_declaration", "build_test_failed", "rejected"]
PRECEDENCE: tuple[Why, ...] = ("patch_conflict", "duplicate_declaration", "build_test_failed", "rejected")
PROTECTED = "protected paths"
"""What turned when a union changes what no patch may: it stands where the name of a check does."""
MOST_NAMED = 3


@frozen(kw_only=True)
class Dropped:
    """A patch that passed the gate and is not part of the union."""

    patch: str
    partner: str | None
    check: str | None
    why: Why
    common: tuple[str, ...]
    """Files or symbols that it and its partner both change."""
    detail: str
    """One line for people."""

    def plain(self) -> dict[str, Any]:
        return {
            "culprit": self.patch,
            "partner": self.partner,
            "reason": self.why,
            "check": self.check,
            "common": self.common,
            "detail": self.detail,
        }


@frozen(kw_only=True)
class United:
    gated: tuple[Gated, ...]
    kept: Members
    together: Together
    judgement: Judgement | None
    """Of what is kept; None when nothing is."""
    dropped: tuple[Dropped, ...]
    runs: int
    confirmations: int
    flaky: tuple[str, ...]

    @property
    def complete(self) -> bool:
        return len(self.kept) == len(self.gated)


@frozen
class _Expected:
    """What patches have reached each by itself: all of it must be there when they are together."""

    of_each: Mapping[str, Gains]

    def of(self, members: Members) -> Gains:
        return frozenset[tuple[str, str]]().union(*(self.of_each.get(id, ()) for id in members))


@dataclass(slots=True)
class _Probe:
    """What the search asks.

    It keeps answers by what came out of a merge. Patches that come to the same files may have reached different things,
    and then are two questions: that one of them is red says nothing about the other.
    """

    integration: Integration
    judging: Judging
    expected: _Expected
    proven: bool
    _gains: list[Gains] = field(default_factory=list[Gains])

    async def merged(self, members: Members) -> Merged:
        merged, gains = await self.integration.merged(members), self.expected.of(members)
        if merged.conflict:
            return merged
        if gains not in self._gains:
            self._gains.append(gains)
        return Merged(f"{merged.tree} {self._gains.index(gains)}")

    async def judged(self, tree: str, first: tuple[str, ...], *, fresh: bool) -> Seen:
        id, _, number = tree.partition(" ")
        judgement = await self.judging(id, "union", first, fresh=fresh, proven=self.proven)
        against = _against(judgement, self._gains[int(number)])
        # Whatever stands in `first` before the first that was red counts as seen green.
        places = {name: place for place, name in enumerate(first)}
        return Seen(tuple(sorted(against, key=lambda name: places.get(name, len(places)))))


def _against(judgement: Judgement, expected: Gains) -> tuple[str, ...]:
    """What speaks against a union; what could not be found out does."""
    if judgement.taken_back:
        return (PROTECTED,)
    return (*judgement.turned, *judgement.lost(expected), *(leg.name for leg in judgement.unknown))


@dataclass(slots=True)
class Uniting:
    gate: Gate
    integration: Integration
    judging: Judging
    """On a ground, beside that: judged beside the base, all who stand on it would seem to have reached what it has."""
    emit: Emit
    at_once: int = 2
    """Patches of `united` that are judged by themselves at the same time."""
    before: Members = ()
    """Patches that are in the ground already, on which those that come now stand."""
    keeps_gains: bool = False
    """Whether a check that is red on the base decides as well where it was reached: if it is green with a patch alone,
    it must be in every union with that patch. So must single tests in it, where its runner names them."""

    async def united(self, patches: Sequence[Patch]) -> United:
        """All of it; the texts of all patches are read by one process."""
        return await self.combined(await self._gated(patches))

    async def gated(self, patch: Patch) -> Gated:
        """One patch by itself. How many at the same time is left to who asks."""
        (look,) = await self.gate.looked([patch])
        return await self._judged(look)

    async def combined(self, gated: Sequence[Gated]) -> United:
        """Those that the gate accepted, put together in this order."""
        accepted = [one for one in gated if one.status == "accepted"]
        if not accepted:
            return _nothing(gated, await self.integration.together(()))
        found, together, judgement = await self._searched(accepted)
        dropped = await self._dropped(found, {one.patch.id: one for one in accepted})
        self._tell(found.kept, dropped, together)
        return United(
            gated=tuple(gated),
            kept=found.kept,
            together=together,
            judgement=judgement,
            dropped=dropped,
            runs=found.runs,
            confirmations=found.confirmations,
            flaky=found.flaky,
        )

    async def _searched(self, accepted: Sequence[Gated]) -> tuple[Found, Together, Judgement | None]:
        """A union that is proven. The search asks the checks alone; if its answer then does not stand up to all that
        makes a green believable, every step is taken again with that."""
        items = [_item(one) for one in accepted]
        reached = {one.patch.id: one.judgement.gains for one in accepted if one.judgement}
        expected = _Expected(reached if self.keeps_gains else {})
        for proven in (False, True):
            found = await search(items, _Probe(self.integration, self.judging, expected, proven))
            together = await self.integration.together(found.kept)
            judgement = await self.judging(together.tree, "union") if found.kept else None
            if judgement is None or not _against(judgement, expected.of(found.kept)):
                return found, together, judgement
        return replace(found, kept=(), left=found.kept), await self.integration.together(()), None

    async def _gated(self, patches: Sequence[Patch]) -> tuple[Gated, ...]:
        """Each by itself, some at the same time; in the order given."""
        gated: dict[int, Gated] = {}
        limit = anyio.CapacityLimiter(self.at_once)

        async def one(number: int, look: Look) -> None:
            async with limit:
                gated[number] = await self._judged(look)

        async with anyio.create_task_group() as tasks:
            for number, look in enumerate(await self.gate.looked(patches)):
                tasks.start_soon(one, number, look)
        return tuple(gated[number] for number in range(len(patches)))

    async def _judged(self, look: Look) -> Gated:
        id = look.patch.id
        self.emit(events.SubtaskVerifying(id=id))
        gated = await self.gate.judged(look)
        reasons = tuple(reason.plain() for reason in gated.reasons)
        self.emit(events.SubtaskGated(id=id, status=gated.status, reasons=reasons, notes=gated.notes))
        return gated

    # -- what is made of its answer --

    async def _dropped(self, found: Found, accepted: Mapping[str, Gated]) -> tuple[Dropped, ...]:
        blamed = [await self._of_blame(blame, accepted) for blame in found.blames]
        left = [
            Dropped(
                patch=id, partner=None, check=None, why="rejected", common=(), detail="no union with it could be proven"
            )
            for id in found.left
        ]
        return (*blamed, *left)

    async def _of_blame(self, blame: Blame, accepted: Mapping[str, Gated]) -> Dropped:
        obstacle = (await self.integration.together(blame.witness)).obstacle if blame.conflict else None
        common = _common(accepted[blame.culprit], accepted[blame.partner]) if blame.partner else ()
        why: Why = obstacle.kind if obstacle else "rejected" if blame.check == PROTECTED else "build_test_failed"
        return Dropped(
            patch=blame.culprit,
            partner=blame.partner,
            check=blame.check,
            why=why,
            common=common,
            detail=_words(blame, obstacle, common),
        )

    def _tell(self, kept: Members, dropped: Sequence[Dropped], together: Together) -> None:
        causes = sorted(dropped, key=lambda one: PRECEDENCE.index(one.why))
        if causes:
            gravest = causes[0]
            self.emit(
                events.UnionRejected(
                    culprits=tuple(one.patch for one in causes),
                    partner=gravest.partner,
                    reason=gravest.why,
                    detail=gravest.detail,
                    causes=tuple(one.plain() for one in causes),
                )
            )
        for id in kept:
            self.emit(events.SubtaskApplied(id=id))
        if kept:
            self.emit(events.UnionVerified(applied=(*self.before, *kept), reconciled=together.reconciled))


def _nothing(gated: Sequence[Gated], base: Together) -> United:
    return United(
        gated=tuple(gated), kept=(), together=base, judgement=None, dropped=(), runs=0, confirmations=0, flaky=()
    )


def _item(one: Gated) -> Item:
    return Item(one.patch.id, one.files, green_alone=True)


def _common(one: Gated, other: Gated) -> tuple[str, ...]:
    """Symbols that both change; else files."""
    symbols = sorted(f"{shown(path)}: {name}" for path, name in one.symbols & other.symbols)
    return tuple(symbols or sorted(shown(path) for path in one.files & other.files))


def _words(blame: Blame, obstacle: Obstacle | None, common: Sequence[str]) -> str:
    together = f" together with {blame.partner}" if blame.partner else ""
    if not blame.partner and len(blame.witness) > 1:
        together = f" together with {' and '.join(id for id in blame.witness if id != blame.culprit)}"
    if obstacle is not None:
        return f"cannot be merged{together}: {obstacle.detail}"
    both = f"; both change {', '.join(common[:MOST_NAMED])}" if common else ""
    return f"{blame.check} turns red{together}{both}"
