"""From finished patches to a proven union: gate each patch, merge, judge, and search for culprits if the union is red.

    united = await Combiner(gate, integration, judging, emit).united(patches)

The steps are the same for an engine's patches, which arrive one by one and may be based on earlier ones, and for
branches of any origin. The kept patches were judged together, with every check. Each dropped patch is reported with
the partner and the check that exposed it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import anyio

from donewhen import events
from donewhen.event_records import RejectionCause
from donewhen.events import Emit
from donewhen.records import frozen
from donewhen.union.blame import Blame
from donewhen.union.check_delta import CheckDeltas, Gains, Judging
from donewhen.union.gate import Gated, PatchFacts, PatchGate
from donewhen.union.integrate import Integration, Obstacle, Together
from donewhen.union.oracle import Members, MergedTree, Observation
from donewhen.union.order import SearchItem
from donewhen.union.patch import Patch
from donewhen.union.search import SearchResult, search
from donewhen.workspace.git.objects import shown

Why = Literal["patch_conflict", "duplicate_declaration", "build_test_failed", "rejected"]
PRECEDENCE: tuple[Why, ...] = ("patch_conflict", "duplicate_declaration", "build_test_failed", "rejected")
PROTECTED = "protected paths"
"""Used in place of a check name when a union changes protected paths."""
MOST_NAMED = 3


@frozen(kw_only=True)
class Dropped:
    """A patch that passed the gate but is not part of the union."""

    patch: str
    partner: str | None
    check: str | None
    why: Why
    common: tuple[str, ...]
    """Files or symbols that it and its partner both change."""
    detail: str
    """One line for people."""

    def as_event(self) -> RejectionCause:
        """Return the cause as an event reports it."""
        return RejectionCause(self.patch, self.partner, self.why, self.check, self.common, self.detail)


@frozen(kw_only=True)
class United:
    gated: tuple[Gated, ...]
    kept: Members
    together: Together
    check_deltas: CheckDeltas | None
    """Check deltas of the kept union; None if nothing is kept."""
    dropped: tuple[Dropped, ...]
    runs: int
    confirmations: int
    flaky: tuple[str, ...]

    @property
    def is_complete(self) -> bool:
        return len(self.kept) == len(self.gated)


@frozen
class _Expected:
    """The gains of each patch when judged alone. A union must have all gains of its members."""

    of_each: Mapping[str, Gains]

    def of(self, members: Members) -> Gains:
        return frozenset[tuple[str, str]]().union(*(self.of_each.get(id, ()) for id in members))


@dataclass(slots=True)
class _CombinerOracle:
    """The oracle of the search: merges and judges unions.

    The search caches answers by the identity of the merged tree. Unions with the same files may be expected to have
    different gains. They are then different questions: a red answer to one says nothing about the other.
    """

    integration: Integration
    judging: Judging
    expected: _Expected
    proven: bool
    _gains: list[Gains] = field(default_factory=list[Gains])

    async def merge(self, members: Members) -> MergedTree:
        merged, gains = await self.integration.merge(members), self.expected.of(members)
        if merged.conflict:
            return merged
        if gains not in self._gains:
            self._gains.append(gains)
        return MergedTree(f"{merged.tree} {self._gains.index(gains)}")

    async def judge(self, tree: str, first: tuple[str, ...], *, fresh: bool) -> Observation:
        id, _, number = tree.partition(" ")
        check_deltas = await self.judging(id, "union", first, fresh=fresh, proven=self.proven)
        against = _checks_against(check_deltas, self._gains[int(number)])
        # Every check in `first` before the first red one counts as seen green.
        places = {name: place for place, name in enumerate(first)}
        return Observation(tuple(sorted(against, key=lambda name: places.get(name, len(places)))))


def _checks_against(check_deltas: CheckDeltas, expected: Gains) -> tuple[str, ...]:
    """Return the checks that speak against a union. An unknown result does."""
    if check_deltas.restored:
        return (PROTECTED,)
    return (*check_deltas.broken, *check_deltas.lacking(expected), *(delta.name for delta in check_deltas.unknown))


@dataclass(slots=True)
class Combiner:
    gate: PatchGate
    integration: Integration
    judging: Judging
    """Must compare with the tree on which the patches are made. Compared with the base, each patch would seem to have
    the gains that this tree already has."""
    emit: Emit
    at_once: int = 2
    """Number of patches that `combine_all` judges alone at the same time."""
    before: Members = ()
    """Patches that are already in the tree on which the new patches are made."""
    keeps_gains: bool = False
    """If true, a check that is red on the base decides too: if a patch alone makes it green, it must be green in every
    union with that patch. The same holds for single tests in it, if its runner names them."""

    async def combine_all(self, patches: Sequence[Patch]) -> United:
        """Gate all patches and combine the accepted ones. The texts of all patches are parsed in one call."""
        return await self.combine(await self._gate_all(patches))

    async def gate_one(self, patch: Patch) -> Gated:
        """Gate one patch. The caller limits how many run at the same time."""
        (facts,) = await self.gate.collect_facts([patch])
        return await self._judge(facts)

    async def combine(self, gated: Sequence[Gated]) -> United:
        """Combine the patches that the gate accepted, in this order."""
        accepted = [one for one in gated if one.status == "accepted"]
        if not accepted:
            base = await self.integration.apply(())
            return United(
                gated=tuple(gated),
                kept=(),
                together=base,
                check_deltas=None,
                dropped=(),
                runs=0,
                confirmations=0,
                flaky=(),
            )
        found, together, check_deltas = await self._search(accepted)
        dropped = await self._drops(found, {one.patch.id: one for one in accepted})
        self._emit_result(found.kept, dropped, together)
        return United(
            gated=tuple(gated),
            kept=found.kept,
            together=together,
            check_deltas=check_deltas,
            dropped=dropped,
            runs=found.runs,
            confirmations=found.confirmations,
            flaky=found.flaky,
        )

    async def _search(self, accepted: Sequence[Gated]) -> tuple[SearchResult, Together, CheckDeltas | None]:
        """Return a proven union. The search first runs the checks alone. If its result fails the judgement with all
        defences, the search is repeated with all defences in every step."""
        items = [SearchItem(one.patch.id, one.files, green_alone=True) for one in accepted]
        gains_alone = {one.patch.id: one.check_deltas.gains for one in accepted if one.check_deltas}
        expected = _Expected(gains_alone if self.keeps_gains else {})
        for proven in (False, True):
            found = await search(items, _CombinerOracle(self.integration, self.judging, expected, proven))
            together = await self.integration.apply(found.kept)
            check_deltas = await self.judging(together.tree, "union") if found.kept else None
            if check_deltas is None or not _checks_against(check_deltas, expected.of(found.kept)):
                return found, together, check_deltas
        return replace(found, kept=(), undecided=found.kept), await self.integration.apply(()), None

    async def _gate_all(self, patches: Sequence[Patch]) -> tuple[Gated, ...]:
        """Gate each patch alone, some at the same time. Results are in the given order."""
        gated: dict[int, Gated] = {}
        limit = anyio.CapacityLimiter(self.at_once)

        async def one(number: int, facts: PatchFacts) -> None:
            async with limit:
                gated[number] = await self._judge(facts)

        async with anyio.create_task_group() as tasks:
            for number, facts in enumerate(await self.gate.collect_facts(patches)):
                tasks.start_soon(one, number, facts)
        return tuple(gated[number] for number in range(len(patches)))

    async def _judge(self, facts: PatchFacts) -> Gated:
        id = facts.patch.id
        self.emit(events.SubtaskVerifying(id=id))
        gated = await self.gate.judge(facts)
        reasons = tuple(reason.as_event() for reason in gated.reasons)
        self.emit(events.SubtaskGated(id=id, status=gated.status, reasons=reasons, notes=gated.notes))
        return gated

    # -- results of the search --

    async def _drops(self, found: SearchResult, accepted: Mapping[str, Gated]) -> tuple[Dropped, ...]:
        blamed = [await self._drop_for(blame, accepted) for blame in found.blames]
        undecided = [
            Dropped(patch=id, partner=None, check=None, why="rejected", common=(), detail="no union with it was proven")
            for id in found.undecided
        ]
        return (*blamed, *undecided)

    async def _drop_for(self, blame: Blame, accepted: Mapping[str, Gated]) -> Dropped:
        obstacle = (await self.integration.apply(blame.witness)).obstacle if blame.conflict else None
        common = _common(accepted[blame.culprit], accepted[blame.partner]) if blame.partner else ()
        why: Why = obstacle.kind if obstacle else "rejected" if blame.check == PROTECTED else "build_test_failed"
        return Dropped(
            patch=blame.culprit,
            partner=blame.partner,
            check=blame.check,
            why=why,
            common=common,
            detail=_drop_detail(blame, obstacle, common),
        )

    def _emit_result(self, kept: Members, dropped: Sequence[Dropped], together: Together) -> None:
        causes = sorted(dropped, key=lambda one: PRECEDENCE.index(one.why))
        if causes:
            first_cause = causes[0]
            self.emit(
                events.UnionRejected(
                    culprits=tuple(one.patch for one in causes),
                    partner=first_cause.partner,
                    reason=first_cause.why,
                    detail=first_cause.detail,
                    causes=tuple(one.as_event() for one in causes),
                )
            )
        for id in kept:
            self.emit(events.SubtaskApplied(id=id))
        if kept:
            self.emit(events.UnionVerified(applied=(*self.before, *kept), reconciled=together.reconciled))


def _common(one: Gated, other: Gated) -> tuple[str, ...]:
    """Return the symbols that both change; if there are none, the files."""
    symbols = sorted(f"{shown(path)}: {name}" for path, name in one.symbols & other.symbols)
    return tuple(symbols or sorted(shown(path) for path in one.files & other.files))


def _drop_detail(blame: Blame, obstacle: Obstacle | None, common: Sequence[str]) -> str:
    together = f" together with {blame.partner}" if blame.partner else ""
    if not blame.partner and len(blame.witness) > 1:
        together = f" together with {' and '.join(id for id in blame.witness if id != blame.culprit)}"
    if obstacle is not None:
        return f"cannot be merged{together}: {obstacle.detail}"
    shared = f"; both change {', '.join(common[:MOST_NAMED])}" if common else ""
    return f"{blame.check} turns red{together}{shared}"
