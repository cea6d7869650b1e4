"""Old sessions are removed, except unfinished and unsaved ones."""

from pathlib import Path

import anyio
import pytest

from donewhen.session.log.open_archive import any_archive
from donewhen.session.verbs import retention
from donewhen.session.workplace import open_workplace
from repositories import git
from runs.scenes import RIGHT, WRONG, call, run, run_verb, scene

pytestmark = pytest.mark.anyio


async def test_old_landed_and_discarded_sessions_are_removed_and_unsaved_work_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    repo = scene(tmp_path / "repo")
    monkeypatch.chdir(repo)
    red = run(repo, WRONG, "--max-iterations", "1").session
    claim = call("report_no_change", kind="deliberate_behavior", summary="on purpose", evidence="the docs")
    waiting = run(repo, [claim]).session
    thrown = run(repo, WRONG, "--max-iterations", "1").session
    landed = run(repo, RIGHT).session
    assert run_verb(repo, "discard", thrown).code == 0
    async with open_workplace(repo) as place:
        with any_archive() as archive:
            gone = await retention.forget_old(place, archive, most=0)
            left = {row.id for row in archive.sessions()}
    assert set(gone) == {landed, thrown}
    assert left == {red, waiting}
    assert git(repo, "rev-parse", "--verify", f"donewhen/{landed}")
    assert "+left" in run_verb(repo, "diff", red).out
    assert run_verb(repo, "show", landed).code == 2


def test_a_discarded_session_says_so(tmp_path: Path) -> None:
    repo = scene(tmp_path / "repo")
    session = run(repo, WRONG, "--max-iterations", "1").session
    assert run_verb(repo, "discard", session).code == 0
    for verb in ("resume", "land", "diff"):
        answer = run_verb(repo, verb, session)
        assert (answer.code, "was discarded" in answer.one_line) == (2, True)


async def test_runs_that_remove_the_same_sessions_at_once_do_not_affect_each_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    repo = scene(tmp_path / "repo")
    monkeypatch.chdir(repo)
    landed = {run(repo, RIGHT).session for _ in range(3)}
    gone: list[str] = []

    async def forget() -> None:
        with any_archive() as archive:
            gone.extend(await retention.forget_old(place, archive, most=0))

    async with open_workplace(repo) as place:
        async with anyio.create_task_group() as tasks:
            for _ in range(3):
                tasks.start_soon(forget)
    assert sorted(gone) == sorted(landed)
