"""Unions of patches with known answers, and an oracle that judges them like checks, with optional flaky verdicts.

Every answer is known by construction: which sets of patches are red together, in which order, by which check.
Nothing here searches. Everything is seeded: the same seed gives the same union and the same flaky verdicts.
"""

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from donewhen.union.observations import Observation
from donewhen.union.oracle import Members, MergedTree
from donewhen.union.order import SearchItem

CHECKS = ("build", "types", "tests", "lint")


@dataclass(frozen=True)
class Clash:
    """Patches that are red together, in this order of application if the order matters."""

    members: Members
    check: str | None = "tests"
    """None: they cannot be merged."""
    ordered: bool = False

    def shows_in(self, members: Members) -> bool:
        if not set(self.members) <= set(members):
            return False
        return not self.ordered or tuple(id for id in members if id in self.members) == self.members


@dataclass(frozen=True)
class Union:
    """Patches in the order of application, and all their conflicts."""

    kind: str
    items: tuple[SearchItem, ...]
    clashes: tuple[Clash, ...] = ()
    hub: str | None = None
    """The patch in conflict with several others."""

    @property
    def ids(self) -> Members:
        return tuple(item.id for item in self.items)

    @property
    def real(self) -> tuple[Clash, ...]:
        """The conflicts that show when everything is applied."""
        return tuple(clash for clash in self.clashes if clash.shows_in(self.ids))

    def turned(self, members: Members) -> set[str]:
        return {clash.check for clash in self.clashes if clash.check and clash.shows_in(members)}


@dataclass
class Judging:
    """An oracle. Each run of a check may be flaky: red instead of green, or the reverse."""

    union: Union
    false_red: float = 0.0
    false_green: float = 0.0
    seed: int = 0
    runs: int = field(default=0, init=False)
    check_runs: int = field(default=0, init=False)
    green: set[Members] = field(default_factory=set[Members], init=False)
    """The unions that were seen green with every check."""
    trees: dict[str, Members] = field(default_factory=dict[str, Members], init=False)
    judged_trees: set[str] = field(default_factory=set[str], init=False)

    def __post_init__(self) -> None:
        self._chance = random.Random(self.seed)

    async def merge(self, members: Members) -> MergedTree:
        assert list(members) == [id for id in self.union.ids if id in members], "not in the order given"
        unmerged = [clash for clash in self.union.clashes if not clash.check and clash.shows_in(members)]
        if unmerged:
            return MergedTree(conflict=("both.py",))
        self.trees["+".join(members)] = members
        return MergedTree("+".join(members))

    async def judge(self, tree: str, first: tuple[str, ...], *, fresh: bool) -> Observation:
        assert fresh == (tree in self.judged_trees), "a second look is fresh, and only a second one"
        self.judged_trees.add(tree)
        self.runs += 1
        turned = self.union.turned(self.trees[tree])
        for check in dict.fromkeys([*first, *CHECKS]):
            self.check_runs += 1
            if self._shows_red(check in turned):
                return Observation((check,))
        self.green.add(self.trees[tree])
        return Observation()

    def _shows_red(self, red: bool) -> bool:
        return self._chance.random() >= self.false_green if red else self._chance.random() < self.false_red


def is_wrong(union: Union, culprit: str, partner: str | None) -> bool:
    """True if a culprit or its partner is not part of a common conflict."""
    blamed = {culprit, partner} - {None}
    return not any(blamed <= set(clash.members) for clash in union.real)


# -- the kinds --


def patches(count: int, chance: random.Random) -> list[SearchItem]:
    """Patches on the files of a small project: some with separate files, some not."""
    pool = [f"src/f{number}.py" for number in range(2 * count)]
    return [SearchItem(f"p{number}", frozenset(chance.sample(pool, chance.randint(1, 3)))) for number in range(count)]


def touching(item: SearchItem, *more: str) -> SearchItem:
    return SearchItem(item.id, item.files | set(more), item.risk, item.green_alone)


def sharing(items: list[SearchItem], chosen: Sequence[SearchItem], path: str) -> tuple[SearchItem, ...]:
    """The same patches, of which the chosen ones touch one common file."""
    return tuple(touching(item, path) if item in chosen else item for item in items)


def applied(items: Sequence[SearchItem], chosen: Sequence[SearchItem]) -> Members:
    return tuple(item.id for item in items if item in chosen)


def none(items: list[SearchItem], chance: random.Random) -> Union:
    return Union("none", tuple(items))


def single(items: list[SearchItem], chance: random.Random) -> Union:
    return Union("single", tuple(items), (Clash((chance.choice(items).id,), chance.choice(CHECKS)),))


def pair(items: list[SearchItem], chance: random.Random) -> Union:
    chosen = chance.sample(items, 2)
    clash = Clash(applied(items, chosen), chance.choice(CHECKS))
    return Union("pair", sharing(items, chosen, "src/both.py"), (clash,))


def pair_across_files(items: list[SearchItem], chance: random.Random) -> Union:
    apart = [SearchItem(item.id, frozenset({f"own/{item.id}.py"})) for item in items]
    return Union("across files", tuple(apart), (Clash(applied(apart, chance.sample(apart, 2)), chance.choice(CHECKS)),))


def order_dependent(items: list[SearchItem], chance: random.Random) -> Union:
    """Red only if one comes after the other; half of them are applied in the reverse order."""
    chosen = tuple(item.id for item in chance.sample(items, 2))
    return Union("in order", tuple(items), (Clash(chosen, chance.choice(CHECKS), ordered=True),))


def unmergeable(items: list[SearchItem], chance: random.Random) -> Union:
    chosen = chance.sample(items, 2)
    return Union("no merge", sharing(items, chosen, "src/both.py"), (Clash(applied(items, chosen), None),))


def triple(items: list[SearchItem], chance: random.Random) -> Union:
    chosen = chance.sample(items, min(3, len(items)))
    return Union("triple", tuple(items), (Clash(applied(items, chosen), chance.choice(CHECKS)),))


def disjoint_pairs(items: list[SearchItem], chance: random.Random) -> Union:
    count = chance.randint(1, max(1, min(4, len(items) // 2)))
    chosen = chance.sample(items, 2 * count)
    couples = [chosen[2 * number : 2 * number + 2] for number in range(count)]
    clashes = tuple(Clash(applied(items, couple), chance.choice(CHECKS)) for couple in couples)
    return Union("pairs", tuple(items), clashes)


def one_against_many(items: list[SearchItem], chance: random.Random) -> Union:
    hub, *others = chance.sample(items, min(len(items), chance.randint(3, 6)))
    clashes = tuple(Clash(applied(items, [hub, other]), chance.choice(CHECKS)) for other in others)
    return Union("one, many", tuple(items), clashes, hub=hub.id if len(others) > 1 else None)


KINDS: tuple[Callable[[list[SearchItem], random.Random], Union], ...] = (
    none,
    single,
    pair,
    pair_across_files,
    order_dependent,
    unmergeable,
    triple,
    disjoint_pairs,
    one_against_many,
)
MOST = 32


def generated(kind: Callable[[list[SearchItem], random.Random], Union], count: int, seed: int) -> Union:
    chance = random.Random(f"{kind.__name__} {count} {seed}")
    return kind(patches(count, chance), chance)


def cases(number: int) -> Iterator[tuple[int, Union]]:
    """Unions of every kind in turn, of 2 to 32 patches."""
    for seed in range(number):
        yield seed, generated(KINDS[seed % len(KINDS)], random.Random(seed).randint(2, MOST), seed)
