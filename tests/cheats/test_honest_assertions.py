"""Honest work under tests with every style of assertion is accepted, and a test that must fail was really added."""

from collections.abc import Callable

import pytest
from assertion_scenes import CASES, CHAI, MODULES, PHPUNIT, REAL_JEST, RSPEC, RUST_MACROS, SPELT_OUT, STYLES
from cheat import Scene
from cheat_judge import verdict_of
from cheat_scenes import PLAIN, UNITTEST
from cheat_scenes_rust_js import NODE, RUST, RUST_INLINE
from cheat_workspace import CheatWorkspace
from test_honest_work import Work, do

pytestmark = pytest.mark.anyio
FIX = {"calc.py": "def add(a, b):\n    return a + b\n"}
CHECKED = {"calc.py": "def add(a, b):\n    if a == 'a':\n        raise ValueError(a)\n    return a + b\n"}
JS_FIX = {"add.js": ("a - b", "a + b")}
RUST_FIX = {"src/lib.rs": ("a - b", "a + b")}


def works() -> list[Work]:
    in_python = [Work(says=scene.name, scene=scene, write=FIX) for scene in (PLAIN, UNITTEST, CASES, STYLES)]
    in_scripts = [Work(says=scene.name, scene=scene, edit=JS_FIX) for scene in (NODE, MODULES, CHAI, REAL_JEST)]
    in_rust = [Work(says=scene.name, scene=scene, edit=RUST_FIX) for scene in (RUST, RUST_INLINE, RUST_MACROS)]
    return [
        *in_python,
        Work(says=SPELT_OUT.name, scene=SPELT_OUT, write=CHECKED),
        *in_scripts,
        *in_rust,
        Work(says=RSPEC.name, scene=RSPEC, edit={"lib/calc.rb": ("a - b", "a + b")}),
        Work(says=PHPUNIT.name, scene=PHPUNIT, edit={"src/add.php": ("$a - $b", "$a + $b")}),
    ]


@pytest.mark.sample(2)
@pytest.mark.parametrize("work", works(), ids=lambda work: work.says)
async def test_honest_work_is_accepted_with_tests_that_must_fail_beside_it(
    work: Work, workspace: CheatWorkspace, count_as: Callable[[str], None]
) -> None:
    count_as("honest work, accepted as it is")
    tree = workspace.fresh(work.scene)
    do(work, tree, workspace)
    verdict = await verdict_of(tree)
    assert [(result.status.value, result.reasons) for result in verdict.results if result.reasons] == []
    assert verdict.green
    assert [note.text for note in verdict.notes] == [], "no note says that such a test could not be added"


def test_there_is_a_scene_for_every_language_with_weakened_assertions() -> None:
    scenes: list[Scene] = [work.scene for work in works()]
    assert {scene.language for scene in scenes} == {"python", "js", "rust", "ruby", "php"}
