"""Runs of the real tools over projects with a seeded bug, each run in another place, with other numbers and order."""

import os
import random
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from seeded_projects import Bug, Project

TOOLS = Path(__file__).parents[2] / ".cache" / "test-runners" / "node_modules"
"""Where scripts/test-runners puts jest, vitest and mocha."""
NAMES = ("shop", "checkout", "repo")
FLAKY_IN = 3
"""In one of so many runs a test fails that has nothing to do with the bug."""


def search_path() -> str:
    return os.pathsep.join([str(Path(sys.executable).parent), str(TOOLS / ".bin"), os.environ["PATH"]])


def is_there(project: Project) -> bool:
    return shutil.which(project.command[0], path=search_path()) is not None


def log_of(project: Project, bug: Bug, number: int, place: Path) -> str:
    """What the tool prints in the run of this number. `place` is for what tools keep between runs."""
    chance = random.Random(f"{project.runner} {bug.name} {number}")
    root = Path(tempfile.mkdtemp(prefix=chance.choice(NAMES)))
    _write(project, bug, root, chance, is_flaky=number % FLAKY_IN == FLAKY_IN - 1)
    shuffles = [part.replace("@SEED@", str(chance.randint(1, 9_999))) for part in project.shuffles if number]
    variables = {
        **os.environ,
        "PATH": search_path(),
        "PYTHONDONTWRITEBYTECODE": "1",
        "GOCACHE": str(place / "go-cache"),
    }
    variables |= {"CARGO_TARGET_DIR": str(root / "target"), "NO_UPDATE_NOTIFIER": "1"}
    finished = subprocess.run(
        [*project.command, *shuffles],
        cwd=root,
        env=variables,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        check=False,
    )
    shutil.rmtree(root)
    assert finished.returncode != 0, (project.runner, bug.name)
    return _as_printed(finished.stdout.decode("utf-8", "replace"), number)


def _write(project: Project, bug: Bug, root: Path, chance: random.Random, *, is_flaky: bool) -> None:
    given = {"@A@": str(chance.randint(11, 98)), "@B@": str(chance.randint(111, 998))}
    for name, text in project.files.items():
        text += project.flaky[1] if is_flaky and project.flaky[0] == name else ""
        if bug.file == name:
            assert bug.right in text, (project.runner, bug.name)
            text = text.replace(bug.right, bug.wrong, 1)
        while "@PAD@" in text:
            text = text.replace("@PAD@", "\n".join([f"{project.comment} note"] * chance.randint(1, 9)), 1)
        for placeholder, number in given.items():
            text = text.replace(placeholder, number)
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    if project.runner == "vitest":
        (root / "node_modules").symlink_to(TOOLS)


def _as_printed(log: str, number: int) -> str:
    """Every other run comes as a CI service shows it, with its own lines around."""
    if number % 2 == 0:
        return log
    lines = [
        *(f"installing part {n}" for n in range(300)),
        *log.split("\n"),
        "##[error]Process completed with exit code 1.",
    ]
    return "\n".join(f"2026-03-0{number}T10:{at % 60:02}:00.{at:07}Z {line}" for at, line in enumerate(lines))
