"""The verbs around a session: list, show, log, diff, watch, receipt, verify, land, discard, resume, replay, models."""

import json
import os
import resource
import subprocess
from pathlib import Path

import pytest

import postgres
from donewhen.server.methods.table import TABLE
from program import PROGRAM
from repositories import commit, git
from repositories import write as put
from runs.scenes import RIGHT, WRONG, Run, run, run_json, run_verb, say, scene, script, write


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    return scene(tmp_path / "repo")


@pytest.mark.promise("command.list")
@pytest.mark.promise("command.show")
@pytest.mark.promise("command.log")
@pytest.mark.promise("command.diff")
@pytest.mark.promise("command.receipt")
@pytest.mark.promise("command.show.config")
def test_a_finished_session_can_be_inspected_by_every_verb(repo: Path) -> None:
    ran = run(repo, [*WRONG, *RIGHT], "--max-turns", "7")
    listed = run_verb(repo, "list").out
    assert ran.session in listed
    assert "verified" in listed
    shown = run_verb(repo, "show", ran.session[:5]).out
    assert "verified" in shown
    assert "say right" in shown
    assert f"donewhen/{ran.session}" in shown
    config = run_verb(repo, "show", ran.session, "--config").out
    assert "native.max_turns = 7  (--max-turns)" in config
    assert "limits.silence_secs = 900  (default)" in config
    lines = run_verb(repo, "log", ran.session, "--json").out.splitlines()
    assert [json.loads(line) for line in lines] == ran.events
    assert "+right" in run_verb(repo, "diff", ran.session).out
    receipt = json.loads(run_verb(repo, "receipt", ran.session).out)
    assert receipt["tree"] == ran.last["tree"]
    assert receipt["digest"] in git(repo, "log", "-1", "--format=%B", f"donewhen/{ran.session}")
    verified = run_verb(repo, "verify", f"donewhen/{ran.session}")
    assert verified.code == 0, verified.err


@pytest.mark.promise("command.watch")
def test_watch_follows_a_run_to_its_end_without_gaps(repo: Path) -> None:
    model = script(repo.parent / "s.json", [{**RIGHT[0], "delay": 1}, RIGHT[1]])
    program = subprocess.Popen([PROGRAM, "run", "x", "--model", model, "--json"], cwd=repo, stdout=subprocess.PIPE)
    with program as running:
        assert running.stdout is not None
        first = running.stdout.readline()
        watched = run_json(repo, "watch", json.loads(first)["session"], "--json")
        rest = running.stdout.readlines()
    assert watched.events == [json.loads(line) for line in (first, *rest)]


@pytest.mark.promise("command.land")
@pytest.mark.promise("command.land.onto")
def test_land_onto_a_moved_branch_judges_again_and_keeps_both_changes(repo: Path) -> None:
    ran = run(repo, RIGHT)
    git(repo, "checkout", "-q", "-b", "other")
    git(repo, "checkout", "-q", "main")
    put(repo, {"elsewhere.txt": "theirs\n"})
    theirs = commit(repo)
    landed = run_verb(repo, "land", ran.session, "--onto", "main")
    assert landed.code == 0, landed.err
    assert git(repo, "rev-parse", "main^") == theirs
    assert git(repo, "show", "main:answer.txt") == "right"
    assert git(repo, "show", "main:elsewhere.txt") == "theirs"
    assert git(repo, "status", "--porcelain") == ""
    log = [json.loads(line) for line in run_verb(repo, "log", ran.session, "--json").out.splitlines()]
    assert log[-1] | {"type": "landed", "branch": "main"} == log[-1]
    assert "final" in {event.get("phase") for event in log}


def test_a_landing_that_would_be_red_or_conflict_is_refused(repo: Path) -> None:
    ran = run(repo, RIGHT)
    put(repo, {"answer.txt": "conflict\n"})
    theirs = commit(repo)
    refused = run_verb(repo, "land", ran.session, "--onto", "main")
    assert refused.code == 1
    assert "answer.txt" in refused.one_line
    assert git(repo, "rev-parse", "main") == theirs


@pytest.mark.promise("command.discard")
def test_discard_removes_the_branch_and_the_trees(repo: Path) -> None:
    ran = run(repo, WRONG, "--max-iterations", "1")
    assert ran.code == 1
    won = run(repo, RIGHT)
    for session in (ran.session, won.session):
        assert run_verb(repo, "discard", session).code == 0
    assert git(repo, "branch", "--list", "donewhen/*") == ""
    assert not list(Path(os.environ["XDG_STATE_HOME"]).glob("donewhen/repos/*/trees/*"))


@pytest.mark.promise("command.resume")
@pytest.mark.promise("scripted.resume")
def test_resume_after_a_limit_continues_where_the_script_stopped(repo: Path) -> None:
    ran = run(repo, [*WRONG, *RIGHT], "--max-iterations", "1")
    assert (ran.code, ran.last["outcome"]) == (1, "red")
    resumed = run_json(repo, "resume", ran.session, "--json")
    assert (resumed.code, resumed.last["outcome"], resumed.last["iterations"]) == (0, "verified", 2)
    assert resumed.events[0]["seq"] == ran.last["seq"] + 1
    again = run_verb(repo, "resume", ran.session)
    assert (again.code, "verified" in again.out) == (0, True)


def test_a_failed_session_leaves_a_hand_off_file_that_says_how_to_continue(repo: Path) -> None:
    ran = run(repo, WRONG, "--max-iterations", "1")
    (line,) = [line for line in ran.err.splitlines() if line.endswith(f"{ran.session}.md")]
    text = Path(line.split()[-1]).read_text()
    assert f"donewhen resume {ran.session}" in text
    assert "## done: fail (exit code 1)" in text


@pytest.mark.promise("command.replay")
@pytest.mark.promise("replay.same-result")
def test_a_replay_gives_the_same_trees_verdicts_and_events(repo: Path) -> None:
    ran = run(repo, [*WRONG, {"error": "hiccup"}, write("b.txt", "b\n"), *RIGHT])
    replayed = run_json(repo, "replay", ran.session, "--json")
    assert replayed.code == 0
    assert replayed.types == ran.types
    assert replayed.last["tree"] == ran.last["tree"]
    assert facts(replayed) == facts(ran)


def facts(ran: Run) -> list[tuple[object, ...]]:
    keys = ("type", "tool", "ok", "status", "phase", "outcome", "iterations", "n", "preview", "text")
    return [tuple(event.get(key) for key in keys) for event in ran.events]


def test_replay_can_be_used_as_a_model(repo: Path) -> None:
    ran = run(repo, RIGHT)
    again = run_json(repo, "run", "say right", "--model", f"replay:{ran.session}", "--json")
    assert (again.code, again.last["tree"]) == (0, ran.last["tree"])


@pytest.mark.promise("command.models")
def test_models_shows_readiness_and_never_a_key(repo: Path) -> None:
    answer = run_verb(repo, "models", env={"ANTHROPIC_API_KEY": "sk-secret", "OPENAI_API_KEY": ""})
    assert answer.code == 0
    assert "ready" in next(line for line in answer.out.splitlines() if "anthropic:" in line)
    assert "OPENAI_API_KEY" in next(line for line in answer.out.splitlines() if " openai:" in line)
    assert "sk-secret" not in answer.out


@pytest.mark.parametrize(
    "verb",
    ["show", "log", "diff", "watch", "approve", "deny", "cancel", "resume", "land", "discard", "receipt", "replay"],
)
def test_an_unknown_session_is_one_clear_line(repo: Path, verb: str) -> None:
    answer = run_verb(repo, verb, "nosuch")
    assert (answer.code, "nosuch" in answer.one_line) == (2, True)


def test_an_empty_id_matches_no_session(repo: Path) -> None:
    ran = run(repo, RIGHT)
    answer = run_verb(repo, "discard", "")
    assert (answer.code, answer.one_line) == (2, "donewhen: the id of a session is empty")
    assert git(repo, "rev-parse", "--verify", f"donewhen/{ran.session}")
    assert run_verb(repo, "list", "--limit", "-1").code == 2


def test_model_text_that_no_file_can_hold_does_not_break_the_end(repo: Path) -> None:
    ran = run(repo, [{"text": "done \ud800"}], "--max-iterations", "1")
    assert (ran.code, ran.last["outcome"]) == (1, "red")


@pytest.mark.promise("storage.url")
def test_sessions_can_be_stored_on_a_postgresql_server(repo: Path) -> None:
    with postgres.running() as port:
        kept = {"DONEWHEN__STORAGE__URL": f"postgresql://postgres@127.0.0.1:{port}/postgres"}
        ran = run(repo, [*WRONG, *RIGHT], "--max-iterations", "1", env=kept)
        assert ran.code == 1
        assert run_verb(repo, "list").out == ""
        assert ran.session in run_verb(repo, "list", env=kept).out
        resumed = run_json(repo, "resume", ran.session, "--json", env=kept)
        assert (resumed.code, resumed.last["outcome"]) == (0, "verified")


@pytest.mark.promise("startup.reading-verbs")
def test_list_and_show_cost_little_cpu(repo: Path) -> None:
    ran = run(repo, RIGHT)
    for verb in (("list",), ("show", ran.session)):
        assert min(cpu_of(repo, *verb) for _ in range(3)) < 0.3, verb


def cpu_of(repo: Path, *arguments: str) -> float:
    """CPU seconds of the program itself."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert run_verb(repo, *arguments).code == 0
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def test_a_shell_can_complete_verbs_and_options(repo: Path) -> None:
    asked = {"_DONEWHEN_COMPLETE": "bash_complete", "COMP_CWORD": "1"}
    assert "plain,show" in run_verb(repo, env={**asked, "COMP_WORDS": "donewhen sh"}).out.split()
    assert (
        "plain,--max-turns" in run_verb(repo, env={**asked, "COMP_CWORD": "2", "COMP_WORDS": "donewhen run --max"}).out
    )
    assert "_donewhen_completion" in run_verb(repo, env={"_DONEWHEN_COMPLETE": "bash_source"}).out


@pytest.mark.promise("command.demo")
def test_the_demo_ends_with_a_verified_branch_after_a_mistake_and_a_cheat(repo: Path) -> None:
    answer = run_verb(repo, "demo")
    assert answer.code == 0, answer.err
    assert "scripted" in answer.out
    assert "Not graded (restored from the base): test_slug.py" in answer.out
    assert "verified" in answer.out
    place = next(line.removeprefix("$ cd ") for line in answer.out.splitlines() if line.startswith("$ cd "))
    branch = git(Path(place), "branch", "--list", "donewhen/*").strip()
    assert git(Path(place), "show", f"{branch}:slug.py").count("findall") == 1
    assert "other_characters" in git(Path(place), "show", f"{branch}:test_slug.py")


def test_ten_parallel_sessions_on_one_repository_do_not_affect_each_other(repo: Path) -> None:
    programs: list[subprocess.Popen[bytes]] = []
    for number in range(10):
        steps = [write("answer.txt", "right\n"), write(f"mine-{number}.txt", "x\n"), say("done")]
        model = script(repo.parent / f"s{number}.json", steps)
        command = [PROGRAM, "run", f"number {number}", "--model", model, "--json"]
        programs.append(subprocess.Popen(command, cwd=repo, stdout=subprocess.PIPE, stderr=subprocess.PIPE))
    ended = [program.communicate(timeout=180) for program in programs]
    assert [program.returncode for program in programs] == [0] * 10, ended
    branches = git(repo, "for-each-ref", "--format=%(refname:short)", "refs/heads/donewhen").split()
    assert len(branches) == 10
    for branch in branches:
        files = git(repo, "ls-tree", "--name-only", branch).split()
        assert len([name for name in files if name.startswith("mine-")]) == 1


def test_every_method_of_the_table_can_be_called() -> None:
    assert {"session.start", "session.discard", "receipt.get", "models.list"} <= TABLE.keys()
    assert all(callable(method.function) for method in TABLE.values())
