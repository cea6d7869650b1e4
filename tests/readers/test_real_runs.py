"""Real runs of real runners, instrumented and read: the basis of the judge."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from real import Ran, environment_for, project, run
from scenes import CASES, SCENES, UNITTEST, Scene

from donewhen.judge.runners import InstrumentedCommand, canary, instrument_command, read
from donewhen.workspace.beneath import Root
from needs import needs
from repositories import write

EXPECTED = {"pass": (2, 0, 0), "fail": (1, 1, 0), "zero": (0, 0, 0), "skipped": (1, 0, 1), "forged": (1, 1, 0)}
NAMED = ("fail", "skipped", "forged")
"""Cases besides `pass` in which the names of the tests are known."""
TOKEN = "c0ffee5ea1"


def name_of(scene: Scene) -> str:
    return scene.runner


def expected(scene: Scene, case: str) -> tuple[int, int, int]:
    """Cargo's project also has a documentation test, which runs if all others passed."""
    passed, failed, skipped = EXPECTED[case]
    return (passed + int(scene.runner == "cargo" and case in ("pass", "skipped")), failed, skipped)


@pytest.mark.sample(1)
@pytest.mark.parametrize("scene", SCENES, ids=name_of)
def test_a_real_run_is_read_correctly(
    scene: Scene, tmp_path: Path, real_home: Path, show_table: Callable[[str], None]
) -> None:
    environment = environment_for(scene, tmp_path, real_home)
    runs = {case: run(project(tmp_path / case / "small", scene, case), scene.command, environment) for case in CASES}
    show_table(row(scene, runs))
    for case in EXPECTED:
        assert runs[case].counts == expected(scene, case), (case, runs[case].output.decode())
        assert runs[case].kind == scene.kind or case == "zero", case
        assert runs[case].reading is not None
        assert printed(scene, runs[case]) == runs[case].counts, "what a person is used to see must still be there"
    assert not runs["killed"].is_green, runs["killed"]
    assert runs["killed"].code != 0
    for case in ("fail", "forged"):
        assert any("two" in failure.lower() for failure in failures(runs[case])), case
    if scene is not UNITTEST:
        told = {case: (names_like("one", runs[case]), names_like("two", runs[case])) for case in ("pass", *NAMED)}
        assert told == {case: (1, int(case != "skipped")) for case in told}


def test_verbose_unittest_output_gives_the_names_of_tests(tmp_path: Path, real_home: Path) -> None:
    environment = environment_for(UNITTEST, tmp_path, real_home)
    for case in ("pass", *NAMED):
        ran = run(project(tmp_path / case / "small", UNITTEST, case), f"{UNITTEST.command} -v", environment)
        assert (names_like("one", ran), names_like("two", ran)) == (1, int(case != "skipped")), ran.output.decode()


@pytest.mark.sample(1)
@pytest.mark.parametrize("scene", SCENES, ids=name_of)
def test_a_canary_is_among_the_failures_of_a_real_run(scene: Scene, tmp_path: Path, real_home: Path) -> None:
    environment = environment_for(scene, tmp_path, real_home)
    root = project(tmp_path / "small", scene, "pass")
    bird = canary(instrument_command(scene.command, Root(root), "/sidecar"), Root(root), ".", TOKEN)
    assert bird is not None
    write(root, dict(bird.files))
    ran = run(root, scene.command, environment)
    assert ran.code != 0
    assert [test for test in bird.tests if test.name not in "\n".join(failures(ran))] == [], ran.output.decode()
    assert ran.counts == (2, len(bird.tests), 0)


def test_pytest_writes_its_report_when_started_by_make_and_a_script(tmp_path: Path) -> None:
    needs("make")
    needs("pytest")
    files = {"Makefile": "test:\n\t@sh ./run.sh\n", "run.sh": "exec pytest -q -p no:cacheprovider\n"}
    write(tmp_path / "small", {**files, **SCENES[0].cases["skipped"]})
    ran = run(tmp_path / "small", "make test 2>&1 | cat", os.environ)
    assert (ran.counts, ran.kind) == ((1, 0, 1), "sidecar")


def printed(scene: Scene, ran: Ran) -> tuple[int, int, int] | None:
    """What can be read from the output alone."""
    found = read({}, {}, ran.output, InstrumentedCommand(scene.command, {}, (scene.runner,)))
    tests = found[0].tests if found else None
    return (tests.passed, tests.failed, tests.skipped) if tests else None


def failures(ran: Ran) -> tuple[str, ...]:
    return ran.reading.failures if ran.reading else ()


def names_like(word: str, ran: Ran) -> int:
    """The number of executed tests with this word in their name."""
    return sum(word in name.lower() for name in (ran.reading.ran if ran.reading else ()))


def row(scene: Scene, runs: dict[str, Ran]) -> str:
    """One line of the table: passed/failed/skipped and the kind of evidence for every case."""
    return f"{scene.runner:<10}" + "".join(f"{f'{case} {runs[case].cell}':<26}" for case in CASES)
