"""Work that cannot be captured: the end of a session names each path with the reason."""

import json
import os
from pathlib import Path

import pytest

from runs.scenes import RIGHT, WRONG, Step, run, run_verb, say, scene, script, shell, write
from terminal import obeyed, on_a_terminal


def making(*lines: str) -> list[Step]:
    """A program makes it: the policy would deny most of these commands."""
    return [write("make.py", "\n".join(["import os", *lines])), shell("python3 make.py")]


OUT = making("os.symlink('/etc/passwd', 'out'); os.mkdir('sub'); os.symlink('../../../x', 'sub/up')")
LINKS = [{"path": "out", "reason": "links out of the tree"}, {"path": "sub/up", "reason": "links out of the tree"}]
ONE_ROUND = ("--max-iterations", "1")


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    return scene(tmp_path / "repo")


def handoff(session: str) -> str:
    return Path(os.environ["XDG_STATE_HOME"], "donewhen", "handoffs", f"{session}.md").read_text()


def test_refused_paths_are_named_in_the_last_event_in_show_and_in_the_hand_off(repo: Path) -> None:
    ran = run(repo, [*OUT, say("done")], *ONE_ROUND)
    assert (ran.code, ran.last["outcome"], ran.last["refused"]) == (1, "red", LINKS)
    said = "the last work was refused and not judged: out links out of the tree (and 1 more)"
    assert ran.last["summary"] == f"red: {said}"
    assert ran.last["reason"].endswith(said)
    shown = run_verb(repo, "show", ran.session).out
    assert "refused   out links out of the tree; the last work was not judged\n" in shown
    assert "refused   sub/up links out of the tree; the last work was not judged\n" in shown
    assert json.loads(run_verb(repo, "show", ran.session, "--json").out)["refused"] == LINKS
    text = handoff(ran.session)
    assert "## What was refused" in text
    assert "- out links out of the tree\n- sub/up links out of the tree\n" in text


def test_refused_paths_are_named_on_a_terminal_without_control_characters(repo: Path, tmp_path: Path) -> None:
    odd = making("os.symlink('/x', 'a' + chr(27) + '[2Jb')")
    model = script(tmp_path / "script.json", [*odd, say("done")])
    shown = on_a_terminal("run", "x", "--model", model, *ONE_ROUND, cwd=repo, typing=False)
    assert '  refused: "a\\033[2Jb" links out of the tree' in shown
    assert obeyed(shown) == set()


@pytest.mark.parametrize(
    ("line", "path", "why"),
    [
        ("os.mkfifo('pipe')", "pipe", "is a device, a pipe or a socket"),
        ("os.makedirs('a/.GIT'); open('a/.GIT/config', 'w').close()", "a/.GIT", "is named like a git directory"),
    ],
)
def test_each_kind_of_refusal_names_its_path(repo: Path, line: str, path: str, why: str) -> None:
    ran = run(repo, [*making(line), say("done")], *ONE_ROUND)
    assert {"path": path, "reason": why} in ran.last["refused"]


def test_many_refused_paths_are_counted(repo: Path) -> None:
    ran = run(repo, [*making("[os.symlink('/x', f'l{i}') for i in range(61)]"), say("done")], *ONE_ROUND)
    assert len(ran.last["refused"]) == 20
    assert "(and 60 more)" in ran.last["summary"]


def test_the_engine_gets_every_refused_path_and_repaired_work_does_not_mention_them(repo: Path) -> None:
    ran = run(repo, [*OUT, say("done"), *making("os.unlink('out'); os.unlink('sub/up')"), *RIGHT])
    assert (ran.code, ran.last["outcome"], ran.last["refused"]) == (0, "verified", [])
    assert "refused" not in ran.last["summary"] + ran.last["reason"]
    assert "refused" not in run_verb(repo, "show", ran.session).out


def test_ordinary_red_work_names_no_refusal(repo: Path) -> None:
    ran = run(repo, WRONG, *ONE_ROUND)
    assert (ran.last["refused"], ran.last["summary"]) == ([], "red: 0 of 1 checks passed")
    assert "refused" not in handoff(ran.session)
