"""The systemd unit and the crontab line of docs/loops.md do what the page says, as far as that can be tried here."""

import configparser
import os
import re
import subprocess
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path

from cronsim import CronSim
from loop_scene import LoopScene, loop, opinion
from scheduler_process import SchedulerProcess, rows

from donewhen.loops.run_scheduler import utc_now
from donewhen.loops.schedule import FIELDS
from needs import needs
from program import PROGRAM

PAGE = (Path(__file__).parents[2] / "docs" / "loops.md").read_text()
CHECKED = ([{"text": "Nothing is wrong."}], [opinion()])


def scene_at_home(home: Path, name: str, **keys: object) -> LoopScene:
    """Return a repository where the page has it, with donewhen installed where the page has it."""
    (home / ".local" / "bin").mkdir(parents=True)
    (home / ".local" / "bin" / "donewhen").symlink_to(PROGRAM)
    scene = LoopScene.made(home / "src", loop(name, level="report", action="report", **keys))
    scene.root.rename(home / "src" / "project")
    scene.root = home / "src" / "project"
    scene.script(*CHECKED)
    assert scene("trust").code == 0
    return scene


def bare_environment(home: Path, **more: str) -> Mapping[str, str]:
    """Return the variables that cron gives to a command, and no others."""
    return {"HOME": str(home), "LOGNAME": "tester", "SHELL": "/bin/sh", "PATH": "/usr/bin:/bin", **more}


def test_the_crontab_line_of_the_docs_runs_a_round_in_the_environment_of_cron(home: Path) -> None:
    found = re.search(r"by cron: `([^`]+)`", PAGE)
    assert found is not None
    *fields, command = found[1].split(maxsplit=FIELDS)
    assert next(CronSim(" ".join(fields), utc_now())) > utc_now()
    scene = scene_at_home(home, "ci-sweeper")

    def run(line: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["/bin/sh", "-c", line],
            cwd=home,
            env=bare_environment(home),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )

    ran = run(command)
    assert (ran.returncode, ran.stderr) == (0, "")
    assert ran.stdout.startswith("[report] loop ci-sweeper (reported)\n")
    assert [(row.trigger, row.outcome) for row in rows(scene.root, "ci-sweeper")] == [("manual", "reported")]
    control = run(command.replace("$HOME/.local/bin/", ""))  # on the PATH of cron there is no donewhen
    assert control.returncode == 127 and len(rows(scene.root, "ci-sweeper")) == 1
    assert scene("loop", "pause", "ci-sweeper").code == 0
    paused = run(command)  # cron would mail whatever is printed
    assert (paused.returncode, paused.stdout, paused.stderr) == (0, "", "")


def test_the_systemd_unit_of_the_docs_is_valid_and_starts_a_scheduler_that_ends_when_it_is_stopped(home: Path) -> None:
    found = re.search(r"`~/([^`]+\.service)`\):\n\n```ini\n(.+?)```", PAGE, re.DOTALL)
    assert found is not None
    file, text = home / found[1], found[2]
    scene = scene_at_home(home, "watcher", schedule="every 1s")
    file.parent.mkdir(parents=True)
    verify = [needs("systemd-analyze"), "verify", "--user", "--man=no", "--recursive-errors=no", str(file)]
    place = {**os.environ, "XDG_RUNTIME_DIR": str(home)}
    for content, code in ((text.replace("donewhen loop", "nothing loop"), 1), (text, 0)):  # the first is a control
        file.write_text(content)
        assert subprocess.run(verify, env=place, capture_output=True, check=False).returncode == code
    unit = configparser.ConfigParser(interpolation=None)
    unit.optionxform = str  # pyright: ignore[reportAttributeAccessIssue] # as the documentation of the module says
    unit.read_string(text)
    service = {key: value.replace("%h", str(home)) for key, value in unit["Service"].items()}
    with ExitStack() as stack:
        scheduler = SchedulerProcess(
            Path(service["WorkingDirectory"]), stack, service["ExecStart"].split(), bare_environment(home)
        )
        scheduler.wait_for("reported")
        assert scheduler.stop() == 0  # Restart=on-failure does not start it again
    first, *_ = rows(scene.root, "watcher")
    assert (first.trigger, first.outcome) == ("schedule", "reported")
