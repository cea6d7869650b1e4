"""The delta of a check against the base: what counts as broken, what as evidence, and what decides nothing."""

from pathlib import Path

import pytest

from donewhen.events import Event
from donewhen.judge.verdict import CheckStatus, Result
from donewhen.session.check.regression_judge import check_delta, compare, regression_judge
from donewhen.session.settings.contract_file import contract_in
from donewhen.session.workplace import open_workplace
from needs import needs
from repositories import commit, git, repository, write

pytestmark = pytest.mark.anyio
SOME = frozenset({"test_a", "test_b"})
NONE: set[tuple[str, str]] = set()


def result(status: CheckStatus, passed: frozenset[str] = frozenset(), quarantined: bool = False) -> Result:
    return Result(name="c", status=status, passed=passed, quarantined=quarantined)


@pytest.mark.parametrize(
    ("before", "now", "stands"),
    [
        (result(CheckStatus.PASS), result(CheckStatus.PASS), "kept"),
        (result(CheckStatus.FAIL), result(CheckStatus.PASS), "gained"),
        (result(CheckStatus.PASS), result(CheckStatus.FAIL), "turned"),
        (result(CheckStatus.PASS), result(CheckStatus.TIMEOUT), "turned"),
        (result(CheckStatus.PASS), result(CheckStatus.TAMPERED), "turned"),
        (result(CheckStatus.PASS), result(CheckStatus.FLAKY), "unknown"),
        (result(CheckStatus.PASS), result(CheckStatus.INFRA), "unknown"),
        (result(CheckStatus.INFRA), result(CheckStatus.INFRA), "open"),
        (result(CheckStatus.FAIL), result(CheckStatus.FAIL), "open"),
        (result(CheckStatus.FAIL, SOME), result(CheckStatus.FAIL, SOME), "kept"),
        (result(CheckStatus.FAIL, SOME), result(CheckStatus.FAIL, frozenset({"test_a"})), "turned"),
        (result(CheckStatus.FAIL, SOME), result(CheckStatus.TAMPERED, SOME), "turned"),
        (result(CheckStatus.FAIL, SOME), result(CheckStatus.VACUOUS, SOME), "turned"),
        (result(CheckStatus.FAIL), result(CheckStatus.TAMPERED), "turned"),
        (result(CheckStatus.VACUOUS), result(CheckStatus.VACUOUS), "open"),
        (result(CheckStatus.PASS, quarantined=True), result(CheckStatus.FAIL, quarantined=True), "open"),
    ],
)
def test_a_check_gets_its_delta_against_the_base(before: Result, now: Result, stands: str) -> None:
    assert compare(before, now)[0] == stands


QUICK = '[[check]]\nname = "quick"\ncommand = "test -e a.txt"\n'
BY_TEST = '[[check]]\nname = "tests"\ncommand = "python3 -m pytest -q test_shop.py"\n'
SHOP_TESTS = """\
import shop

def test_old():
    assert shop.OLD

def test_new():
    assert shop.NEW

def test_goal():
    assert shop.GOAL
"""


@pytest.mark.parametrize("tell", [True, False])
async def test_the_baseline_is_judged_with_or_without_events(tmp_path: Path, tell: bool) -> None:
    needs("bwrap")
    told: list[Event] = []
    async with open_workplace(repository(tmp_path / "repo", {"donewhen.toml": QUICK, "a.txt": "a\n"})) as place:
        base = place.repo.head
        judging = await regression_judge(place, contract_in(place.settings), base, told.append, tell)
        baseline = [event.type() for event in told]
        assert {name: one.status for name, one in judging.baseline.items()} == {"quick": CheckStatus.PASS}
        await judging(await place.store.tree_of(base), "gate")
    assert baseline == (["check_started", "check_completed", "baseline_completed"] if tell else [])
    assert len(told) > len(baseline), "what is judged later is told either way"


async def test_in_a_check_that_stays_red_the_newly_passing_tests_are_reported(tmp_path: Path) -> None:
    needs("bwrap")
    red = {"shop.py": "OLD, NEW, GOAL = 1, 0, 0\n", "test_shop.py": SHOP_TESTS, "donewhen.toml": BY_TEST}
    repo = repository(tmp_path / "repo", red)
    git(repo, "checkout", "--quiet", "-b", "part")
    write(repo, {"shop.py": "OLD, NEW, GOAL = 1, 1, 0\n"})
    commit(repo)
    git(repo, "checkout", "--quiet", "main")
    async with open_workplace(repo) as place:
        judging = await regression_judge(place, contract_in(place.settings), place.repo.head, lambda _: None)
        part = await judging(git(repo, "rev-parse", "part^{tree}"), "gate", proven=False)
    assert part.gains == {("tests", "test_shop.test_new"), ("tests", "test_shop.test_old")}


PROPS = "import shop\n\nshop.OLD = True\n\ndef test_prop():\n    assert shop.OLD\n"


async def test_a_green_that_depends_on_new_tests_is_detected_at_the_gate(tmp_path: Path) -> None:
    needs("bwrap")
    old = {"shop.py": "OLD = True\n", "test_shop.py": "import shop\n\ndef test_old():\n    assert shop.OLD\n"}
    contract = BY_TEST.replace(" test_shop.py", "")
    root = repository(tmp_path / "repo", {"donewhen.toml": contract, ".gitignore": "__pycache__\n", **old})
    git(root, "checkout", "-q", "-b", "work")
    write(root, {"shop.py": "OLD = False\n", "test_prop.py": PROPS})
    commit(root)
    git(root, "checkout", "-q", "main")
    async with open_workplace(root) as place:
        judging = await regression_judge(place, contract_in(place.settings), place.repo.head, list[Event]().append)
        tree = await place.store.tree_of(git(root, "rev-parse", "work"))
        proven, checks_alone = await judging(tree, "gate"), await judging(tree, "gate", proven=False)
    assert (proven.broken, checks_alone.broken) == (("tests",), ())


@pytest.mark.parametrize(("file", "reruns"), [("other.txt", []), ("a.txt", ["quick"])])
async def test_the_gate_reruns_only_checks_that_were_not_red_on_the_base(
    tmp_path: Path, file: str, reruns: list[str]
) -> None:
    needs("bwrap")
    contract = QUICK + QUICK.replace("quick", "goal").replace("a.txt", "goal.txt")
    root = repository(tmp_path / "repo", {"donewhen.toml": contract, "a.txt": "a\n", "other.txt": "o\n"})
    git(root, "checkout", "-q", "-b", "work")
    (root / file).unlink()
    commit(root)
    git(root, "checkout", "-q", "main")
    told: list[Event] = []
    async with open_workplace(root) as place:
        judging = await regression_judge(place, contract_in(place.settings), place.repo.head, told.append)
        seen = await judging(await place.store.tree_of(git(root, "rev-parse", "work")), "gate")
    again = [event.fields()["name"] for event in told if event.type() == "check_started"]
    phases = [event.fields().get("phase") for event in told if event.type() == "check_started"]
    assert [name for name, phase in zip(again, phases, strict=True) if phase == "rerun"] == reruns
    assert seen.broken == tuple(reruns)


@pytest.mark.parametrize(
    ("before", "now", "gains"),
    [
        (result(CheckStatus.FAIL), result(CheckStatus.PASS, SOME), {("c", "")}),
        (result(CheckStatus.FAIL), result(CheckStatus.FAIL, SOME), {("c", "test_a"), ("c", "test_b")}),
        (
            result(CheckStatus.FAIL, frozenset({"test_a"})),
            result(CheckStatus.FAIL, SOME),
            {("c", "test_a"), ("c", "test_b")},
        ),
        (result(CheckStatus.PASS), result(CheckStatus.PASS, SOME), NONE),
        (result(CheckStatus.PASS), result(CheckStatus.FAIL, SOME), NONE),
        (result(CheckStatus.FAIL), result(CheckStatus.FLAKY, SOME), NONE),
        (result(CheckStatus.FAIL), result(CheckStatus.TAMPERED, SOME), NONE),
        (result(CheckStatus.VACUOUS), result(CheckStatus.VACUOUS, SOME), NONE),
        (result(CheckStatus.FAIL), result(CheckStatus.TIMEOUT, SOME), NONE),
        (result(CheckStatus.FAIL), result(CheckStatus.PASS, SOME, quarantined=True), NONE),
        (result(CheckStatus.FAIL), result(CheckStatus.FAIL, SOME, quarantined=True), NONE),
    ],
)
def test_only_a_check_that_was_red_and_has_clear_results_has_gains(
    before: Result, now: Result, gains: set[tuple[str, str]]
) -> None:
    assert check_delta(before, now).gains == gains
