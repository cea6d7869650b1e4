"""What a scheduler reads in a repository, what keeps loops from running, and what a person is told about them."""

from collections.abc import Generator
from datetime import timedelta
from pathlib import Path

import pytest

from donewhen.loops.loop_records import OccurrenceStatus
from donewhen.loops.loop_store import LoopStore
from donewhen.loops.scheduler import INVALID, NOT_THERE, RepoLoops, read_repo
from donewhen.session.settings.trust import TrustBook
from loops.scheduler_scene import Scene, local, moment, stated
from repositories import write

REPO = "/repo"
GOOD = 'intent = "x"\nlevel = "report"\nschedule = "every 1h"\n'


@pytest.fixture
def file_store(tmp_path: Path) -> Generator[LoopStore]:
    store = LoopStore(tmp_path)
    yield store
    store.close()


def read(top: Path, **files: str) -> RepoLoops:
    """Write files of loops, accept them, and read them as a scheduler does."""
    (top / ".git").mkdir(exist_ok=True)
    trust = TrustBook(top)
    for name, text in files.items():
        file = top / ("donewhen.toml" if name == "donewhen" else f".donewhen/loops/{name}.toml")
        write(top, {str(file.relative_to(top)): text})
        trust.accept(file, file.read_bytes())
    return read_repo(top, trust)


def test_one_bad_file_of_a_loop_leaves_the_others_usable(tmp_path: Path) -> None:
    found = read(tmp_path, a=GOOD.replace("every 1h", "sometimes"), b=GOOD, c="[[")
    assert [loop.spec.name for loop in found.loops] == ["b"]
    assert len(found.errors) == 2
    for name in ("a.toml", "c.toml"):
        assert any(f"{name}: " in line for line in found.errors), name


@pytest.mark.parametrize("text", ["not_a_key = 1\n", "[[check]]\nname = 'a'\n"])
def test_no_loop_is_usable_while_rounds_could_not_read_donewhen_toml(tmp_path: Path, text: str) -> None:
    assert len(read(tmp_path, own=GOOD).loops) == 1
    write(tmp_path, {"donewhen.toml": text})
    found = read_repo(tmp_path, TrustBook(tmp_path))
    assert found.loops == () and found.errors
    assert all(str(tmp_path / "donewhen.toml") in line for line in found.errors)


def test_an_accepted_loop_waits_while_donewhen_toml_is_not_accepted(tmp_path: Path) -> None:
    (loop,) = read(tmp_path, donewhen="", own=GOOD).loops
    assert loop.is_accepted
    write(tmp_path, {"donewhen.toml": "[storage]\nurl = 'x'\n"})
    found = read_repo(tmp_path, TrustBook(tmp_path))
    assert ([loop.is_accepted for loop in found.loops], found.errors) == ([False], ())


def test_a_loop_that_names_an_unknown_check_is_not_usable(tmp_path: Path) -> None:
    checks = "[[check]]\nname = 'known'\ncommand = 'true'\n"
    wrong = {"a": "checks = ['nope']\n", "b": "on = ['check-red:nope']\n"}
    right = {"c": "checks = ['known']\non = ['check-red:known', 'check-red:own']\n"}
    own = "[[check]]\nname = 'own'\ncommand = 'true'\n"
    files = {name: GOOD + more for name, more in (wrong | right).items()} | {"d": GOOD + own}
    found = read(tmp_path, donewhen=checks, **files)
    assert [loop.spec.name for loop in found.loops] == ["c", "d"]
    assert sorted(line.partition(": ")[2] for line in found.errors) == [
        "loop 'a': 'checks' names 'nope'; there are: known",
        "loop 'b': 'on' names the check 'nope'; there are: known, own",
    ]


def test_a_repository_that_is_gone_for_a_while_keeps_its_due_times_and_gets_its_rows(file_store: LoopStore) -> None:
    scene = Scene(file_store, stated())
    scene.tick("2026-11-18T09:01:00")
    there, scene.loops = scene.loops, ()
    scene.errors, scene.why = ("/repo is not there; nothing runs until it is back",), NOT_THERE
    for minute in (5, 11, 25, 34):
        assert scene.started(f"2026-11-18T09:{minute:02}:00") == []
    assert scene.due() == "2026-11-18T09:10:00Z"
    scene.loops, scene.errors, scene.why = there, (), INVALID
    assert scene.ran("2026-11-18T09:35:00") == ["2026-11-18T09:30:00Z"]
    assert scene.statuses() == {
        "2026-11-18T09:10:00Z": "missed",
        "2026-11-18T09:20:00Z": "missed",
        "2026-11-18T09:30:00Z": "ran",
    }
    assert scene.rows()[0].reason == (
        "the repository was not there from 2026-11-18T09:05:00Z to 2026-11-18T09:35:00Z;"
        " coalesced into 2026-11-18T09:30:00Z"
    )
    assert scene.said[1:4] == [
        "/repo is not there; nothing runs until it is back",
        "/repo is there again",
        "loop sweeper: due now",
    ]


def test_read_repo_tells_a_missing_repository_from_one_without_loops(tmp_path: Path) -> None:
    top = tmp_path / "inner"
    assert read(tmp_path).errors == ()
    (top / ".donewhen").mkdir(parents=True)
    for place in (top, tmp_path / "nothing"):  # the first is inside of another repository
        found = read_repo(place, TrustBook(tmp_path))
        assert (found.loops, found.why) == ((), NOT_THERE)
        assert found.errors == (f"{place} is not there; nothing runs until it is back",)


def test_a_loop_that_nobody_accepted_does_not_run_and_its_rows_say_what_it_waited_for(file_store: LoopStore) -> None:
    scene = Scene(file_store, stated(is_accepted=False))
    scene.tick("2026-11-18T09:01:00")
    assert (scene.due(), scene.said) == ("", ["loop sweeper: waits for: donewhen trust"])
    scene.loops = (stated(),)
    scene.tick("2026-11-18T09:02:00")
    next_at = local("2026-11-18T09:10:00")
    assert (scene.due(), scene.said[-1]) == ("2026-11-18T09:10:00Z", f"loop sweeper: next at {next_at}")
    scene.loops = (stated(is_accepted=False),)
    assert [scene.started(f"2026-11-18T09:{minute}:00") for minute in (10, 20, 30)] == [[], [], []]
    scene.loops = (stated(),)
    assert scene.ran("2026-11-18T09:35:00") == ["2026-11-18T09:30:00Z"]
    first = scene.rows()[0]
    assert (first.status, first.reason.partition(" from ")[0]) == (
        OccurrenceStatus.MISSED,
        "it waited for: donewhen trust",
    )


def test_the_rows_of_an_invalid_file_and_of_downtime_before_it_have_their_own_reasons(file_store: LoopStore) -> None:
    before = Scene(file_store, stated())
    before.tick("2026-11-18T09:01:00")
    scene = Scene(file_store)
    scene.errors = ("sweeper.toml: 'schedule' must be …",)
    scene.tick("2026-11-18T09:15:00")
    scene.loops, scene.errors = (stated(),), ()
    assert scene.ran("2026-11-18T09:35:00") == ["2026-11-18T09:30:00Z"]
    assert [row.reason.partition(";")[0] for row in scene.rows()] == [
        "nobody looked from 2026-11-18T09:01:00Z to 2026-11-18T09:15:00Z",
        "the file was invalid from 2026-11-18T09:15:00Z to 2026-11-18T09:35:00Z",
        "",
    ]


def test_a_person_is_told_how_each_loop_stands_and_what_changes(file_store: LoopStore) -> None:
    scene = Scene(file_store, stated("a"), stated("b", schedule="daily 08:00", on=["file:x"]))
    file_store.pause(REPO, "a", "a person paused it")
    steps = {
        "loop a: paused: a person paused it; donewhen loop resume a": lambda: None,
        f"loop b: next at {local('2026-11-19T08:00:00')}, and on file:x": lambda: None,
        f"loop a: resumed; next at {local('2026-11-18T09:10:00')}": lambda: file_store.resume(REPO, "a"),
        f"loop c: added; next at {local('2026-11-18T09:10:00')}": lambda: scene.state(stated("c")),
        f"loop c: changed; next at {local('2026-11-18T10:00:00')}": lambda: scene.state(
            stated("c", schedule="every 1h")
        ),
        "loop c: removed": lambda: scene.state(),
        "loop a: waits for: donewhen trust": lambda: scene.state(stated("a", is_accepted=False)),
    }
    for seconds, step in enumerate(steps.values()):
        step()
        scene.tick(moment("2026-11-18T09:01:00") + timedelta(seconds=seconds))
    assert scene.said == list(steps)
    scene.loops = ()
    scene.tick("2026-11-18T09:03:00")
    assert scene.said[-1].startswith("there are no loops; a ready-made one: donewhen loop add; ")
