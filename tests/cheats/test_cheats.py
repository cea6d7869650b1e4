"""No cheat is accepted: each works on a shell that looks at exit codes, and is then judged.

Then the defence that it names is switched off. Either the cheat is accepted, or something else stops it, which is
switched off too until the cheat is accepted. The table of all results is printed at the end.
"""

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import get_args

import pytest
from cheat import WITHOUT_SWITCH, Cheat, Language, Scene
from cheat_catalogue import CHEATS, INSIDE, OUTSIDE
from cheat_judge import (
    SWITCHES,
    CheatResult,
    ResultPair,
    WithoutDefence,
    captured_candidate,
    has_switch,
    judge_with_and_without,
    verdict_on,
)
from cheat_table import Row, Rows, shown
from cheat_workspace import CheatWorkspace
from cheats_in_stages import RIGHT_PROGRAM

from tiers import one_of_each, sampled

pytestmark = pytest.mark.anyio
Show = Callable[[str], None]
BY_SCENE = sampled(
    one_of_each(
        sorted(OUTSIDE, key=lambda cheat: cheat.scene.name), lambda cheat: {cheat.stopped_by, cheat.scene.language}
    ),
    8,
)
"""Sort so that a worker gets the cheats of a scene one after the other and can reuse the facts about its base."""


@pytest.fixture
def rows(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, testrun_uid: str) -> Rows:
    return Rows(request, tmp_path_factory.getbasetemp(), testrun_uid)


def cell(result: CheatResult) -> str:
    return "ACCEPTED" if result.accepted else result.status


@pytest.mark.parametrize("cheat", BY_SCENE, ids=lambda cheat: cheat.label)
async def test_a_cheat_that_satisfies_a_shell_does_not_satisfy_the_judge(
    cheat: Cheat, workspace: CheatWorkspace, rows: Rows, show_table: Show, monkeypatch: pytest.MonkeyPatch
) -> None:
    await see_that_it_is_red(cheat.scene, workspace)
    tree = workspace.cheated(cheat)
    for name, value in workspace.variables(cheat).items():
        monkeypatch.setenv(name, value)
    found = await judge_with_and_without(tree, cheat.stopped_by, is_tried_without_others(cheat))
    exits = workspace.control(cheat)
    if complete := rows.add(row_of(cheat, exits, found.result, found.without)):
        show_table(shown(complete, "with that off", of_the_first_tier))
    assert set(exits) == {0}, f"the catalogue is wrong: exit codes {exits} satisfy nobody"
    assert not found.result.accepted, f"{cheat.id} {cheat.says}: accepted"
    assert found.result.status not in ("infra", "timeout"), f"nothing is shown by trouble: {found.result.why}"
    if has_switch(cheat.stopped_by) and found.without is not None and not is_tried_without_others(cheat):
        assert found.without.needed, f"{cheat.stopped_by} changes nothing: {found.result.why}"
    elif has_switch(cheat.stopped_by):
        assert_that_its_defence_is_worth_something(cheat, found)


def is_tried_without_others(cheat: Cheat) -> bool:
    """True if everything behind a cheat's defence is switched off too.

    Protection stops half of all cheats in few ways: a third of those proves as much in far less time.
    """
    return cheat.stopped_by != "protection" or CHEATS.index(cheat) % 3 == 0


async def see_that_it_is_red(scene: Scene, workspace: CheatWorkspace) -> None:
    """Once for each scene, before its cheats: without a cheat the scene must not be accepted."""
    if scene.name not in workspace.known:
        result = await verdict_on(workspace.fresh(scene))
        assert result.status == "fail", f"the scene {scene.name} is {result.status}: {result.why}"
        workspace.known.add(scene.name)


def assert_that_its_defence_is_worth_something(cheat: Cheat, found: ResultPair) -> None:
    without = found.without
    assert without is not None
    assert without.needed, f"without {', '.join(without.others)} alone it is accepted: {cheat.stopped_by} does nothing"
    if not without.end.accepted:
        assert without.end.refused_by in WITHOUT_SWITCH, f"{cheat.stopped_by} is not what stops it: {without.end.why}"
        assert found.result.refused_by == cheat.stopped_by, f"{found.result.refused_by} stops it: {found.result.why}"


def row_of(cheat: Cheat, exits: list[int], result: CheatResult, without: WithoutDefence | None) -> Row:
    return Row(
        number=CHEATS.index(cheat),
        id=cheat.id,
        language=cheat.scene.language,
        says=cheat.says,
        control="accepted" if set(exits) == {0} else f"exits {exits}",
        verdict=cell(result),
        stopped_by=cheat.stopped_by,
        without=cell(without.alone) if without else "no switch",
        also=also(without) if without else "",
        why=result.why,
    )


def also(without: WithoutDefence) -> str:
    if not without.others:
        return ""
    end = "with all of that off ACCEPTED" if without.end.accepted else "which has no switch"
    return f"{', '.join(without.others)}; {end}"


def of_the_first_tier(rows: list[Row]) -> Iterable[str]:
    for language in get_args(Language):
        ours = [row for row in rows if row.language == language]
        fooled = sum(row.control == "accepted" for row in ours)
        yield f"{language}: {len(ours)} cheats, {fooled} accepted by exit codes, {accepted(ours)} accepted here"
    for defence in (*SWITCHES, *WITHOUT_SWITCH):
        ours = [row for row in rows if row.stopped_by == defence]
        if ours and defence in SWITCHES:
            yield f"{defence} stops {len(ours)} cheats; {worth(ours)}"
        elif ours:
            yield f"{defence} cannot be taken off ({WITHOUT_SWITCH[defence]}): {len(ours)} cheats"
    yield "where more than one defence is off, tests are not repeated either"


def worth(rows: list[Row]) -> str:
    """The number of cheats of a defence that are accepted without it."""
    alone = sum(row.without == "ACCEPTED" for row in rows)
    second = Counter(row.also.split(",")[0].split(";")[0] for row in rows if row.also.endswith("ACCEPTED"))
    rest = len(rows) - alone - sum(second.values())
    parts = [f"with it off {alone} of them are accepted"]
    if second:
        named = ", ".join(f"{name} {times}" for name, times in second.most_common())
        parts.append(f"{sum(second.values())} more when what takes its place is off as well (first of all {named})")
    if rest:
        parts.append(f"{rest} are stopped by what has no switch, or were not looked behind")
    return "; ".join(parts)


def accepted(rows: list[Row]) -> int:
    return sum(row.verdict == "ACCEPTED" for row in rows)


# -- the second tier --


@pytest.mark.sample(1)
@pytest.mark.parametrize("cheat", INSIDE, ids=lambda cheat: cheat.label)
async def test_a_cheat_inside_the_runner_does_not_satisfy_a_check_in_another_process(
    cheat: Cheat, workspace: CheatWorkspace, rows: Rows, show_table: Show
) -> None:
    async with captured_candidate(workspace.cheated(cheat, with_held_out=True)) as candidate:
        alone = await candidate.result(held_out=False)
        held_out = await candidate.result()
    exits = workspace.control(cheat)
    row = replace(row_of(cheat, exits, held_out, None), without=cell(alone) + seen_by_control(alone))
    if complete := rows.add(row):
        show_table(shown(complete, "without a held-out check", of_the_second_tier))
    assert set(exits) == {0}, f"the catalogue is wrong: exit codes {exits} satisfy nobody"
    assert not held_out.accepted, f"{cheat.id} {cheat.says}: accepted"


def seen_by_control(result: CheatResult) -> str:
    return ", not discriminating" if result.accepted and result.discriminating is False else ""


def of_the_second_tier(rows: list[Row]) -> Iterable[str]:
    alone = sum(row.without.startswith("ACCEPTED") for row in rows)
    noticed = sum(row.without == "ACCEPTED, not discriminating" for row in rows)
    yield f"{len(rows)} cheats inside of the runner; a test that must fail and the counts stop {len(rows) - alone}"
    yield f"accepted without a held-out check: {alone} (the control run says of {noticed} that they change nothing)"
    yield f"accepted with a held-out check: {accepted(rows)}"


# -- the catalogue --


def test_the_catalogue_has_the_promised_size_and_unique_names() -> None:
    per_language = Counter(cheat.scene.language for cheat in OUTSIDE)
    assert per_language["python"] >= 45
    assert per_language["rust"] >= 7
    assert per_language["js"] >= 6
    assert len(INSIDE) >= 8
    assert [label for label, times in Counter(cheat.label for cheat in CHEATS).items() if times > 1] == []


def test_every_scene_has_its_own_name() -> None:
    scenes = {cheat.scene.name: cheat.scene for cheat in CHEATS}
    assert [cheat.label for cheat in CHEATS if scenes[cheat.scene.name] != cheat.scene] == []


async def test_without_a_record_the_older_tests_are_still_run_alone(workspace: CheatWorkspace) -> None:
    """Where only the exit code is known, a right program beside the tests helps only if the new files are there."""
    async with captured_candidate(workspace.cheated(RIGHT_PROGRAM)) as candidate:
        result = await candidate.result("observation")
        assert (result.status, result.refused_by) == ("tampered", "reruns")
        assert (await candidate.result("observation", "reruns")).accepted


def test_every_defence_with_a_switch_stops_at_least_one_cheat() -> None:
    named = {cheat.stopped_by for cheat in OUTSIDE}
    assert set(SWITCHES) | set(WITHOUT_SWITCH) == named
