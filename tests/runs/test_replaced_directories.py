"""Directories replaced while a session runs: only directories opened at its start are written to."""

import json
import subprocess
from pathlib import Path

import pytest

from program import PROGRAM, donewhen
from repositories import digest, git, repository
from runs.scenes import CHECK, RIGHT, call, scene, script

HELD_UP = [call("ask_user", prompt="may I go on?"), *RIGHT]


@pytest.mark.parametrize("land", ["branch", "apply"])
@pytest.mark.parametrize("replaced", [False, True], ids=["the same", "replaced"])
def test_a_landing_goes_to_the_git_directory_of_the_start(tmp_path: Path, replaced: bool, land: str) -> None:
    repo, other = scene(tmp_path / "repo"), repository(tmp_path / "other", {"private": "0\n"})
    before = digest(other)
    arguments = ["run", "make it right", "--json", "--ask", "--land", land, "--model", script(tmp_path / "s", HELD_UP)]
    with subprocess.Popen([PROGRAM, *arguments], cwd=repo, stdout=subprocess.PIPE, text=True) as program:
        assert program.stdout is not None
        question = next(event for event in map(json.loads, program.stdout) if event["type"] == "question_asked")
        if replaced:
            (repo / ".git").rename(tmp_path / "kept")
            (repo / ".git").symlink_to(other / ".git")
        donewhen("answer", question["session"], "yes", cwd=tmp_path)
        program.stdout.read()
    assert digest(other) == before
    if not replaced:
        assert program.returncode == 0
        assert git(repo, "show", f"donewhen/{question['session']}:answer.txt") == "right"
        return
    assert program.returncode == 3, "the work waits for a person"
    (repo / ".git").unlink()
    (tmp_path / "kept").rename(repo / ".git")
    assert donewhen("land", question["session"], cwd=repo).code == 0
    assert git(repo, "show", f"donewhen/{question['session']}:answer.txt") == "right", "no work is lost"


@pytest.mark.parametrize(
    ("files", "exit_code"),
    [
        ({"donewhen.toml": CHECK + 'dir = "' + "n/" * 20_000 + '"\n'}, 1),
        (
            {
                "donewhen.toml": '[[check]]\nname = "a"\ncommand = "npm test"\n',
                "package.json": '{"scripts": {"test": "node \\ud800/x.js"}}',
            },
            1,
        ),
    ],
    ids=["a directory of 40,000 characters", "a path with half a character"],
)
def test_impossible_paths_neither_stop_nor_delay_a_run(tmp_path: Path, files: dict[str, str], exit_code: int) -> None:
    answer = donewhen("check", cwd=scene(tmp_path / "repo", files), timeout=60)
    assert "Traceback" not in answer.err
    assert answer.code == exit_code, answer.err
