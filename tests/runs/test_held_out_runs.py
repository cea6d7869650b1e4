"""Whole runs with a held-out check that has files: neither they nor its name nor its command reach an engine."""

import json
import subprocess
from pathlib import Path
from textwrap import dedent as text

import pytest

from repositories import git
from runs.agents import configure_agent, run_with_engine
from runs.planned_scenes import prompts_of
from runs.scenes import CHECK, RIGHT, Run, run, run_verb, say, scene, script, shell, write

HELD_OUT = '\n[[check]]\nname = "sesame"\ncommand = "sh hidden/run.sh"\nheld_out = true\n'
FILES = {
    "donewhen.toml": CHECK + HELD_OUT,
    "hidden/run.sh": 'test "$(cat answer.txt)" = "$(cut -d: -f2 hidden/expected.txt)"\n',
    "hidden/expected.txt": "barley:right\n",
}
SECRETS = ("sesame", "hidden/run.sh", "barley", "cut -d: -f2")
LOOK = (
    "cat donewhen.toml; ls -R . .git; cat hid*/*; git log -p; git show --stat;"
    " git cat-file --batch-all-objects --batch; env; cat /proc/mounts; grep -rs b[a]rley . /tmp ~ /run /var/tmp"
)
"""What an engine would type. It names nothing that it looks for."""


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    return scene(tmp_path / "repo", FILES)


def test_the_same_words_find_everything_in_the_repository_itself(repo: Path) -> None:
    looks = LOOK.partition(" env;")[0]
    found = subprocess.run(["sh", "-c", looks], cwd=repo, capture_output=True, check=False).stdout.decode(
        errors="replace"
    )
    assert [secret for secret in SECRETS if secret not in found] == []


def require_untold(told: str) -> None:
    assert [secret for secret in SECRETS if secret in told] == []


def require_landed_whole(repo: Path, ran: Run) -> None:
    assert (ran.code, ran.last["outcome"]) == (0, "verified")
    assert git(repo, "diff", "--name-only", "HEAD", f"donewhen/{ran.session}").split() == ["answer.txt"]
    assert "protected_edit" not in ran.types


def test_our_engine_finds_nothing_and_the_files_land_as_they_were(repo: Path) -> None:
    ran = run(repo, [shell(LOOK), *RIGHT])
    require_landed_whole(repo, ran)
    assert {one["name"]: one["status"] for one in ran.last["results"]} == {"done": "pass", "sesame": "pass"}
    told = prompts_of(ran.session, "native")
    assert "answer.txt" in told
    require_untold(told)


def test_an_agent_finds_nothing_in_its_task_its_environment_and_its_tree(repo: Path) -> None:
    line = f"( printf %s {{task}}; {LOOK} ) > seen.log 2>&1; cp seen.log seen; echo right > answer.txt"
    agent = configure_agent(line)
    ran = run_with_engine(repo, agent)
    assert (ran.code, ran.last["outcome"]) == (0, "verified")
    seen = git(repo, "show", f"donewhen/{ran.session}:seen")
    assert "answer.txt" in seen
    require_untold(seen)


def test_a_red_held_out_check_tells_only_that_it_failed(tmp_path: Path) -> None:
    toml = '[[check]]\nname = "done"\ncommand = "test -s answer.txt && ! grep -q wrong answer.txt"\n' + HELD_OUT
    repo = scene(tmp_path / "repo", {**FILES, "donewhen.toml": toml})
    ran = run(repo, [write("answer.txt", "left\n"), say("done"), *RIGHT])
    assert (ran.code, ran.last["outcome"]) == (0, "verified")
    told = prompts_of(ran.session, "native")
    assert "a held-out check: fail" in told
    require_untold(told)


def test_code_of_the_engine_does_not_find_the_files_in_a_visible_check(tmp_path: Path) -> None:
    toml = '[[check]]\nname = "done"\ncommand = "python3 app.py && grep -qx right answer.txt"\n' + HELD_OUT
    repo = scene(tmp_path / "repo", {**FILES, "donewhen.toml": toml, "app.py": "print('app')\n"})
    looks = text("""
        import os

        for top, _, names in os.walk("."):
            for name in names:
                print(top, name, open(os.path.join(top, name), "rb").read())
    """)
    ran = run(repo, [write("app.py", looks), say("done"), *RIGHT])
    assert (ran.code, ran.last["outcome"]) == (0, "verified")
    told = prompts_of(ran.session, "native")
    assert "app.py" in told
    require_untold(told)


def test_a_file_that_an_engine_makes_at_a_hidden_path_does_not_count(repo: Path) -> None:
    ran = run(
        repo,
        [write("hidden/run.sh", "exit 0\n"), write("answer.txt", "right\nright\n"), say("done")],
        "--max-iterations",
        "1",
    )
    assert ran.code == 1
    assert {one["name"]: one["status"] for one in ran.last["results"]} == {"done": "pass", "sesame": "fail"}


def test_a_file_that_the_product_needs_is_bad_input_before_an_engine_starts(tmp_path: Path) -> None:
    toml = '[[check]]\nname = "done"\ncommand = "python3 app.py"\n' + HELD_OUT
    repo = scene(tmp_path / "repo", {**FILES, "donewhen.toml": toml, "app.py": "exit(open('hidden/run.sh') and 1)\n"})
    answer = run_verb(repo, "run", "x", "--model", script(tmp_path / "script.json", RIGHT))
    assert answer.code == 2
    assert answer.one_line.startswith("donewhen: hidden/run.sh belongs to the held-out check 'sesame'")
    assert json.loads(run_verb(repo, "list", "--json").out or "[]") in ([], {"sessions": []})


def test_the_person_is_told_what_is_hidden(repo: Path) -> None:
    answer = run_verb(repo, "run", "say right", "--model", script(repo.parent / "script.json", RIGHT))
    assert answer.code == 0
    assert "note: only held-out checks see hidden/expected.txt and 1 more" in answer.err + answer.out
