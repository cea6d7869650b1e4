"""How far a plan has come: what stands, whose work is in it, and why the others are missing. Plain data for notes."""

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from donewhen.records import frozen
from donewhen.union.gate import Gated
from donewhen.union.uniting import Dropped, United

HELD_OUT = "a held-out check turns red"
WORTH_ANOTHER_TRY = ("rejected", "error")
"""What the gate could not find out, no worker can do anything about."""


@frozen
class Again:
    """A subtask that was left out and could be made to fit."""

    id: str
    why: str
    """In words that a worker may read."""
    tree: str
    """What it had made; empty for nothing, and for what nobody should read again."""
    on: str = ""
    """The tree that it stood on."""


@frozen(kw_only=True)
class Step:
    """What came of some subtasks that were put on top of what stood."""

    tree: str
    kept: tuple[str, ...]
    accepted: tuple[str, ...]
    missing: Mapping[str, str]
    again: tuple[Again, ...]

    @classmethod
    def from_union(cls, united: United, held_out: frozenset[str], stands: bool) -> "Step":
        """`stands`: something was there before."""
        refused = [one for one in united.gated if one.status != "accepted"]
        return cls(
            tree=united.together.tree,
            kept=united.kept,
            accepted=tuple(one.patch.id for one in united.gated if one.status == "accepted"),
            missing={
                **{one.patch.id: "; ".join(map(str, one.reasons)) or one.status for one in refused},
                **{one.patch: one.detail for one in united.dropped},
            },
            again=tuple(_worth_another_try(united, held_out)) if united.kept or stands else (),
        )

    @classmethod
    def of(cls, plain: Mapping[str, Any]) -> "Step":
        again = tuple(Again(**one) for one in plain["again"])
        kept, accepted = tuple(plain["kept"]), tuple(plain["accepted"])
        return cls(tree=plain["tree"], kept=kept, accepted=accepted, missing=plain["missing"], again=again)

    def plain(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(slots=True)
class Reached:
    tree: str
    """What stands so far."""
    inside: list[str] = field(default_factory=list[str])
    """Whose work is in it, in the order in which it was put in."""
    missing: dict[str, str] = field(default_factory=dict[str, str])
    """By subtask, why it is not."""
    accepted: set[str] = field(default_factory=set[str])
    """Whose patches have passed the gate."""

    def take(self, step: Step) -> None:
        if step.kept:
            self.tree = step.tree
        self.inside += step.kept
        self.accepted |= set(step.accepted)
        for id in step.kept:
            self.missing.pop(id, None)
        for id, why in step.missing.items():
            before = self.missing.get(id)
            self.missing[id] = f"{before}; offered again: {why}" if before else why

    def why_not(self) -> tuple[str, str] | None:
        """In one word and in a line why there is nothing to show; None when there is."""
        if self.inside:
            return None
        return "union_rejected" if self.accepted else "nothing_accepted", self.why_missing()

    def why_missing(self) -> str:
        return "; ".join(f"{id}: {why}" for id, why in self.missing.items())

    def summary(self, total: int) -> str:
        left_out = f"; left out: {self.why_missing()}" if self.missing else ""
        return f"{len(self.inside)} of {total} subtasks are in: {', '.join(self.inside)}{left_out}"


def _worth_another_try(united: United, held_out: frozenset[str]) -> Iterator[Again]:
    """Asked only where something is in: else there is nothing that anybody could be made to fit to."""
    dropped = {one.patch: one for one in united.dropped}
    for one in united.gated:
        if one.patch.id in dropped:
            yield Again(one.patch.id, _of_drop(dropped[one.patch.id], held_out), one.patch.tree, one.patch.on)
        elif one.status in WORTH_ANOTHER_TRY:
            has_secret = any(reason.code == "secret" for reason in one.reasons)
            yield Again(one.patch.id, _of_gate(one, held_out), "" if has_secret else one.patch.tree, one.patch.on)


def _of_drop(drop: Dropped, held_out: frozenset[str]) -> str:
    together = f" together with {drop.partner}" if drop.partner else ""
    return f"{HELD_OUT}{together}" if drop.check in held_out else drop.detail


def _of_gate(gated: Gated, held_out: frozenset[str]) -> str:
    why = [HELD_OUT if reason.check in held_out else str(reason) for reason in gated.reasons]
    return "; ".join(dict.fromkeys(why))
