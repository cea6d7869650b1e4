"""A landing that stops at any of its steps, and again while it is repeated, is finished by the next attempt."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import pytest
from landing_child import OPERATIONS, Reaper, Stopped, plan_from_tag, stop
from landing_scenes import BASE, is_sound

from donewhen.session.conclude.land import Landing, LandingPlan, branch_name
from donewhen.session.workplace import Workplace, open_workplace
from donewhen.workspace.files import remove_tree
from repositories import commit, git, repository, try_git, write
from tiers import SPARSE

pytestmark = pytest.mark.anyio

CHILD = Path(__file__).with_name("landing_child.py")
FEWEST = {"branch": 15, "apply": 30, "onto": 30, "amend": 15, "discard": 6}
REALLY_KILLED = 6
AGAIN = 3
"""At every so many points the second attempt stops early too."""


@cache
def reaper() -> Reaper:
    """One for the interpreter: an audit hook cannot be removed."""
    return Reaper(stop).install()


@dataclass(frozen=True)
class Scene:
    """A repository and our store, saved as a start for each attempt."""

    operation: str
    place: Workplace
    plan: LandingPlan
    kept: Path
    journal: Path = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "journal", self.place.store.bare.directory / "applying")
        for number, place in enumerate(self.places):
            shutil.copytree(place, self.kept / str(number), symlinks=True)

    @property
    def places(self) -> tuple[Path, Path]:
        return self.place.repo.root, self.place.store.bare.directory

    def begin_again(self) -> None:
        """Restore the files in place, because landing uses the directories that were opened."""
        for number, place in enumerate(self.places):
            for directory in (place, place / ".git"):
                for entry in directory.iterdir() if directory.is_dir() else ():
                    if entry.name != ".git":
                        remove_tree(entry)
            shutil.copytree(self.kept / str(number), place, symlinks=True, dirs_exist_ok=True)
        git(self.place.repo.root, "update-index", "-q", "--refresh")

    async def finished(self) -> object:
        return await OPERATIONS[self.operation](self.place, self.plan)

    async def stopped(self, nth: int) -> bool:
        """Run the operation up to its n-th change; True if it got that far."""
        reaper().arm(nth, self.place.repo.root, self.journal)
        try:
            await self.finished()
        except Stopped:
            pass
        finally:
            met = reaper().disarm()
        return met

    def killed(self, nth: int) -> bool:
        """The same in a separate process, which is killed."""
        paths = os.pathsep.join([str(CHILD.parent), str(CHILD.parents[1])])
        argv = [sys.executable, str(CHILD), self.operation, str(self.place.repo.root), str(nth)]
        ran = subprocess.run(argv, env={**os.environ, "PYTHONPATH": paths}, capture_output=True, check=False)
        assert ran.returncode in (0, -9), ran.stderr.decode()
        return ran.returncode == -9


async def prepared(operation: str, place: Workplace, kept: Path) -> Scene:
    plan = await plan_from_tag(place)
    if operation in ("discard", "amend"):
        await OPERATIONS["branch"](place, plan)
    if operation == "discard":
        git(place.repo.root, "pack-refs", "--all")
    if operation == "amend":
        git(place.repo.root, "branch", "first", branch_name(plan.session))
    return Scene(operation, place, plan, kept)


def scene_repository(operation: str, root: Path) -> Path:
    repository(root, BASE)
    git(root, "tag", "base")
    if operation == "onto":
        write(root, {"b.txt": "theirs\n"})
        commit(root)
    return root


def facts(root: Path) -> dict[str, object]:
    """Everything that the user's git reports, except times."""
    logs = [path for path in (root / ".git" / "logs").rglob("*") if path.is_file()]
    lines = {str(path): len(path.read_text().splitlines()) for path in logs}
    told = git(root, "for-each-ref"), git(root, "rev-parse", "HEAD"), git(root, "write-tree")
    return {"told": told, "status": git(root, "status", "--porcelain"), "lines in logs": lines}


async def finish_and_compare(scene: Scene, result: object, expected: dict[str, object], point: int) -> None:
    after = await scene.finished()
    if isinstance(result, Landing) and isinstance(after, Landing):
        assert (after.branch, after.commit) == (result.branch, result.commit), point
    else:
        assert after == result, point
    assert facts(scene.place.repo.root) == expected, point
    is_sound(scene.place.repo.root)


@pytest.mark.sample(1)
@pytest.mark.parametrize("operation", OPERATIONS)
async def test_a_landing_stopped_at_any_step_is_finished_by_the_next_attempt(
    tmp_path: Path, operation: str, show_table: Callable[[str], None]
) -> None:
    root = scene_repository(operation, tmp_path / "r")
    async with open_workplace(root) as place:
        scene = await prepared(operation, place, tmp_path / "kept")
        result = await scene.finished()
        expected = facts(root)
        scene.begin_again()
        points, tried = 0, 0
        while await scene.stopped(points + 1):
            points, tried = points + SPARSE, tried + 1
            assert try_git(root, "fsck", "--strict").returncode == 0, f"not sound after {points}"
            if tried % AGAIN == 0:
                await scene.stopped(1 + points // 2)  # somewhere in the middle of the next attempt
            await finish_and_compare(scene, result, expected, points)
            scene.begin_again()
    show_table(f"  landing, {operation}: ended at {tried} points, at every third one twice, and finished every time")
    assert points >= FEWEST[operation]


async def test_a_killed_process_leaves_nothing_more_behind(tmp_path: Path) -> None:
    operation = "onto"
    root = scene_repository(operation, tmp_path / "r")
    async with open_workplace(root) as place:
        scene = await prepared(operation, place, tmp_path / "kept")
        result = await scene.finished()
        expected = facts(root)
        for nth in range(4, FEWEST[operation], SPARSE * FEWEST[operation] // REALLY_KILLED):
            scene.begin_again()
            assert scene.killed(nth)
            await finish_and_compare(scene, result, expected, nth)
