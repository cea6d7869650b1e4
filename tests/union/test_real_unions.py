"""Generated unions through all of `donewhen union`: gates, merges by syntax, real checks, the search."""

import itertools
import random
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from donewhen.events import CheckCompleted, Event
from donewhen.session.settings.contract_file import contract_in
from donewhen.session.verbs.union import combine, patches_of
from donewhen.session.workplace import open_workplace
from donewhen.union.combine import United
from needs import needs
from repositories import git
from union import unions
from union.projects import project
from union.unions import CHECKS, SearchItem, Union, generated

pytestmark = pytest.mark.anyio
Kind = Callable[[list[SearchItem], random.Random], Union]
CASES: list[tuple[str, Kind]] = [
    *((".py", kind) for kind in unions.KINDS),
    *((".ts", kind) for kind in (unions.pair, unions.order_dependent)),
]
PATCHES = 4
"""In each; the bench shows the cost of 32."""


async def united(root: Path, words: Sequence[str]) -> tuple[United, int]:
    """The union, and the number of checks that ran in the search."""
    row_text: list[Event] = []
    async with open_workplace(root) as place:
        patches = await patches_of(place, place.repo.head, words, root)
        combined = await combine(place, contract_in(place.settings), place.repo.head, patches, row_text.append)
    ran = [one for one in row_text if isinstance(one, CheckCompleted) and not one.cached and one.phase == "union"]
    assert git(root, "rev-parse", f"{combined.branch}^{{tree}}") == combined.united.together.tree
    return combined.united, len(ran)


def assert_exact(union: Union, found: United) -> None:
    alone = {clash.members[0] for clash in union.real if len(clash.members) == 1}
    assert {one.patch.id for one in found.gated if one.status != "accepted"} == alone
    assert not [clash for clash in union.clashes if clash.shows_in(found.kept)]
    assert {one.patch for one in found.dropped}.isdisjoint(found.kept)
    assert len(found.kept) + len(found.dropped) + len(alone) == len(union.items)
    for one in found.dropped:
        blamed = {one.patch, one.partner} - {None}
        clash = next(clash for clash in union.real if blamed <= set(clash.members))
        assert one.check == clash.check
        assert one.why == ("build_test_failed" if clash.check else "patch_conflict")
        if len(clash.members) == 2:
            assert blamed == set(clash.members)


def clashing(kind: Kind, count: int) -> Union:
    """The first union of a kind that has its conflict; some depend on another order than that of the patches."""
    made = (generated(kind, count, seed) for seed in itertools.count())
    return next(union for union in made if union.real or not union.clashes)


@pytest.mark.sample(1)
@pytest.mark.parametrize(("ending", "kind"), CASES, ids=[f"{ending[1:]}-{kind.__name__}" for ending, kind in CASES])
async def test_culprits_are_found_exactly_in_real_projects(
    ending: str, kind: Kind, tmp_path: Path, show_table: Callable[[str], None]
) -> None:
    needs("bwrap")
    union = clashing(kind, PATCHES)
    root = project(tmp_path / "repo", union, ending)
    found, ran = await united(root, [item.id for item in union.items])
    assert_exact(union, found)
    show_table(row_text(union, ending, found, ran))


def row_text(union: Union, ending: str, found: United, ran: int) -> str:
    count = len(union.items)
    searched = f"{found.runs} judgements and {found.confirmations} to be sure, {ran} checks run"
    serial = f"one by one {count} judgements, {len(CHECKS) * count} checks"
    return f"union of {count} ({ending}, {union.kind}): {searched}; {serial}"
