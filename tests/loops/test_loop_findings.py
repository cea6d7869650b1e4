"""Findings: what makes two rounds about the same thing, and what becomes of it: open, landed or refused."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from loop_scene import DONE, FILES, FIX, LOOK, LoopScene, Step, loop, opinion

from donewhen.loops.finding import finding_key, occasion_key, touched_symbols
from donewhen.loops.notes import InputOutput
from donewhen.session.workplace import open_workplace
from repositories import commit, git, repository, write

BOTH = "def add(a, b):\n    return a {} b\n\n\ndef mul(a, b):\n    return a {} b\n"
ADD_IS_WRONG, MUL_IS_WRONG = BOTH.format("-", "*"), BOTH.format("+", "+")
TESTS = """\
import unittest

import calc


class Tests(unittest.TestCase):
    def test_add(self):
        self.assertEqual(calc.add(2, 2), 4)

    def test_mul(self):
        self.assertEqual(calc.mul(2, 3), 6)
"""
NAMED = {"calc.py": ADD_IS_WRONG, "test_calc.py": TESTS, "check.sh": "python3 -m unittest test_calc\n"}
"""A check that names its failed tests."""
FIX_MUL: Step = {
    "tool": {"name": "write_file", "input": {"path": "calc.py", "content": BOTH.format("+", "*")}},
}


def read(text: str, *failing: str, name: str = "news") -> InputOutput:
    return InputOutput(name=name, text=text, failing=failing)


# -- keys --


def test_a_key_is_made_from_the_loop_the_inputs_the_failed_tests_and_the_symbols() -> None:
    known = finding_key("a", [read("x", "t1")], ["works"], ["f.py:g"])
    assert len(known) == 16
    others = [
        finding_key("b", [read("x", "t1")], ["works"], ["f.py:g"]),
        finding_key("a", [read("x", "t1", name="old")], ["works"], ["f.py:g"]),
        finding_key("a", [read("x", "t2")], ["works"], ["f.py:g"]),
        finding_key("a", [read("x", "t1")], ["works", "lint"], ["f.py:g"]),
        finding_key("a", [read("x", "t1")], ["works"], ["f.py:h"]),
        finding_key("a", [read("x", "t1")], ["works"], []),
        finding_key("a", [read("x")], [], []),
    ]
    assert len({known, *others}) == 1 + len(others)
    assert finding_key("a", [read("y at 10:15", "t1")], ["works"], ["f.py:g"]) == known  # the words may differ
    assert finding_key("a", [read(" \n")], [], []) == finding_key("a", [], [], []) == ""


@given(st.lists(st.text(max_size=5), max_size=4), st.lists(st.text(max_size=5), max_size=4), st.randoms())
def test_order_and_repetition_make_no_other_key(failing: list[str], symbols: list[str], random: Any) -> None:
    mixed = [*failing, *failing[:1]]
    random.shuffle(mixed)
    assert finding_key("a", [], mixed, reversed(symbols)) == finding_key("a", [], failing, symbols)


def test_numbers_times_and_commits_in_a_text_are_nothing_new_but_words_are() -> None:
    texts = ["3 issues at 10:15 since 0a1b2c3", "4 issues at 23:59 since ffffffffffff", "4 bugs at 23:59 since 0a1b2c3"]
    keys = [finding_key("a", [read(text)], [], []) for text in texts]
    assert keys[0] == keys[1] != keys[2]
    occasions = {occasion_key("a", "base", [read(text)]) for text in texts} | {
        occasion_key("a", "other", [read(texts[0])])
    }
    assert len(occasions) == 4


@pytest.mark.anyio
async def test_a_touched_symbol_is_named_with_its_file(tmp_path: Path) -> None:
    root = repository(tmp_path / "repo", {**FILES, "calc.py": ADD_IS_WRONG, "notes.txt": "a\n"})
    base = git(root, "rev-parse", "HEAD")
    write(root, {"calc.py": BOTH.format("+", "*"), "notes.txt": "b\n", "new.py": "def f(): ...\n"})
    commit(root, "change")
    async with open_workplace(root) as workplace:
        tree = await workplace.store.tree_of(workplace.repo.head)
        found = await touched_symbols(workplace, base, tree)
    assert sorted(found) == ["calc.py:add", "new.py:f", "notes.txt"]


# -- rounds --


def round_of(scene: LoopScene, name: str = "fixer") -> tuple[str, str, int]:
    """Run a round. Return its outcome, its reason and how many turns of models it took."""
    _, finished, events = scene.run(name)
    return finished["outcome"], finished["reason"], sum(one["type"] == "model_turn" for one in events)


def commit_unrelated(scene: LoopScene, number: int) -> None:
    write(scene.root, {f"unrelated{number}.txt": "x\n"})
    commit(scene.root, "unrelated")


def fix(*steps: Step) -> list[Step]:
    return [*steps, DONE]


@pytest.mark.promise("loop.round.skipped")
def test_what_waits_already_is_not_worked_on_again_until_something_else_is_red(tmp_path: Path) -> None:
    scene = LoopScene.made(tmp_path, loop(max_open=3), files=NAMED)
    assert round_of(scene)[0] == "escalated"
    first = scene.session()
    commit_unrelated(scene, 1)
    assert round_of(scene) == ("skipped", f"the same finding waits already (session {first})", 0)

    write(scene.root, {"calc.py": MUL_IS_WRONG})
    commit(scene.root, "another fault")
    scene.script(fix(FIX_MUL), [LOOK, opinion()])
    outcome, _, turns = round_of(scene)
    assert (outcome, turns) == ("escalated", 4)
    rows = [json.loads(line) for line in scene("loop", "history", "fixer", "--json").out.splitlines()]
    assert [row["outcome"] for row in rows] == ["escalated", "skipped", "escalated"]
    keys = [row["finding"] for row in rows if row["finding"]]
    assert len(set(keys)) == 2 and all(key[:8] in scene("loop", "history").out for key in keys)


def test_a_persons_no_is_remembered_until_something_else_is_red(tmp_path: Path) -> None:
    scene = LoopScene.made(tmp_path, loop(), more="[memory]\nenabled = false\n", files=NAMED)
    assert round_of(scene)[0] == "escalated"
    first = scene.session()
    assert scene("deny", first).code == 1
    said_no = f"a person said no to the same finding (session {first}): a person denied it"
    assert round_of(scene) == ("skipped", f"nothing is new: {said_no}", 0)
    commit_unrelated(scene, 1)
    assert round_of(scene) == ("skipped", said_no, 0)

    write(scene.root, {"calc.py": MUL_IS_WRONG})
    commit(scene.root, "another fault")
    scene.script(fix(FIX_MUL), [LOOK, opinion()])
    assert round_of(scene)[0] == "escalated"


def test_a_no_to_one_way_is_remembered_where_a_check_names_no_test(tmp_path: Path) -> None:
    silent = {"check.sh": "python3 -c 'import calc; assert calc.add(2, 2) == 4' 2>/dev/null\n"}
    scene = LoopScene.made(tmp_path, loop(), files=silent)
    assert round_of(scene)[0] == "escalated"
    first = scene.session()
    assert scene("deny", first).code == 1
    commit_unrelated(scene, 1)
    outcome, reason, turns = round_of(scene)  # the fault may be another one, so the maker looks at it
    assert (outcome, turns > 0) == ("skipped", True)
    assert reason == f"a person said no to the same finding (session {first}): a person denied it"
    more = {"tool": {"name": "write_file", "input": {"path": "plus.py", "content": "def plus(): ...\n"}}}
    scene.script(fix(FIX, more), [LOOK, opinion()])
    assert round_of(scene)[0] == "escalated"  # another symbol


def test_work_that_landed_is_not_landed_again(tmp_path: Path) -> None:
    scene = LoopScene.made(tmp_path, loop(level="unattended", action="apply-patch", allow=["apply-patch"]))
    assert round_of(scene)[0] == "proceeded"
    first = scene.session()
    assert round_of(scene)[:2] == ("skipped", "nothing to do")  # main is green now
    git(scene.root, "revert", "--no-edit", "HEAD")
    scene.script()
    outcome, reason, _ = round_of(scene)
    assert (outcome, reason) == ("skipped", f"the same finding was dealt with (session {first})")
    assert git(scene.root, "log", "-1", "--format=%s") == 'Revert "keep main green"'


def test_a_branch_that_a_person_merged_or_removed_makes_room(tmp_path: Path) -> None:
    alone = [loop(name, level="unattended", allow=["branch"]) for name in ("fixer", "other")]
    scene = LoopScene.made(tmp_path, *alone)
    assert round_of(scene)[0] == round_of(scene, "other")[0] == "proceeded"
    full, other = sorted(set(scene.branches()) - {"main"})
    assert round_of(scene)[1].startswith("1 of 1 open already: merge or remove donewhen/")
    git(scene.root, "branch", "--delete", "--force", full, other)
    commit_unrelated(scene, 1)
    assert round_of(scene)[0] == "proceeded"
    git(scene.root, "merge", "--quiet", f"donewhen/{scene.session()}")
    assert round_of(scene)[:2] == ("skipped", "nothing to do")


def test_a_report_about_the_same_red_check_is_not_written_again(tmp_path: Path) -> None:
    scene = LoopScene.made(tmp_path, loop("reader", level="report", action="report", checks=["works"]))
    scene.script([{"text": "add() subtracts."}], [opinion()])
    assert round_of(scene, "reader")[0] == "reported"
    first = scene.session()
    commit_unrelated(scene, 1)
    assert round_of(scene, "reader") == ("skipped", f"the same finding was reported (session {first})", 0)
