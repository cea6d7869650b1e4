"""Resumed foreman sessions, and what must not be carried from one worker, base or attempt to another.

Each scene is an earlier fault: work reported as applied that another patch had undone, an engine's work overwritten
by an older union, an approval that counted for another command, a secret in a prompt.
"""

import json
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from donewhen.session.log.open_archive import any_archive
from program import PROGRAM
from runs.scenes import Step, call, run_json, run_verb, say, script, shell, write
from runs.subtasks import (
    INTENT,
    applied,
    attempts,
    contract,
    crew,
    ended,
    foreman,
    landed,
    makes,
    planned,
    puts,
    subtask,
    subtask_repository,
)

TWICE = {"m.txt": "xxx\n1\n2\n3\n4\n5\nyyy\n"}
FAILS: list[Step] = [{"error": "boom"}] * 9


def notes(session: str, part: str) -> str:
    """Everything recorded about what a worker received and said."""
    with any_archive() as archive:
        found = [record.body for record in archive.records(session) if record.kind.startswith(f"foreman/{part}")]
    return json.dumps(found)


def test_work_made_on_one_base_is_not_applied_to_another(tmp_path: Path) -> None:
    goal = "grep -qx one a.txt && grep -q ccc m.txt && grep -q bbb m.txt"
    repo = subtask_repository(tmp_path / "repo", "a", files=TWICE, goal=goal)
    plan = planned("a", subtask("c", "m.txt:x"), subtask("b", "m.txt:y", reads=["a.txt"]))
    b = makes(shell("sed -i s/^yyy/bbb/ m.txt"))
    steps = {"a": puts("a"), "c": FAILS, "b": b}
    first = foreman(repo, crew(plan, maker=[say("no")] * 9, **steps), "--max-iterations", "1")
    assert applied(first) == ["a", "b"]
    again = {**steps, "c": [*FAILS, *makes(shell("sed -i s/^xxx/ccc/ m.txt"))], "b": [*b, *b]}
    script(repo.parent / "script.json", crew(plan, maker=[say("no")] * 9, **again))
    ran = run_json(repo, "resume", first.session, "--json")
    assert ended(ran) == (0, "verified")
    assert landed(repo, ran.session, "m.txt").splitlines()[::6] == ["ccc", "bbb"]


def test_work_of_another_engine_on_top_of_the_union_is_continued(tmp_path: Path) -> None:
    repo = subtask_repository(
        tmp_path / "repo", "ab", files={"n.txt": "zero\n"}, more_="grep -qx one n.txt && grep -qx two n.txt"
    )
    steps = {"a": puts("a"), "b": puts("b")}
    one = [write("n.txt", "one\n"), say("half")]
    first = foreman(repo, crew(planned("a", "b"), maker=one, **steps), "--max-iterations", "2")
    assert ended(first) == (1, "red")
    two = [*one, shell("echo two >> n.txt"), say("whole")]
    script(repo.parent / "script.json", crew(planned("a", "b"), maker=two, **steps))
    ran = run_json(repo, "resume", first.session, "--json")
    assert (*ended(ran), ran.one("engine_declined")["reason"]) == (0, "verified", "under_way")
    assert landed(repo, ran.session, "n.txt") == "one\ntwo"


def test_an_approval_of_one_command_does_not_count_for_a_restarted_worker(tmp_path: Path) -> None:
    more = "[policy]\nask = ['psql']\n\n[limits]\ntokens = 900\n"
    repo = subtask_repository(tmp_path / "repo", "ab", more=more)
    spends = {"usage": {"input": 500, "output": 1}}
    asks = [{**shell("psql -c 'select 1' || true"), **spends}, shell("psql -c 'drop x' || true"), *puts("a")]
    slow = [{**shell("true"), "usage": {"input": 800, "output": 1}}, *puts("b")]
    model = script(tmp_path / "script.json", crew(planned("a", "b"), maker=[say("no")] * 3, a=asks, b=slow))
    first = answering(repo, "run", INTENT, "--engine", "foreman", "--model", model, "--ask")
    second = answering(repo, "resume", str(first[0]["session"]))
    asked = [event["prompt"].splitlines()[0] for event in [*first, *second] if event["type"] == "question_asked"]
    assert asked == ["[a] Allow this command? psql -c 'select 1'", "[a] Allow this command? psql -c 'drop x'"]
    assert second[-1]["outcome"] == "verified"


def answering(repo: Path, *words: str) -> list[dict[str, Any]]:
    """A verb whose questions are all answered with yes, from another process."""
    events: list[dict[str, Any]] = []
    quiet = subprocess.DEVNULL
    started = subprocess.Popen([PROGRAM, *words, "--json"], cwd=repo, stdin=quiet, stdout=subprocess.PIPE, stderr=quiet)
    with started as running:
        assert running.stdout is not None
        for line in running.stdout:
            events.append(json.loads(line))
            if events[-1]["type"] == "question_asked":
                answer = [PROGRAM, "answer", events[-1]["session"], "yes"]
                subprocess.run(answer, cwd=repo, check=True, stdin=quiet, capture_output=True)
    return events


HIDDEN = contract({"sesame": "grep -qx zero s.txt"}).replace("[[check]]", "[[check]]\nheld_out = true")


@pytest.mark.parametrize("deed", ["echo '# more' >> donewhen.toml", "rm donewhen.toml"])
def test_the_patch_shown_to_a_retried_worker_does_not_reveal_held_out_checks(tmp_path: Path, deed: str) -> None:
    repo = subtask_repository(tmp_path / "repo", "ab", files={"s.txt": "zero\n"}, more=HIDDEN)
    tries = [shell(deed), *puts("a"), *puts("a")]
    ran = foreman(repo, crew(planned("a", "b"), a=tries, b=puts("b")))
    assert (ended(ran), attempts(ran, "a")) == ((0, "verified"), [1, 3])
    assert "The patch of that attempt" in notes(ran.session, "a#3")
    assert "sesame" not in notes(ran.session, "a#")


def test_a_secret_written_by_a_worker_is_not_shown_again(tmp_path: Path) -> None:
    key = "AKIA" + "ABCDEFGHIJKLMNOP"
    repo = subtask_repository(tmp_path / "repo", "ab")
    tries = [*makes(write("a.txt", f"aws_access_key_id = {key}\n")), *puts("a")]
    ran = foreman(repo, crew(planned("a", "b"), a=tries, b=puts("b")))
    assert (ended(ran), attempts(ran, "a")) == ((0, "verified"), [1, 3])
    assert "You made a patch for this before" in notes(ran.session, "a#3")
    assert key not in notes(ran.session, "a#3")


def test_only_the_worker_with_an_endlessly_deep_directory_fails(tmp_path: Path) -> None:
    repo = subtask_repository(tmp_path / "repo", "b")
    digs = "import os\nfor _ in range(3000): os.mkdir('d'); os.chdir('d')\n"
    deep = makes(shell(f'{shlex.quote(sys.executable)} -c "{digs}"; true'))
    ran = foreman(repo, crew(planned(subtask("a", "a.txt"), "b"), a=[*deep, *deep, *deep], b=puts("b")))
    assert (ended(ran), applied(ran)) == ((0, "verified"), ["b"])
    assert run_verb(repo, "discard", ran.session).code == 0


def test_a_patch_left_out_alone_is_retried_too(tmp_path: Path) -> None:
    repo = subtask_repository(tmp_path / "repo", "abe")
    plan = planned("a", "b", subtask("e", "e.txt", reads=["a.txt"]))
    tries = [write("stray.txt", "x\n"), *puts("e"), *puts("e")]
    ran = foreman(repo, crew(plan, a=puts("a"), b=puts("b"), e=tries))
    assert (ended(ran), attempts(ran, "e")) == ((0, "verified"), [1, 3])


def test_a_limit_reached_while_planning_is_reported_as_such(tmp_path: Path) -> None:
    repo = subtask_repository(tmp_path / "repo", "ab", more="[limits]\ntokens = 100\n")
    greedy = {**call("read_file", path="a.txt"), "usage": {"input": 500, "output": 1}}
    model = script(tmp_path / "script.json", crew(greedy, planned("a", "b")))
    ran = run_json(repo, "plan", INTENT, "--foreman", "--model", model, "--json")
    assert ended(ran) == (5, "budget")
