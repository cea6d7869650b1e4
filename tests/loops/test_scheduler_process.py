"""`donewhen loop start` as a real process that is stopped, killed, doubled and paused while rounds run."""

import os
import queue
import signal
from collections.abc import Generator
from contextlib import ExitStack
from pathlib import Path

import pytest
from loop_scene import LoopScene, loop, on_wire, opinion
from scheduler_process import SECONDS, SchedulerProcess, rows, state

from donewhen.loops.run_scheduler import utc_now
from donewhen.session.log.open_archive import any_archive
from program import PROGRAM
from wire_server import Decides, Received, Silent, serving

SLOW = [{"text": "Nothing is wrong.", "delay": 3600}]
QUICK = [{"text": "Nothing is wrong."}]
KEYS = {"level": "report", "action": "report", "schedule": "every 1s", "deliver": ["file:reports.txt"]}


@pytest.fixture
def stack() -> Generator[ExitStack]:
    with ExitStack() as stack:
        yield stack


def reports(scene: LoopScene) -> int:
    file = scene.root / "reports.txt"
    return file.read_text().count("[report] loop watcher (reported)") if file.exists() else 0


def test_a_round_outlives_a_killed_scheduler_and_a_stopped_one(tmp_path: Path, stack: ExitStack) -> None:
    scene = LoopScene.made(tmp_path, loop("watcher", **KEYS))
    scene.script(SLOW, [opinion()])
    killed = SchedulerProcess(scene.root, stack)
    session = killed.wait_for("loop watcher: round").split()[3]
    killed.kill()
    (row,) = rows(scene.root, "watcher")
    assert (row.session, row.status.value, row.attempts) == (session, "running", 1)

    stopped = SchedulerProcess(scene.root, stack)
    stopped.wait_for(f"round {session} was interrupted and goes on")
    assert stopped.stop() == 0
    running = state(scene.root, "watcher").running
    assert running is not None and running.owner is None  # released, so that this does not count as a crash

    scene.script(QUICK, [opinion()])
    last = SchedulerProcess(scene.root, stack)
    last.wait_for(f"round {session} reported")
    assert last.stop() == 0
    row, *later = rows(scene.root, "watcher")
    assert (row.session, row.outcome, row.attempts) == (session, "reported", 2)
    with any_archive() as archive:
        kinds = [event.kind for event in archive.events(session)]
    assert [kinds.count(kind) for kind in ("round_started", "round_finished", "session_finished")] == [1, 1, 1]
    assert reports(scene) == 1 + sum(one.outcome == "reported" for one in later)


@pytest.mark.promise("command.loop.pause-resume")
def test_two_schedulers_run_nothing_twice_and_a_paused_loop_is_not_due(tmp_path: Path, stack: ExitStack) -> None:
    others = {**KEYS, "deliver": []}
    scene = LoopScene.made(tmp_path, loop("watcher", **KEYS), loop("other", **others))
    scene.script(QUICK, [opinion()])
    command = [PROGRAM, "loop", "start", "--places", "1"]
    schedulers = [SchedulerProcess(scene.root, stack, command) for _ in range(2)]
    for scheduler in schedulers:
        scheduler.wait_for("reported")
    schedulers[0].wait_for("reported", also=lambda: reports(scene) > 0)
    assert scene("loop", "pause", "watcher").code == 0
    paused_at, now = utc_now(), state(scene.root, "watcher")
    claimed = [row.key for row in rows(scene.root, "watcher")]
    assert (now.due_at, now.schedule, now.paused) == (None, "", "a person paused it")

    def is_looked_at_again() -> bool:
        return any(row.started_at and row.started_at > paused_at for row in rows(scene.root, "other"))

    schedulers[1].lines = schedulers[0].lines  # either of them may be the faster one each time
    schedulers[0].wait_for("loop other: round", also=is_looked_at_again)
    assert [scheduler.stop() for scheduler in schedulers] == [0, 0]
    found = rows(scene.root, "watcher")
    assert [row.key for row in found] == claimed and state(scene.root, "watcher").due_at is None
    reported = [row.session for row in found if row.outcome == "reported"]
    assert len(set(reported)) == len(reported) == reports(scene)


def test_a_scheduled_round_that_cannot_start_has_failed_and_its_report_is_delivered(
    tmp_path: Path, stack: ExitStack
) -> None:
    scene = LoopScene.made(tmp_path, loop("watcher", **KEYS, checks=["missing"]))
    scheduler = SchedulerProcess(scene.root, stack)
    scheduler.wait_for("failed: loop 'watcher': 'checks' names 'missing'")
    assert scheduler.stop() == 0
    assert (scene.root / "reports.txt").read_text().startswith("[report] loop watcher (failed)\n")


def test_ctrl_c_while_an_interrupted_round_ends_starts_no_other_round(tmp_path: Path, stack: ExitStack) -> None:
    scene, asked = LoopScene.made(tmp_path, loop("watcher", **KEYS)), queue.Queue[str]()

    def silent(request: Received) -> Silent:
        asked.put(request.path)
        return Silent()

    on_wire(scene, stack.enter_context(serving(Decides(silent), again=True)))
    command, env = [PROGRAM, "loop", "run", "watcher"], {**os.environ, **scene.env}
    killed = SchedulerProcess(scene.root, stack, command, env)
    asked.get(timeout=SECONDS)
    killed.kill()
    again = SchedulerProcess(scene.root, stack, command, env)
    session = again.wait_for("was interrupted; it ends first").split()[2]
    asked.get(timeout=SECONDS)
    assert again.stop(signal.SIGINT) == 130
    assert [(row.session, row.outcome) for row in rows(scene.root, "watcher")] == [(session, "failed")]
    assert state(scene.root, "watcher").failures == 0
    with any_archive() as archive:
        assert [row.id for row in archive.sessions()] == [session]
