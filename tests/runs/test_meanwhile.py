"""Two processes on one session: what one has read may be outdated before it acts."""

import fcntl
import os
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

from donewhen.events import SessionFinished, StateChanged
from donewhen.session.log.notes import Discarded
from donewhen.session.log.open_archive import any_archive
from donewhen.session.verbs import offline
from program import PROGRAM
from repositories import git
from runs.scenes import RIGHT, WRONG, run, run_verb, scene


@pytest.fixture
def repo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    repo = scene(tmp_path / "repo")
    monkeypatch.chdir(repo)
    return repo


@contextmanager
def held_up(repo: Path, *arguments: str) -> Generator["subprocess.Popen[str]"]:
    """A verb that has read the log and cannot open its workplace while the block runs."""
    (lock,) = Path(os.environ["XDG_STATE_HOME"]).glob("donewhen/repos/*/store/*/lock")
    with lock.open("r+") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        program = subprocess.Popen(
            [PROGRAM, *arguments], cwd=repo, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        while not is_waited_for(lock):
            assert program.poll() is None
        yield program


def is_waited_for(lock: Path) -> bool:
    number = f":{lock.stat().st_ino} "
    return any("->" in line and number in line for line in Path("/proc/locks").read_text().splitlines())


@pytest.mark.parametrize("verb", ["resume", "land", "discard"])
def test_a_session_discarded_in_the_meantime_is_not_changed(repo: Path, verb: str) -> None:
    ran = (
        run(repo, [*WRONG, *RIGHT], "--max-iterations", "1") if verb == "resume" else run(repo, RIGHT, "--land", "none")
    )
    with held_up(repo, verb, ran.session) as program, any_archive() as archive:
        with offline.own(archive, ran.session) as log:
            log.write(note=Discarded().note())
    _, errors = program.communicate(timeout=60)
    assert (program.returncode, errors.count("\n"), "was discarded" in errors) == (2, 1, True), errors
    assert git(repo, "branch", "--list", "donewhen/*") == ""
    with any_archive() as archive:
        assert len(list(archive.events(ran.session))) == len(ran.events)


def test_a_session_finished_by_another_process_in_the_meantime_is_not_continued(repo: Path) -> None:
    ran = run(repo, [*WRONG, *RIGHT], "--max-iterations", "1")
    with held_up(repo, "resume", ran.session) as program, any_archive() as archive:
        with offline.own(archive, ran.session) as log:
            log.write(*ended_as("verified"))
    said, errors = program.communicate(timeout=60)
    assert (program.returncode, "verified" in said) == (0, True), errors
    with any_archive() as archive:
        assert len(list(archive.events(ran.session))) == len(ran.events) + 2


def ended_as(outcome: str) -> tuple[StateChanged, SessionFinished]:
    finished = SessionFinished(outcome=outcome, reason="so it is", iterations=1, results=(), summary="", tree="")
    return StateChanged(from_="judging", to="finished"), finished


OWNER = """
import os, anyio
from donewhen.events import SessionFinished, StateChanged
from donewhen.session.person import control_socket
from donewhen.storage.archive import Archive
from donewhen.workspace.state_dir import state_root

async def work():
    archive, told_to = Archive.open(state_root(os.environ)), anyio.Event()
    lease = archive.create("5e551011", "/r", "t")

    def handle(request):
        told_to.set()
        return {"ok": True}

    async with control_socket.serve(control_socket.socket_path(state_root(os.environ), "5e551011"), handle):
        print("landing", flush=True)
        await told_to.wait()
        finished = SessionFinished(outcome="verified", reason="", iterations=1, results=(), summary="", tree="")
        lease.write(StateChanged(from_="judging", to="finished"), finished)
    lease.release()
    archive.close()

anyio.run(work)
"""
"""A session that is told to stop while it lands, and still lands."""


def test_cancel_says_so_if_the_session_ended_otherwise_first(repo: Path) -> None:
    owner = subprocess.Popen([sys.executable, "-c", OWNER], stdout=subprocess.PIPE)
    assert owner.stdout is not None
    assert owner.stdout.readline() == b"landing\n"
    assert run_verb(repo, "cancel", "5e55").out == "5e551011: it ended as verified before it could be stopped\n"
    owner.communicate(timeout=60)
    assert run_verb(repo, "cancel", "5e55").out == "5e551011: it had already ended as verified\n"
