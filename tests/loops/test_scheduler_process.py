"""`donewhen loop start` as a real process that is stopped, killed, doubled and paused while rounds run."""

import os
import queue
import re
import shutil
import signal
from collections.abc import Generator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import anyio
import pytest
from loop_scene import LoopScene, loop, on_wire, opinion
from scheduler_process import SECONDS, SchedulerProcess, rows, state

from donewhen.loops import start
from donewhen.loops.run_scheduler import utc_now
from donewhen.session.log.open_archive import any_archive
from donewhen.session.log.writer import ignore_record
from donewhen.session.person.watch import SessionWatcher
from donewhen.session.settings.trust import TrustBook
from donewhen.workspace.state_dir import state_root
from program import PROGRAM, donewhen
from repositories import write
from wire_server import Decides, Received, Silent, serving

SLOW = [{"text": "Nothing is wrong.", "delay": 3600}]
QUICK = [{"text": "Nothing is wrong."}]
KEYS: dict[str, Any] = {"level": "report", "action": "report", "schedule": "every 1s", "deliver": ["file:reports.txt"]}


@pytest.fixture
def stack() -> Generator[ExitStack]:
    with ExitStack() as stack:
        yield stack


def reports(scene: LoopScene) -> int:
    file = scene.root / "reports.txt"
    return file.read_text().count("[report] loop watcher (reported)") if file.exists() else 0


def ended(root: Path) -> list[str]:
    return [row.outcome for row in rows(root, "watcher") if row.outcome]


def test_a_round_outlives_a_killed_scheduler_and_a_stopped_one(tmp_path: Path, stack: ExitStack) -> None:
    scene = LoopScene.made(tmp_path, loop("watcher", **KEYS))
    scene.script(SLOW, [opinion()])
    killed = SchedulerProcess(scene.root, stack)
    session = killed.wait_for("loop watcher: round").split()[4]
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
    others: dict[str, Any] = {**KEYS, "deliver": []}
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


def test_a_scheduled_round_that_cannot_begin_has_failed_names_no_session_and_pauses_the_loop(
    tmp_path: Path, stack: ExitStack
) -> None:
    scene = LoopScene.made(tmp_path, loop("watcher", **KEYS, engine="foreman"))
    scheduler = SchedulerProcess(scene.root, stack)
    reason = f"{scene.root}/donewhen.toml: loop 'watcher': a loop that only reads needs the engine native or external"
    line = scheduler.wait_for(f"loop watcher: failed before its session began: {reason}; the next attempt is at ")
    assert re.match(r"\d\d:\d\d loop", line) and re.search(r" at \d\d:\d\d$", line)
    assert (scene.root / "reports.txt").read_text().startswith("[report] loop watcher (failed)\n")
    (row,) = rows(scene.root, "watcher")
    assert (row.outcome, row.session) == ("failed", "")
    assert scheduler.stop() == 0


def test_a_spent_budget_is_said_with_the_command_that_lets_the_loop_go_on(tmp_path: Path, stack: ExitStack) -> None:
    scene = LoopScene.made(tmp_path, loop("watcher", **KEYS, budget={"turns": 1}))
    scene.script([{"tool": {"name": "read_file", "input": {"path": "calc.py"}}}, *QUICK])
    scheduler = SchedulerProcess(scene.root, stack)
    assert re.search(r"round \w+ budget: ", scheduler.wait_for("loop watcher: round", lambda: bool(ended(scene.root))))
    assert scheduler.wait_for("loop watcher: paused: ").endswith("; donewhen loop resume watcher\n")
    assert scheduler.stop() == 0


def test_a_person_reads_what_is_due_and_reports_are_apart_from_what_the_scheduler_says(
    tmp_path: Path, stack: ExitStack
) -> None:
    keys = {**KEYS, "deliver": ["stdout"], "schedule": "daily 00:00", "on": ["file:plan.md"]}
    ticker = loop("ticker", **{**KEYS, "deliver": []})
    scene, out = LoopScene.made(tmp_path, ticker, loop("watcher", **keys)), tmp_path / "out"
    scene.script(QUICK, [opinion()])
    scheduler = SchedulerProcess(scene.root, stack, out=out)
    assert re.match(r"\d\d:\d\d loop watcher: next at .*00:00, and on file:plan.md", scheduler.wait_for("loop watcher"))
    scheduler.wait_for("loop ticker: round")
    write(scene.root, {"plan.md": "next"})
    scheduler.wait_for("started because plan.md changed")
    scheduler.wait_for("loop watcher: round")
    scene.state(ticker, loop("watcher", **keys), loop("late", **{**KEYS, "schedule": "daily 00:00"}))
    assert "loop late: added; " in scheduler.wait_for("loop late: ")
    assert scheduler.stop() == 0
    assert out.read_text().startswith("[report] loop watcher (reported)\nintent: ")


@pytest.mark.parametrize("signals", [[signal.SIGINT], [signal.SIGINT] * 2], ids=["once", "twice"])
def test_ctrl_c_says_which_round_goes_on_at_the_next_start(
    tmp_path: Path, stack: ExitStack, signals: list[signal.Signals]
) -> None:
    scene = LoopScene.made(tmp_path, loop("watcher", **KEYS))
    scene.script(SLOW, [opinion()])
    scheduler = SchedulerProcess(scene.root, stack)
    session = scheduler.wait_for("loop watcher: round").split()[4]
    assert scheduler.stop(*signals) == 130
    scheduler.wait_for(f" stopped; round {session} goes on at the next start\n")
    running = state(scene.root, "watcher").running
    assert running is not None and (running.session, running.owner) == (session, None)


def test_the_scheduler_opens_the_repository_before_it_says_anything(tmp_path: Path, stack: ExitStack) -> None:
    outside = donewhen("loop", "start", cwd=tmp_path)
    assert (outside.code, outside.out) == (2, "")
    assert outside.one_line == f"donewhen: {tmp_path} is not in a git repository"
    scheduler = SchedulerProcess(LoopScene.made(tmp_path).root, stack)
    scheduler.wait_for("there are no loops; a ready-made one: donewhen loop add; ")
    assert scheduler.stop() == 0


@pytest.mark.anyio
async def test_a_repository_that_is_away_runs_nothing_and_runs_again_when_it_is_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scene, said, before = LoopScene.made(tmp_path, loop("watcher", **KEYS)), list[str](), list[str]()
    scene.script(QUICK, [opinion()])
    top, away = scene.root, tmp_path / "away"
    monkeypatch.chdir(top)

    def say(line: str) -> None:
        said.append(line)
        if line.endswith("reported") and not before:
            before.extend(row.key for row in rows(top, "watcher"))
            top.rename(away)
        elif line == f"{top} is not there; nothing runs until it is back":
            assert state(top, "watcher").due_at is not None
            shutil.copytree(away, top)  # the working directory of the process is another one now
            shutil.rmtree(away)
        elif line.endswith("reported"):
            group.cancel_scope.cancel()

    with anyio.fail_after(SECONDS):
        async with anyio.create_task_group() as group:
            watch = SessionWatcher(on_record=ignore_record, say=say)
            group.start_soon(start.run_scheduler, top, TrustBook(state_root(os.environ)), watch, say, 1)
    assert f"{top} is there again" in said and "failed" not in ended(top)
    assert [row.key for row in rows(top, "watcher")][: len(before)] == before


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
