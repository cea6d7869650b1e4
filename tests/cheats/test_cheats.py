"""No cheat is accepted: each is shown to work on a shell that looks at exit codes, and is then judged.

The defence that a cheat names is taken off once more, to see what it is worth. The table of all is printed at the end.
"""

from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest
from cheat import WITHOUT_SWITCH, Cheat
from cheat_catalogue import CHEATS, INSIDE, OUTSIDE
from cheat_judge import SWITCHES, Said, has_switch, verdict_on
from cheat_table import Row, Rows, shown
from cheat_yard import Yard

pytestmark = pytest.mark.anyio
Show = Callable[[str], None]
TRIED_WITHOUT = 12
"""With about so many cheats of a defence it is tried what happens without it: all of them would take too long."""


@pytest.fixture
def rows(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, testrun_uid: str) -> Rows:
    return Rows(request, tmp_path_factory.getbasetemp(), testrun_uid)


def cell(said: Said) -> str:
    return "ACCEPTED" if said.accepted else said.status


@pytest.mark.parametrize("cheat", OUTSIDE, ids=lambda cheat: cheat.label)
async def test_a_cheat_that_satisfies_a_shell_does_not_satisfy_the_judge(
    cheat: Cheat, yard: Yard, rows: Rows, show_table: Show, monkeypatch: pytest.MonkeyPatch
) -> None:
    exits = yard.control(cheat)
    tree = yard.cheated(cheat)
    for name, value in yard.variables(cheat).items():
        monkeypatch.setenv(name, value)
    said = await verdict_on(tree)
    without = await without_its_defence(cheat, tree)
    row = row_of(cheat, exits, said, without)
    if complete := rows.add(row):
        show_table(shown(complete, "with that off", of_the_first_tier))
    assert set(exits) == {0}, f"the catalogue is wrong: exit codes {exits} satisfy nobody"
    assert not said.accepted, f"{cheat.id} {cheat.says}: accepted"


async def without_its_defence(cheat: Cheat, tree: Path) -> str:
    if not has_switch(cheat.stopped_by):
        return "no switch"
    return cell(await verdict_on(tree, cheat.stopped_by)) if cheat in sample(cheat.stopped_by) else "not tried"


def sample(defence: str) -> list[Cheat]:
    """Cheats of a defence, from all over the catalogue."""
    ours = [cheat for cheat in OUTSIDE if cheat.stopped_by == defence]
    return ours[:: max(1, len(ours) // TRIED_WITHOUT)]


def row_of(cheat: Cheat, exits: list[int], said: Said, without: str) -> Row:
    return Row(
        number=CHEATS.index(cheat),
        id=cheat.id,
        language=cheat.scene.language,
        says=cheat.says,
        control="accepted" if set(exits) == {0} else f"exits {exits}",
        verdict=cell(said),
        stopped_by=cheat.stopped_by,
        without=without,
        why=said.why,
    )


def of_the_first_tier(rows: list[Row]) -> Iterable[str]:
    for language in ("python", "rust", "js"):
        ours = [row for row in rows if row.language == language]
        fooled = sum(row.control == "accepted" for row in ours)
        yield f"{language}: {len(ours)} cheats, {fooled} accepted by exit codes, {accepted(ours)} accepted here"
    for defence in (*SWITCHES, *WITHOUT_SWITCH):
        ours = [row for row in rows if row.stopped_by == defence]
        if ours and defence in SWITCHES:
            tried = [row for row in ours if row.without != "not tried"]
            let_through = sum(row.without == "ACCEPTED" for row in tried)
            yield f"{defence} stops {len(ours)} cheats; without it {let_through} of {len(tried)} tried are accepted"
        elif ours:
            yield f"{defence} cannot be taken off ({WITHOUT_SWITCH[defence]}): {len(ours)} cheats"


def accepted(rows: list[Row]) -> int:
    return sum(row.verdict == "ACCEPTED" for row in rows)


# -- the second tier --


@pytest.mark.parametrize("cheat", INSIDE, ids=lambda cheat: cheat.label)
async def test_a_cheat_inside_of_the_runner_does_not_satisfy_a_check_in_another_process(
    cheat: Cheat, yard: Yard, rows: Rows, show_table: Show
) -> None:
    exits = yard.control(cheat)
    alone = await verdict_on(yard.cheated(cheat))
    held_out = await verdict_on(yard.cheated(cheat, with_held_out=True))
    row = row_of(cheat, exits, held_out, cell(alone) if not alone.accepted else f"ACCEPTED{seen_by_control(alone)}")
    if complete := rows.add(row):
        show_table(shown(complete, "without a held-out check", of_the_second_tier))
    assert set(exits) == {0}, f"the catalogue is wrong: exit codes {exits} satisfy nobody"
    assert not held_out.accepted, f"{cheat.id} {cheat.says}: accepted"


def seen_by_control(said: Said) -> str:
    return ", not discriminating" if said.discriminating is False else ""


def of_the_second_tier(rows: list[Row]) -> Iterable[str]:
    alone = sum(row.without.startswith("ACCEPTED") for row in rows)
    noticed = sum(row.without == "ACCEPTED, not discriminating" for row in rows)
    yield f"{len(rows)} cheats inside of the runner; a test that must fail and the counts stop {len(rows) - alone}"
    yield f"accepted without a held-out check: {alone} (the control run says of {noticed} that they change nothing)"
    yield f"accepted with a held-out check: {accepted(rows)}"


# -- the catalogue --


def test_the_catalogue_is_as_large_as_promised_and_names_each_cheat_once() -> None:
    per_language = Counter(cheat.scene.language for cheat in OUTSIDE)
    assert per_language["python"] >= 45
    assert per_language["rust"] >= 7
    assert per_language["js"] >= 6
    assert len(INSIDE) >= 8
    assert [label for label, times in Counter(cheat.label for cheat in CHEATS).items() if times > 1] == []


def test_every_defence_with_a_switch_stops_some_cheat_of_the_catalogue() -> None:
    named = {cheat.stopped_by for cheat in OUTSIDE}
    assert set(SWITCHES) - named == {"reruns"}  # luck is no cheat that a shell would accept each time
    assert set(WITHOUT_SWITCH) <= named
