"""How many verdicts the search for the cause of a red union needs, compared with two simple ways; flaky checks.

one by one   each patch is judged on top of those accepted so far
bisection    a red batch is halved, each half judged on top of what was accepted so far; finds no partner either
search       the search of donewhen: culprit and partner; `sure` are verdicts for confirmation, most with one red check
checks       runs of single checks: a green verdict has four, a red one stops at the first red check

Second table: checks that fail at random with some probability; 2,000 unions of 2 to 32 patches. `wrong` counts patches
that are blamed without a part in a real conflict, `missed` counts unions that were kept with a conflict.
"""

import sys
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from pathlib import Path

import anyio

from donewhen.union.search import search

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.union.unions import KINDS, Judging, Union, cases, generated, is_wrong

SIZES = (8, 16, 32)
SEEDS = 100
CASES = 2_000
RATES = ((0.0, 0.0), (0.01, 0.0), (0.05, 0.0), (0.10, 0.0), (0.0, 0.01), (0.0, 0.05), (0.0, 0.10), (0.05, 0.05))
TARGET = "wrong under 1 in 100 unions at 5 %"


async def judged_green(judging: Judging, members: Sequence[str]) -> bool:
    chosen = tuple(id for id in judging.union.ids if id in members)
    merged = await judging.merge(chosen)
    if merged.conflict:
        return False
    return (await judging.judge(merged.tree, (), fresh=merged.tree in judging.judged_trees)).is_green


async def one_by_one(judging: Judging) -> None:
    accepted: list[str] = []
    for id in judging.union.ids:
        if await judged_green(judging, [*accepted, id]):
            accepted.append(id)


async def bisection(judging: Judging) -> None:
    accepted: list[str] = []
    batches = [list(judging.union.ids)]
    while batches:
        batch = batches.pop()
        if await judged_green(judging, [*accepted, *batch]):
            accepted += batch
        elif len(batch) > 1:
            half = len(batch) // 2
            batches += [batch[half:], batch[:half]]


async def searched(judging: Judging) -> None:
    await search(judging.union.items, judging)


def after_the_gate(union: Union) -> Union:
    """Everybody was judged alone before, which is what a union meets behind its gate."""
    bad = {clash.members for clash in union.clashes}
    return replace(union, items=tuple(replace(item, green_alone=(item.id,) not in bad) for item in union.items))


async def mean(unions: Sequence[Union], way: Callable[[Judging], Awaitable[None]]) -> tuple[float, float]:
    """Judgements and runs of single checks, on average."""
    runs = checks = 0
    for union in unions:
        judging = Judging(union)
        await way(judging)
        runs, checks = runs + judging.runs, checks + judging.check_runs
    return runs / len(unions), checks / len(unions)


async def split(unions: Sequence[Union]) -> str:
    found = [await search(union.items, Judging(union)) for union in unions]
    return (
        f"{sum(one.runs for one in found) / len(found):.1f}+{sum(one.confirmations for one in found) / len(found):.1f}"
    )


async def counting() -> None:
    print(f"{'':>4} {'':<18} {'one by one':>16} {'bisection':>16} {'search':>16} {'':>10} {'behind a gate':>16}")
    print(
        f"{'n':>4} {'kind':<18} {'judged checks':>16} {'judged checks':>16} {'judged checks':>16} {'runs+sure':>10}",
        end="",
    )
    print(f" {'judged checks':>16}")
    for count in SIZES:
        for kind in KINDS:
            unions = [generated(kind, count, seed) for seed in range(SEEDS)]
            row = [await mean(unions, way) for way in (one_by_one, bisection, searched)]
            gated = await mean([after_the_gate(union) for union in unions], searched)
            shown = " ".join(f"{runs:>9.1f} {checks:>6.1f}" for runs, checks in row)
            name = kind.__name__.replace("_", " ")
            print(f"{count:>4} {name:<18} {shown} {await split(unions):>10} {gated[0]:>9.1f} {gated[1]:>6.1f}")


async def wavering() -> None:
    print(f"\ntarget: {TARGET}")
    print(f"{'red':>5} {'green':>6} {'wrong':>6} {'of':>6} {'missed':>7} {'runs':>6} {'sure':>6}")
    for false_red, false_green in RATES:
        wrong = blames = missed = runs = sure = 0
        for seed, union in cases(CASES):
            found = await search(union.items, Judging(union, false_red, false_green, seed))
            wrong += sum(is_wrong(union, blame.culprit, blame.partner) for blame in found.blames)
            blames += len(found.blames)
            missed += any(clash.shows_in(found.kept) for clash in union.clashes)
            runs, sure = runs + found.runs, sure + found.confirmations
        row = f"{false_red:>5.0%} {false_green:>6.0%} {wrong:>6} {blames:>6} {missed:>7}"
        print(f"{row} {runs / CASES:>6.1f} {sure / CASES:>6.1f}")


def main() -> None:
    anyio.run(counting)
    anyio.run(wavering)


if __name__ == "__main__":
    main()
