"""Verbs on sessions without an ID mean the newest session of this repository that fits, and say which one it is."""

import json
import subprocess
from pathlib import Path

import pytest

from program import PROGRAM
from repositories import git
from runs.scenes import EXPECTED, RIGHT, WRONG, Run, call, run, run_json, run_verb, say, scene, script, write
from terminal import on_a_terminal

AMENDMENT = [write("expected.txt", "wrong\n"), say("done")]


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    return scene(tmp_path / "repo")


@pytest.fixture
def guarded(tmp_path: Path) -> Path:
    """A repository in which `AMENDMENT` needs a decision of a person."""
    return scene(tmp_path / "repo", {"donewhen.toml": EXPECTED, "expected.txt": "right\n"})


def waiting(repo: Path) -> Run:
    ran = run(repo, AMENDMENT, "--max-iterations", "1")
    assert ran.code == 3
    return ran


def first_line(err: str) -> str:
    return err.splitlines()[0]


@pytest.mark.promise("session.newest")
def test_show_log_and_diff_mean_the_newest_session_and_say_so_on_stderr(repo: Path) -> None:
    run(repo, RIGHT)
    ran = run(repo, [*WRONG, *RIGHT])
    for verb in ("show", "log", "diff"):
        named, newest = run_verb(repo, verb, ran.session), run_verb(repo, verb)
        assert (newest.code, newest.out) == (0, named.out)
        fits = " that is not discarded" if verb == "diff" else ""
        assert newest.one_line == f"session {ran.session}, the newest{fits}: say right"


def test_a_subdirectory_means_the_repository_around_it_and_another_repository_has_its_own(
    repo: Path, tmp_path: Path
) -> None:
    ran = run(repo, RIGHT)
    other = scene(tmp_path / "other")
    newer = run(other, RIGHT)
    (repo / "sub").mkdir()
    assert json.loads(run_verb(repo / "sub", "show", "--json").out)["id"] == ran.session
    assert json.loads(run_verb(other, "show", "--json").out)["id"] == newer.session


@pytest.mark.promise("session.newest.decision")
@pytest.mark.parametrize("verb", ["approve", "deny"])
def test_a_decision_is_for_the_newest_session_that_waits_for_one(guarded: Path, verb: str) -> None:
    first, second = waiting(guarded), waiting(guarded)
    run(guarded, [write("answer.txt", "right\n"), say("done")])
    for ran in (second, first):
        decided = run_json(guarded, verb, "--json")
        assert first_line(decided.err) == f"session {ran.session}, the newest that waits for a decision: say right"
        assert decided.session == ran.session
        assert decided.last["outcome"] == ("verified" if verb == "approve" else "rejected")
    nothing = run_verb(guarded, verb)
    sentence = f"donewhen: there is no session of {guarded} that waits for a decision; see: donewhen list"
    assert (nothing.code, nothing.one_line) == (2, sentence)


def test_land_and_receipt_mean_the_newest_verified_session(repo: Path) -> None:
    ran = run(repo, RIGHT, "--land", "none")
    run(repo, WRONG, "--max-iterations", "1")
    receipt = run_verb(repo, "receipt")
    assert json.loads(receipt.out)["tree"] == ran.last["tree"]
    assert receipt.one_line == f"session {ran.session}, the newest that is verified: say right"
    landed = run_verb(repo, "land")
    assert (landed.code, landed.one_line) == (0, receipt.one_line)
    assert git(repo, "rev-parse", f"donewhen/{ran.session}^{{tree}}") == ran.last["tree"]


def test_resume_means_the_newest_session_that_can_be_resumed(repo: Path) -> None:
    ran = run(repo, [*WRONG, *RIGHT], "--max-iterations", "1")
    run(repo, [*WRONG, *RIGHT])
    resumed = run_json(repo, "resume", "--json")
    assert (resumed.code, resumed.session) == (0, ran.session)
    assert first_line(resumed.err) == f"session {ran.session}, the newest that can be resumed: say right"
    again = run_verb(repo, "resume")
    assert (again.code, "that can be resumed" in again.one_line) == (2, True)


def test_replay_means_the_newest_session(repo: Path) -> None:
    ran = run(repo, RIGHT)
    replayed = run_json(repo, "replay", "--json")
    assert first_line(replayed.err) == f"session {ran.session}, the newest that can be replayed: say right"
    assert (replayed.code, replayed.last["tree"]) == (0, ran.last["tree"])


def test_watch_of_a_finished_session_ends_with_its_exit_code(repo: Path) -> None:
    ran = run(repo, WRONG, "--max-iterations", "1")
    watched = run_verb(repo, "watch")
    assert (watched.code, first_line(watched.err)) == (1, f"session {ran.session}, the newest: say right")


def test_cancel_means_a_session_that_waits_for_a_person(guarded: Path) -> None:
    ran = waiting(guarded)
    cancelled = run_verb(guarded, "cancel")
    assert (cancelled.code, cancelled.out) == (0, f"{ran.session}: cancelled\n")


@pytest.mark.promise("session.newest.answer")
def test_answer_and_cancel_mean_the_session_that_asks_or_is_not_finished(repo: Path) -> None:
    nothing = run_verb(repo, "cancel")
    assert (nothing.code, "that is not finished" in nothing.one_line) == (2, True)
    steps = [call("ask_user", prompt="Which way?"), {**RIGHT[0], "delay": 300}]
    model = script(repo.parent / "s.json", steps)
    command = [PROGRAM, "run", "x", "--model", model, "--json", "--ask"]
    with subprocess.Popen(command, cwd=repo, stdout=subprocess.PIPE) as running:
        assert running.stdout is not None
        events: list[dict[str, object]] = []
        while not events or events[-1]["type"] != "question_asked":
            events.append(json.loads(running.stdout.readline()))
        run(repo, RIGHT)
        session = str(events[0]["session"])
        missing = run_verb(repo, "answer", session[:6])
        assert (missing.code, missing.one_line.startswith(f"donewhen: '{session[:6]}' is a session")) == (2, True)
        answered = run_verb(repo, "answer", "left")
        assert (answered.code, answered.one_line) == (0, f"session {session}, the newest that waits for an answer: x")
        assert run_verb(repo, "answer", "left").code == 2, "the question is answered"
        cancelled = run_verb(repo, "cancel")
        assert (cancelled.code, cancelled.out) == (0, f"{session}: cancelled\n")
        assert cancelled.one_line == f"session {session}, the newest that is not finished: x"
        rest = [json.loads(line) for line in running.stdout]
    assert next(event for event in rest if event["type"] == "question_answered")["answer"] == "left"
    assert running.returncode == 130


def test_an_answer_of_several_words_without_quotes_is_refused(repo: Path) -> None:
    answer = run_verb(repo, "answer", "to", "the", "left")
    assert (answer.code, "in quotes" in answer.one_line) == (2, True)


@pytest.mark.promise("session.newest.discard")
def test_discard_without_an_id_names_the_newest_session_and_asks_on_a_terminal(repo: Path) -> None:
    older, ran = run(repo, RIGHT), run(repo, RIGHT)
    branch = f"donewhen/{ran.session}"
    which = f"session {ran.session}, the newest that is not discarded: say right"
    kept = on_a_terminal("discard", cwd=repo, typed="n\n")
    assert which in kept and "nothing was removed" in kept
    assert git(repo, "branch", "--list", branch)
    assert "its log stays" in on_a_terminal("discard", cwd=repo, typed="y\n")
    assert git(repo, "branch", "--list", branch) == ""
    assert git(repo, "branch", "--list", f"donewhen/{older.session}")
    alone = run_verb(repo, "discard")
    assert (alone.code, alone.one_line) == (0, f"session {older.session}, the newest that is not discarded: say right")
    assert git(repo, "branch", "--list", "donewhen/*") == ""
    nothing = run_verb(repo, "discard", "--yes")
    assert (nothing.code, "there is no session" in nothing.one_line) == (2, True)


def test_a_running_session_is_not_passed_over_by_discard_for_an_older_one(repo: Path) -> None:
    older = run(repo, RIGHT)
    model = script(repo.parent / "s.json", [{**RIGHT[0], "delay": 300}])
    command = [PROGRAM, "run", "x", "--model", model, "--json"]
    with subprocess.Popen(command, cwd=repo, stdout=subprocess.PIPE) as running:
        assert running.stdout is not None
        session = json.loads(running.stdout.readline())["session"]
        refused = run_verb(repo, "discard", "--yes")
        assert refused.code != 0
        assert session in refused.err.splitlines()[-1]
        assert run_verb(repo, "cancel").code == 0
        running.stdout.read()
    assert git(repo, "branch", "--list", f"donewhen/{older.session}")


@pytest.mark.parametrize(
    "verb",
    ["show", "log", "diff", "watch", "approve", "deny", "cancel", "resume", "land", "discard", "receipt", "replay"],
)
def test_where_nothing_fits_or_there_is_no_repository_one_line_says_so(repo: Path, tmp_path: Path, verb: str) -> None:
    nothing = run_verb(repo, verb)
    assert (nothing.code, nothing.out) == (2, "")
    assert nothing.one_line.startswith(f"donewhen: there is no session of {repo}")
    outside = run_verb(tmp_path, verb)
    sentence = f"donewhen: {tmp_path} is not in a repository; name a session: donewhen {verb} ID"
    assert (outside.code, outside.one_line) == (2, sentence)


def test_a_shell_completes_the_ids_of_sessions(repo: Path) -> None:
    ran = run(repo, RIGHT)
    begun = ran.session[:3]
    for verb in ("show", "discard", "answer"):
        asked = {"_DONEWHEN_COMPLETE": "bash_complete", "COMP_CWORD": "2", "COMP_WORDS": f"donewhen {verb} {begun}"}
        answer = run_verb(repo, env=asked)
        assert (answer.out, answer.err) == (f"plain,{ran.session}\n", "")
