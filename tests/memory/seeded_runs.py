"""Runs of the real tools on projects with a seeded bug, each run in another directory, with other numbers and order."""

import os
import random
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from seeded_ci_logs import as_seen
from seeded_projects import Bug, Project

from needs import usable

TOOLS = Path(__file__).parents[2] / ".cache" / "test-runners"
"""The directory in which scripts/test-runners installs jest, vitest, mocha, tsc, eslint and mypy."""
NAMES = ("shop", "checkout", "repo", "a b", "build-7")
FLAKY_IN = 3
"""In one of so many runs an unrelated test fails."""
HOME = os.environ.get("HOME", "/")
"""Read at import: a test has its own home, without toolchains."""
NO_BUG = Bug("none", "", "", "")


def search_path() -> str:
    """Our own Python first: there is also one next to mypy."""
    own = [Path(sys.executable).parent, TOOLS / "node_modules" / ".bin", TOOLS / "python" / "bin"]
    return os.pathsep.join([*map(str, own), os.environ["PATH"]])


def is_there(project: Project) -> bool:
    return bool(usable(project.command[0], search_path()))


def log_of(project: Project, bug: Bug, number: int, place: Path) -> str:
    """Return what a person sees of the run of this number. `place` is for files that tools keep between runs."""
    chance = random.Random(f"{project.name} {project.runner} {bug.name} {number}")
    code, log = run_of(project, bug, number, place, chance)
    assert code != 0, (project.name, project.runner, bug.name, log)
    return as_seen(log, number, chance)


def run_of(project: Project, bug: Bug, number: int, place: Path, chance: random.Random) -> tuple[int, str]:
    """Exit code and output of the tool. The second of three runs has colours, the third workers."""
    above = Path(tempfile.mkdtemp(prefix=f"{chance.getrandbits(32):08x}"))
    root = above / chance.choice(NAMES)
    _write(project, bug, root, chance, is_flaky=number % FLAKY_IN == FLAKY_IN - 1)
    shuffles = [part.replace("@SEED@", str(chance.randint(1, 9_999))) for part in project.shuffles if number]
    colours = project.colours if number % 3 == 1 else ()
    parallel = project.parallel if number % 3 == 2 else ()
    variables = {**os.environ, "PATH": search_path(), "HOME": HOME, "PYTHONDONTWRITEBYTECODE": "1"}
    variables |= {"GOCACHE": str(place / "go-cache"), "CARGO_TARGET_DIR": str(root / "target"), "TMPDIR": str(above)}
    variables |= {"NO_UPDATE_NOTIFIER": "1"} | ({"FORCE_COLOR": "1"} if number % 3 == 1 else {})
    finished = subprocess.run(
        [*project.command, *shuffles, *colours, *parallel],
        cwd=root,
        env=variables,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        check=False,
    )
    shutil.rmtree(above)
    return finished.returncode, finished.stdout.decode("utf-8", "replace")


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
        (root / "node_modules").symlink_to(TOOLS / "node_modules")
