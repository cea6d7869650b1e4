"""Product code cannot tell a check from a command of the engine: variables, mounts and the directory of reports."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from repositories import git
from runs.scenes import Run, run, say, scene, shell

LOOKS = {
    "variables": "env | sort",
    "directories": "ls -lan /tmp /tmp/reports ~",
    "mounts": "cut -d' ' -f2-3 /proc/mounts | grep -v '^/proc\\|^/dev\\|^/sys\\|/upper overlay$' | sort",
    "limits": "ulimit -a; umask; id; ps -e 2>/dev/null | wc -l",
}
"""What a program can see of its surroundings.

A sandbox that was made in advance gets its tree last, without a mount over the layer of the tree. So the order of the
mounts and that mount differ from command to command. docs/judge.md says so.
"""
DIFFERENT = re.compile(
    r"^(DONEWHEN_TREE|DONEWHEN_PORT_BASE)=.*$|\w{3} +\d+ +(?:\d\d:\d\d|\d{4})|(?<=/trees/)\w{8}", re.MULTILINE
)
"""Every tree has its own name and ports, and every directory its own time."""


def lines(text: str) -> Iterator[str]:
    return (line for line in DIFFERENT.sub(r"\1", text).splitlines() if line)


def judged_output(ran: Run) -> str:
    return [one["output_tail"] for one in ran.of("check_completed") if one["phase"] != "baseline"][-1]


@pytest.mark.parametrize("look", LOOKS)
def test_a_command_of_the_engine_and_a_check_see_the_same(tmp_path: Path, look: str) -> None:
    check = '[[check]]\nname = "done"\ncommand = "sh look; grep -qx right answer.txt"\n'
    repo = scene(tmp_path / "repo", {"donewhen.toml": check, "look": LOOKS[look] + "\n"})
    steps = [shell("touch /tmp/reports/old"), shell("sh look > engine.txt"), shell("echo right > answer.txt")]
    ran = run(repo, [*steps, say("done")])
    assert (ran.code, ran.last["outcome"]) == (0, "verified")
    engine = list(lines(git(repo, "show", f"donewhen/{ran.session}:engine.txt")))
    check_saw = list(lines(judged_output(ran)))
    # Files that configure the checks are mounted read-only for checks alone. docs/judge.md says so.
    fixed = [line for line in check_saw if line not in engine and line.startswith(f"{repo}/")]
    assert [line for line in check_saw if line not in fixed] == engine
