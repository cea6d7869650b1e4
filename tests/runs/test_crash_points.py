"""Kill -9 before and after every durable write of a run, and again inside recovery: nothing lost, nothing done
twice."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from donewhen.session.log.open_archive import any_archive
from repositories import git
from runs.agents import configure_agent, run_with_engine
from runs.scenes import Step, run, say, scene, script, shell, write
from runs.subtasks import crew, foreman, planned, puts, subtask, subtask_repository
from tiers import SPARSE

DRIVER = Path(__file__).with_name("driver.py")
STEPS: list[Step] = [
    shell("echo once >> trace.txt"),
    write("answer.txt", "left\n"),
    say("done"),
    {"tools": [{"name": "read_file", "input": {"path": "answer.txt"}}, {"name": "list_dir", "input": {}}]},
    shell("echo twice >> trace.txt; sed -i s/left/right/ answer.txt"),
    say("done now"),
]


def witness(repo: Path, session: str) -> dict[str, Any]:
    """Everything that must be the same however often a run crashed."""
    with any_archive() as archive:
        events = list(archive.events(session))
    assert [event.seq for event in events] == list(range(1, len(events) + 1))
    kinds = [event.kind for event in events]
    counted = ("landed", "tool_call", "tool_result", "model_turn", "plan_text", "iteration_started", "diff_ready")
    last = events[-1]
    branches = git(repo, "for-each-ref", "--format=%(objecttype)", f"refs/heads/donewhen/{session}")
    return {
        "last": last.kind,
        **{key: last.body[key] for key in ("outcome", "tree", "iterations")},
        **{kind: kinds.count(kind) for kind in counted},
        "branches": branches,
        "tree that landed": git(repo, "rev-parse", f"donewhen/{session}^{{tree}}"),
        "trace": git(repo, "show", f"donewhen/{session}:trace.txt"),
    }


def driven(repo: Path, who: str, firsts: tuple[int, int], step: int) -> list[dict[str, Any]]:
    """Results of the killed runs; two drivers work in parallel and end with an undisturbed run."""
    drivers = [
        subprocess.Popen([sys.executable, DRIVER, str(repo), who, str(first), str(step)], stdout=subprocess.PIPE)
        for first in firsts
    ]
    said = [json.loads(line) for driver in drivers for line in driver.communicate()[0].splitlines()]
    assert sum(not one["killed"] for one in said) == len(drivers)
    return [one for one in said if one["killed"]]


@pytest.mark.sample(1)
@pytest.mark.parametrize("firsts", [(1, 2), (3, 4)], ids=["from-1", "from-3"])
def test_a_run_killed_at_any_write_resumes_to_the_same_tree_and_one_branch(
    firsts: tuple[int, int], tmp_path: Path, show_table: Callable[[str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    repo = scene(tmp_path / "repo")
    monkeypatch.chdir(repo)
    expected = witness(repo, run(repo, STEPS).session)
    assert expected["trace"] == "once\ntwice"
    killed = driven(repo, script(tmp_path / "again.json", STEPS), firsts, 4 * SPARSE)
    assert len(killed) >= 20 // SPARSE
    for one in killed:
        at = (one["point"], one["moments"][-1:])
        if not one["session"]:
            assert one["moments"] == ["before opened session_started"], at
            continue
        assert [again["code"] for again in one["recovered"]] == [0], at
        assert witness(repo, one["session"]) == expected, at
    twice = sum(one["point"] % 3 == 0 for one in killed)
    part = f"crash points of a run ({firsts[0]}, {firsts[1]}, and every {4 * SPARSE} after those)"
    show_table(f"{part}: {len(killed)} killed and recovered, {twice} of them killed again in recovery")
    assert git(repo, "status", "--porcelain") == ""
    assert not [name for name in os.listdir(repo) if name == "trace.txt"]


AGENT = """test -e trace.txt || { echo once >> trace.txt; echo left > answer.txt; echo left; exit; }
echo twice >> trace.txt; echo right > answer.txt; echo right # {task}"""


def test_an_agent_run_killed_at_any_write_restarts_from_the_tree_before_it(
    tmp_path: Path, show_table: Callable[[str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    repo = scene(tmp_path / "repo")
    monkeypatch.chdir(repo)
    same = ("outcome", "tree", "iterations", "branches", "tree that landed", "trace", "landed")
    engine = configure_agent(AGENT)
    ran = witness(repo, run_with_engine(repo, engine).session)
    assert (ran["trace"], ran["iterations"]) == ("once\ntwice", 2)
    killed = driven(repo, engine, (1, 4), 7 * SPARSE)
    for one in killed:
        if one["session"]:
            at = (one["point"], one["moments"][-1:])
            assert [again["code"] for again in one["recovered"]] == [0], at
            again = witness(repo, one["session"])
            assert {key: again[key] for key in same} == {key: ran[key] for key in same}, at
    assert len(killed) >= 15 // SPARSE
    show_table(f"crash points of a run by an agent: {len(killed)} killed and recovered")


WORKERS = crew(
    planned("a", subtask("b", "b.txt", "trace.txt")),
    a=puts("a"),
    b=[shell("echo once >> trace.txt"), *puts("b"), shell("echo twice >> trace.txt"), *puts("b", "two")],
)
"""Two that cannot both say one, so that the second subtask is retried."""


def test_a_foreman_killed_at_any_write_resumes_and_no_worker_repeats_its_work(
    tmp_path: Path, show_table: Callable[[str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    repo = subtask_repository(tmp_path / "repo", "ab", apart="! (grep -qx one a.txt && grep -qx one b.txt)")
    monkeypatch.chdir(repo)
    expected = witness(repo, foreman(repo, WORKERS).session)
    assert (expected["trace"], expected["iterations"], expected["model_turn"]) == ("twice", 1, 9)
    killed = driven(repo, f"foreman {script(tmp_path / 'again.json', WORKERS)}", (17, 45), 61 * SPARSE)
    for one in killed:
        at = (one["point"], one["moments"][-1:])
        assert [again["code"] for again in one["recovered"]] == [0], at
        assert witness(repo, one["session"]) == expected, at
    assert len(killed) >= 8 // SPARSE
    show_table(f"crash points of a foreman: {len(killed)} killed and recovered")
