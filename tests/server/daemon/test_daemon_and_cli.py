"""The command line with a daemon and without prints the same and ends with the same code."""

import difflib
import json
import os
import re
import signal
import subprocess
from collections.abc import Callable, Generator
from contextlib import ExitStack
from pathlib import Path

import pytest

from loops.loop_scene import LoopScene, loop
from program import PROGRAM, Answer, donewhen
from repositories import git
from runs.scenes import EXPECTED, RIGHT, call, scene, script
from server.daemon_program import Daemon, eventually, serving
from server.daemon_scenes import CHEAT, STUCK, bare, guarded

WHAT_DIFFERS = (
    (re.compile(r"\b\d{4}-\d\d-\d\d[T ][\d:.]+Z?"), "TIME"),
    (re.compile(r"sha256:[0-9a-f]{64}|\b[0-9a-f]{40}\b"), "HASH"),
    (re.compile(r"\([0-9a-f]{12}\)"), "(HASH)"),
    (re.compile(r"^(?:preparing|  … .*)\n", re.MULTILINE), ""),  # only where it is slow
    (re.compile(r'("?(?:duration_ms|active_secs|sent_bytes|filled)"?: )[\d.]+'), r"\1N"),
    (re.compile(r"\b[\d.]+ ?m?s\b"), "SECS"),
    (re.compile(r"\bin \d+[hms].*?(?=  |$)", re.MULTILINE), "SOON"),
)
Scene = Callable[[Path], list[Answer]]


def plain(text: str, place: Path) -> str:
    """Return output without what differs between two runs: the place, ids in the order in which they appear, times."""
    text = text.replace(str(place), "PLACE")
    for pattern, word in WHAT_DIFFERS:
        text = pattern.sub(word, text)
    ids = dict.fromkeys(re.findall(r"\b(?=[0-9a-f]*\d)[0-9a-f]{8}\b", text))
    for number, id in enumerate(ids):
        text = text.replace(id, f"ID{number}")
    return text


def session_of(answer: Answer) -> str:
    return str(json.loads(answer.out.splitlines()[0])["session"])


def work(place: Path) -> list[Answer]:
    repo = scene(place / "repo")
    model = script(place / "script.json", RIGHT)
    ran = donewhen("run", "say right", "--model", model, cwd=repo)
    return [ran, donewhen("list", cwd=repo), donewhen("inbox", cwd=repo), donewhen("cancel", cwd=repo)]


def events(place: Path) -> list[Answer]:
    repo = scene(place / "repo")
    (place / "script.json").write_text(json.dumps(RIGHT))
    return [donewhen("run", "say right", "--model", "scripted:../script.json", "--json", cwd=repo)]


def gates(place: Path) -> list[Answer]:
    repo = guarded(place / "repo")
    model = script(place / "script.json", CHEAT)
    options = ("--model", model, "--max-iterations", "1")
    first = donewhen("run", "say right", "--json", *options, cwd=repo)
    id = session_of(first)
    approved = [donewhen(verb, id, cwd=repo) for verb in ("approve", "approve", "resume")]
    other = donewhen("run", "say right", *options, cwd=repo)
    return [first, *approved, other, donewhen("inbox", cwd=repo), *(donewhen("deny", cwd=repo) for _ in range(2))]


def proposals(place: Path) -> list[Answer]:
    repo = bare(place / "repo")
    model = script(place / "script.json", RIGHT)
    first = donewhen("run", "say right", "--model", model, "--json", cwd=repo)
    return [first, donewhen("answer", session_of(first), "only the tests, please", cwd=repo)]


def wrong(place: Path) -> list[Answer]:
    repo = scene(place / "repo")
    return [
        donewhen(*arguments, cwd=repo)
        for arguments in (
            ("run", "x", "--model", "nonsense"),
            ("run", "x", "--base", "no-such-commit", "--model", "scripted:none.json"),
            ("run", "x", "--max-turns", "-1"),
            ("cancel", "ffffffff"),
            ("resume", "ffffffff"),
            ("answer", "ffffffff", "yes"),
            ("loop", "show", "none"),
            ("loop", "list"),
            ("loop", "pause", "none"),
        )
    ]


def loops(place: Path) -> list[Answer]:
    there = LoopScene.made(place, loop(deliver=["stdout"]))
    answers = [there("loop", "run", "fixer"), there("loop", "history"), there("loop", "show", "fixer")]
    answers += [there("loop", verb, "fixer") for verb in ("pause", "resume", "demote")]
    return [*answers, there("inbox"), there("deny"), there("loop", "history")]


@pytest.mark.parametrize("acts", [work, events, gates, proposals, wrong, loops], ids=lambda one: one.__name__)
def test_the_same_is_printed_with_a_daemon_and_without(acts: Scene, tmp_path: Path, home: Path) -> None:
    said: list[list[tuple[int, str, str]]] = []
    for name in ("alone", "served"):
        place = tmp_path / name
        place.mkdir()
        with ExitStack() as stack:
            if name == "served":
                stack.enter_context(serving())
            answers = acts(place)
        said.append([(one.code, plain(one.out, place), plain(one.err, place)) for one in answers])
        for state in (home / ".local" / "state" / "donewhen").glob("*"):
            subprocess.run(["rm", "-rf", state], check=True)
    alone, served = said
    for one, other in zip(alone, served, strict=True):
        assert one[0] == other[0], (one, other)
        for mine, theirs in zip(one[1:], other[1:], strict=True):
            differences = difflib.unified_diff(mine.splitlines(), theirs.splitlines(), "alone", "served", lineterm="")
            assert mine == theirs, "\n".join(differences)


# -- the daemon works, and the caller counts --


@pytest.fixture
def served() -> Generator[Daemon]:
    with serving() as daemon:
        yield daemon


def test_a_run_counts_its_callers_directory_variables_and_programs(served: Daemon, tmp_path: Path) -> None:
    repo = scene(tmp_path / "repo", {"sub/file.txt": "x\n", "donewhen.toml": EXPECTED, "expected.txt": "right\n"})
    user = Path(os.environ["XDG_CONFIG_HOME"]) / "donewhen" / "config.toml"
    user.parent.mkdir(parents=True, exist_ok=True)
    user.write_text('[workspace]\nenv = ["THE_WORD"]\n')
    steps = [call("shell", command='echo "$THE_WORD" > answer.txt'), {"text": "done"}]
    (tmp_path / "repo" / "sub").joinpath("script.json").write_text(json.dumps(steps))
    variables = {"THE_WORD": "right", "DONEWHEN__MODEL__USE": "scripted:script.json"}
    ran = donewhen("run", "say right", "--json", cwd=repo / "sub", env=variables)
    assert ran.code == 0, ran.err
    assert git(repo, "show", f"donewhen/{session_of(ran)}:answer.txt") == "right"
    assert "THE_WORD" not in served.log
    empty = {**variables, "PATH": "/nonexistent"}
    alone = subprocess.run(
        [PROGRAM, "run", "x", "--json"], cwd=repo, env={**os.environ, **empty}, capture_output=True, check=False
    )
    assert alone.returncode != 0  # the caller's PATH counts, and not the daemon's


def test_a_repository_with_another_database_works_alone(served: Daemon, tmp_path: Path) -> None:
    repo = scene(tmp_path / "repo", {"donewhen.toml": '# no storage\n[[check]]\nname = "a"\ncommand = "true"\n'})
    ran = donewhen("run", "x", "--model", script(tmp_path / "s.json", RIGHT), "--allow-green", "--json", cwd=repo)
    assert ran.code == 0
    with served.client() as client:
        assert client.ask("session.get", id=session_of(ran))["outcome"] == "verified"


def running(repo: Path, *options: str) -> "subprocess.Popen[str]":
    model = script(repo.parent / "script.json", STUCK)
    command = [PROGRAM, "run", "say right", "--model", model, *options]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, cwd=repo, stdin=subprocess.DEVNULL, stdout=pipe, stderr=pipe, text=True)


def until(program: "subprocess.Popen[str]", word: str) -> str:
    assert program.stdout is not None
    for line in program.stdout:
        if word in line:
            return line
    raise AssertionError(program.communicate())


def test_ctrl_c_cancels_the_session_and_exits_130(served: Daemon, tmp_path: Path) -> None:
    program = running(scene(tmp_path / "repo"), "--json")
    id = json.loads(until(program, "iteration_started"))["session"]
    program.send_signal(signal.SIGINT)
    out, err = program.communicate(timeout=60)
    assert program.returncode == 130, err
    assert json.loads(out.splitlines()[-1])["outcome"] == "cancelled"
    with served.client() as client:
        assert client.ask("session.get", id=id)["outcome"] == "cancelled"


@pytest.mark.parametrize("session_too", [False, True])
def test_a_daemon_that_dies_under_a_run_gives_one_line_that_names_the_session(
    tmp_path: Path, session_too: bool
) -> None:
    with serving() as daemon:
        program = running(scene(tmp_path / "repo"), "--json")
        id = json.loads(until(program, "iteration_started"))["session"]
        owner = daemon.owner(id)
        if session_too:
            os.kill(daemon.pid, signal.SIGSTOP)
            os.kill(owner, signal.SIGKILL)
            eventually(lambda: not Path(f"/proc/{owner}").exists() or "Z" in Path(f"/proc/{owner}/stat").read_text())
        daemon.kill()
        _, err = program.communicate(timeout=60)
        assert program.returncode == 4
        (line,) = err.splitlines()
        assert line.startswith("donewhen: the daemon has ended; session " + id)
        assert line.endswith(f"donewhen {'resume' if session_too else 'watch'} {id}")
        if not session_too:
            assert donewhen("cancel", id, cwd=tmp_path).code == 0


def test_loop_start_is_refused_while_the_daemon_runs_the_loops(served: Daemon, tmp_path: Path) -> None:
    there = LoopScene.made(tmp_path, loop())
    answer = there("loop", "start")
    assert (answer.code, answer.one_line) == (
        2,
        "donewhen: the daemon runs the loops of this repository; stop it first, or leave them to it",
    )


def test_a_round_is_shown_while_the_daemon_runs_it(served: Daemon, tmp_path: Path) -> None:
    there = LoopScene.made(tmp_path, loop())
    answer = there("loop", "run", "fixer", "--json")
    found = [json.loads(line) for line in answer.out.splitlines()]
    assert [one["seq"] for one in found] == list(range(1, len(found) + 1))
    assert (answer.code, found[-1]["type"]) == (3, "state_changed")
    with served.client() as client:
        assert client.ask("session.events", id=found[0]["session"])["events"] == found
