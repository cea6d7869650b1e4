"""A person at a terminal while the daemon works: questions, gates and Ctrl-C as without it."""

import os
import pty
import select
import signal
import subprocess
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

from program import PROGRAM
from repositories import git
from runs.scenes import RIGHT, call, say, scene, script
from server.daemon_program import SECONDS, Daemon, serving
from server.daemon_scenes import STUCK, bare

ASKS_AND_WRITES = [
    call("ask_user", prompt="which word?"),
    call("shell", command="echo right > answer.txt"),
    say("done"),
]


class Terminal:
    """The program on a pseudo-terminal on which a person types."""

    def __init__(self, process: subprocess.Popen[bytes], master: int) -> None:
        self.process = process
        self._master = master
        self.text = ""

    def type(self, keys: str) -> None:
        os.write(self._master, keys.encode())

    def wait_for(self, words: str) -> None:
        began, until = len(self.text), time.monotonic() + SECONDS
        while words not in self.text[began:]:
            assert time.monotonic() < until, self.text
            assert self._read(SECONDS), self.text

    def code(self) -> int:
        while self._read(SECONDS):
            pass
        return self.process.wait(SECONDS)

    def _read(self, seconds: float) -> bool:
        if not select.select([self._master], [], [], seconds)[0]:
            return False
        try:
            data = os.read(self._master, 65536)
        except OSError:  # no process holds the terminal any more
            return False
        self.text += data.decode("utf-8", "replace")
        return bool(data)


@contextmanager
def terminal(*arguments: str, cwd: Path) -> Generator[Terminal]:
    master, slave = pty.openpty()
    environment = {**os.environ, "TERM": "xterm-256color", "COLUMNS": "200"}
    with subprocess.Popen(
        [PROGRAM, *arguments], stdin=slave, stdout=slave, stderr=slave, cwd=cwd, env=environment, start_new_session=True
    ) as process:
        os.close(slave)
        try:
            yield Terminal(process, master)
        finally:
            process.kill()
            os.close(master)


@pytest.fixture
def daemon() -> Generator[Daemon]:
    with serving() as daemon:
        yield daemon


def test_a_question_is_answered_at_the_terminal(daemon: Daemon, tmp_path: Path) -> None:
    repo = scene(tmp_path / "repo")
    with terminal("run", "x", "--model", script(tmp_path / "s.json", ASKS_AND_WRITES), cwd=repo) as shown:
        shown.wait_for("your answer: ")
        shown.type("right\n")
        assert shown.code() == 0, shown.text
    assert "verified" in shown.text
    with daemon.client() as client:
        (row,) = client.ask("session.list")
        events = client.ask("session.events", id=row["id"])["events"]
    assert [one["answer"] for one in events if one["type"] == "question_answered"] == ["right"]


@pytest.mark.parametrize(("typed", "code"), [("y\n", 0), ("n\n", 1), ("l\n", 3)])
@pytest.mark.sample(1)
def test_a_proposed_contract_is_decided_at_the_terminal(daemon: Daemon, tmp_path: Path, typed: str, code: int) -> None:
    repo = bare(tmp_path / "repo")
    with terminal("run", "x", "--model", script(tmp_path / "s.json", RIGHT), cwd=repo) as shown:
        shown.wait_for("[y]es")
        shown.type(typed)
        assert shown.code() == code, shown.text
    assert bool(git(repo, "branch", "--list", "donewhen/*")) is (code == 0)


def test_an_answer_from_elsewhere_ends_the_question_at_the_terminal(daemon: Daemon, tmp_path: Path) -> None:
    repo = scene(tmp_path / "repo")
    with terminal("run", "x", "--model", script(tmp_path / "s.json", ASKS_AND_WRITES), cwd=repo) as shown:
        shown.wait_for("your answer: ")
        with daemon.client() as client:
            (row,) = client.ask("session.list")
            client.ask("session.answer", id=row["id"], text="right")
        assert shown.code() == 0, shown.text


def test_ctrl_c_at_the_terminal_cancels_and_exits_130(daemon: Daemon, tmp_path: Path) -> None:
    repo = scene(tmp_path / "repo")
    with terminal("run", "x", "--model", script(tmp_path / "s.json", STUCK), cwd=repo) as shown:
        shown.wait_for("round 1")
        shown.process.send_signal(signal.SIGINT)
        assert shown.code() == 130, shown.text
    with daemon.client() as client:
        assert [row["outcome"] for row in client.ask("session.list")] == ["cancelled"]
