"""The scheduler: what is due, put together, skipped, queued, delayed or taken over, and the life of its process."""

import datetime
import os
import signal
import subprocess
import sys
from collections.abc import Generator
from datetime import timedelta
from pathlib import Path

import anyio
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from donewhen.loops.due import MOST_AT_ONCE, key_at, pending_times, starts_at
from donewhen.loops.loop_records import Claim, OccurrenceStatus, RoundEnd
from donewhen.loops.loop_store import LoopStore
from donewhen.loops.run_scheduler import run_forever
from donewhen.loops.scheduler import MOST_ATTEMPTS
from donewhen.loops.spec import LoopSpec
from donewhen.loops.spec_files import StatedLoop
from loops.scheduler_scene import Scene, moment, stated
from tiers import examples

REPO = "/repo"


@pytest.fixture
def file_store(tmp_path: Path) -> Generator[LoopStore]:
    store = LoopStore(tmp_path)
    yield store
    store.close()


def test_a_new_loop_is_due_after_now_and_a_restart_makes_nothing_due(file_store: LoopStore, tmp_path: Path) -> None:
    scene = Scene(file_store, stated())
    assert scene.started("2026-11-18T09:10:00") == []
    assert scene.due() == "2026-11-18T09:20:00Z"
    again = Scene(LoopStore(tmp_path), stated())
    assert (again.started("2026-11-18T09:15:00"), again.due()) == ([], "2026-11-18T09:20:00Z")
    assert again.started("2026-11-18T09:20:00") == ["2026-11-18T09:20:00Z"]
    again.store.close()


def test_a_look_that_is_repeated_changes_nothing(file_store: LoopStore) -> None:
    scene = Scene(file_store, stated())
    scene.tick("2026-11-18T09:01:00")
    assert scene.ran("2026-11-18T09:10:00") == ["2026-11-18T09:10:00Z"]
    before = (scene.rows(), scene.due())
    assert scene.started("2026-11-18T09:10:00") == []
    assert (scene.rows(), scene.due()) == before


def test_occurrences_during_downtime_are_one_round_and_their_rows_say_so(file_store: LoopStore) -> None:
    scene = Scene(file_store, stated())
    scene.tick("2026-11-18T09:01:00")
    assert scene.ran("2026-11-18T09:45:00") == ["2026-11-18T09:40:00Z"]
    assert scene.statuses() == {
        "2026-11-18T09:10:00Z": "missed",
        "2026-11-18T09:20:00Z": "missed",
        "2026-11-18T09:30:00Z": "missed",
        "2026-11-18T09:40:00Z": "ran",
    }
    first = scene.rows()[0]
    assert first.coalesced_into == "2026-11-18T09:40:00Z"
    assert first.reason == (
        "nobody looked from 2026-11-18T09:01:00Z to 2026-11-18T09:45:00Z; coalesced into 2026-11-18T09:40:00Z"
    )
    assert scene.due() == "2026-11-18T09:50:00Z"


def test_what_was_missed_is_said_even_if_the_round_for_it_has_to_wait(file_store: LoopStore) -> None:
    scene = Scene(file_store, stated())
    scene.tick("2026-11-18T09:01:00")
    assert scene.started("2026-11-18T09:45:00", places=0) == []
    assert scene.ran("2026-11-18T09:46:00") == ["2026-11-18T09:40:00Z"]
    assert list(scene.statuses().values()) == ["missed", "missed", "missed", "ran"]
    (start,) = scene.tick("2026-11-18T09:50:00").starts
    file_store.release(start.claim)
    (again,) = scene.tick("2026-11-18T10:25:00").starts
    scene.end(again, moment("2026-11-18T10:26:00"))
    assert scene.ran("2026-11-18T10:27:00") == ["2026-11-18T10:20:00Z"]
    assert (scene.statuses()["2026-11-18T10:00:00Z"], scene.statuses()["2026-11-18T10:10:00Z"]) == ("missed", "missed")


def test_an_overlap_is_skipped_with_its_reason_and_the_schedule_goes_on(file_store: LoopStore) -> None:
    scene = Scene(file_store, stated())
    scene.tick("2026-11-18T09:01:00")
    (start,) = scene.tick("2026-11-18T09:10:00").starts
    assert scene.started("2026-11-18T09:20:00") == []
    row = scene.rows()[-1]
    assert (row.key, row.status) == ("2026-11-18T09:20:00Z", OccurrenceStatus.SKIPPED)
    assert row.reason == "the round s1 of 2026-11-18T09:10:00Z is still running"
    scene.end(start, moment("2026-11-18T09:25:00"))
    assert scene.started("2026-11-18T09:26:00") == []
    assert scene.started("2026-11-18T09:30:00") == ["2026-11-18T09:30:00Z"]


def test_a_queue_keeps_exactly_one_waiting_round(file_store: LoopStore) -> None:
    scene = Scene(file_store, stated(overlap="queue"))
    scene.tick("2026-11-18T09:01:00")
    (start,) = scene.tick("2026-11-18T09:10:00").starts
    for minute in range(11, 35):
        assert scene.started(f"2026-11-18T09:{minute}:00") == []
    scene.end(start, moment("2026-11-18T09:35:00"))
    assert scene.ran("2026-11-18T09:35:01") == ["2026-11-18T09:30:00Z"]
    assert scene.statuses() == {
        "2026-11-18T09:10:00Z": "ran",
        "2026-11-18T09:20:00Z": "coalesced",
        "2026-11-18T09:30:00Z": "ran",
    }
    assert scene.started("2026-11-18T09:36:00") == []


def test_after_a_failure_nothing_starts_before_the_back_off_ends(file_store: LoopStore) -> None:
    scene = Scene(file_store, stated(schedule="every 1m"))
    scene.tick("2026-11-18T08:59:30")
    assert scene.ran("2026-11-18T09:00:00", "failed") == ["2026-11-18T09:00:00Z"]
    assert scene.ran("2026-11-18T09:01:00", "failed") == ["2026-11-18T09:01:00Z"]
    assert scene.started("2026-11-18T09:02:30") == []
    tick = scene.tick("2026-11-18T09:02:59")
    assert (tick.starts, tick.wake_at) == ((), moment("2026-11-18T09:03:00"))
    assert scene.ran("2026-11-18T09:03:00") == ["2026-11-18T09:03:00Z"]
    assert scene.statuses()["2026-11-18T09:02:00Z"] == "coalesced"


def test_a_loop_that_fails_five_times_is_paused_and_never_starts_again_by_itself(file_store: LoopStore) -> None:
    scene = Scene(file_store, stated(schedule="every 1h"))
    scene.tick("2026-11-18T08:30:00")
    for hour in range(9, 14):
        assert len(scene.ran(f"2026-11-18T{hour:02}:00:00", "failed")) == 1
    state = file_store.state(REPO, "sweeper")
    assert (state.paused.startswith("5 failures in a row"), state.due_at) == (True, None)
    assert scene.tick("2026-11-19T20:00:00").starts == ()
    assert (scene.due(), len(scene.rows())) == ("", 5)
    file_store.resume(REPO, "sweeper")
    assert scene.started("2026-11-20T20:00:01") == []
    assert scene.due() == "2026-11-20T21:00:00Z"


def test_a_clock_that_is_put_back_runs_nothing_again_and_loses_nothing(file_store: LoopStore) -> None:
    scene = Scene(file_store, stated())
    scene.tick("2026-11-18T09:01:00")
    assert scene.ran("2026-11-18T09:10:00") == ["2026-11-18T09:10:00Z"]
    assert scene.ran("2026-11-18T10:00:00") == ["2026-11-18T10:00:00Z"]
    assert scene.statuses()["2026-11-18T09:30:00Z"] == "missed"
    assert scene.started("2026-11-18T09:12:00") == []
    assert scene.said[-1] == "/repo: the clock was put back; rounds that ran are not repeated"
    assert scene.due() == "2026-11-18T09:20:00Z"
    ran = [key for minute in range(13, 60) for key in scene.ran(f"2026-11-18T09:{minute}:00")]
    assert ran == [f"2026-11-18T09:{minute}:00Z" for minute in (20, 30, 40, 50)]
    assert scene.ran("2026-11-18T10:00:00") == []
    assert scene.ran("2026-11-18T10:10:00") == ["2026-11-18T10:10:00Z"]
    assert set(scene.statuses().values()) == {"ran"}


def test_what_waited_for_an_occurrence_of_a_wrong_clock_was_missed(file_store: LoopStore) -> None:
    scene = Scene(file_store, stated(overlap="queue"))
    scene.tick("2026-11-18T09:01:00")
    assert scene.started("2026-11-18T09:10:00") == ["2026-11-18T09:10:00Z"]
    scene.tick("2026-11-18T11:21:00")
    assert {row.coalesced_into for row in scene.rows()} == {"", "2026-11-18T11:20:00Z"}
    scene.tick("2026-11-18T09:25:00")
    assert scene.statuses() == {"2026-11-18T09:10:00Z": "running", "2026-11-18T09:20:00Z": "missed"}
    assert {row.coalesced_into for row in scene.rows()} == {""}


def test_a_clock_that_was_a_year_ahead_does_not_stop_a_loop_for_a_year(file_store: LoopStore) -> None:
    scene = Scene(file_store, stated(schedule="daily 09:00"))
    scene.tick("2026-11-18T08:00:00")
    assert len(scene.ran("2027-11-18T08:00:00")) == 1
    scene.tick("2026-11-18T08:10:00")
    assert scene.ran("2026-11-18T09:00:00") == ["2026-11-18T09:00:00Z"]


def test_a_back_off_of_another_clock_does_not_hold_a_loop(file_store: LoopStore) -> None:
    scene = Scene(file_store, stated())
    scene.tick("2027-11-18T09:01:00")
    assert len(scene.ran("2027-11-18T09:10:00", "failed")) == 1
    scene.tick("2026-11-18T09:12:00")
    assert scene.ran("2026-11-18T09:20:00") == ["2026-11-18T09:20:00Z"]


def test_an_invalid_file_is_said_once_and_the_other_loops_run(file_store: LoopStore) -> None:
    scene = Scene(file_store, stated(), stated("broken"))
    scene.tick("2026-11-18T09:01:00")
    scene.loops, scene.errors = (stated(),), ("broken.toml: 'schedule' must be …",)
    assert scene.started("2026-11-18T09:10:00") == ["2026-11-18T09:10:00Z"]
    scene.tick("2026-11-18T09:11:00")
    assert scene.said.count("broken.toml: 'schedule' must be …") == 1
    assert scene.due("broken") == "2026-11-18T09:10:00Z"
    scene.errors = ()
    scene.tick("2026-11-18T09:12:00")
    assert scene.due("broken") == ""


def test_a_loop_that_is_gone_loses_its_due_time_and_a_new_schedule_gets_a_new_one(file_store: LoopStore) -> None:
    scene = Scene(file_store, stated(), stated("other", schedule="daily 12:00"))
    scene.tick("2026-11-18T09:01:00")
    scene.loops = (stated(schedule="every 1h"),)
    assert scene.started("2026-11-18T09:12:00") == []
    assert (scene.due(), scene.due("other")) == ("2026-11-18T10:00:00Z", "")
    (row,) = scene.rows()
    assert (row.key, row.status, row.reason) == (
        "2026-11-18T09:10:00Z",
        OccurrenceStatus.MISSED,
        "the schedule was changed before it ran",
    )
    scene.loops = (stated(schedule="every 1h", timezone="Asia/Kolkata"),)
    scene.tick("2026-11-18T09:13:00")
    assert file_store.state(REPO, "sweeper").schedule == "every 1h Asia/Kolkata"


def test_loops_run_side_by_side_up_to_the_places_and_the_longest_due_goes_first(file_store: LoopStore) -> None:
    scene = Scene(file_store, *(stated(f"l{number}", schedule=f"{number} 10 * * *") for number in range(5)))
    scene.tick("2026-11-18T09:00:00")
    first = scene.tick("2026-11-18T10:10:00", places=2)
    assert [start.claim.loop for start in first.starts] == ["l0", "l1"]
    assert (first.wake_at, scene.started("2026-11-18T10:11:00", places=0)) == (moment("2026-11-19T10:00:00"), [])
    second = scene.tick("2026-11-18T10:12:00", places=3)
    assert [start.claim.loop for start in second.starts] == ["l2", "l3", "l4"]


def test_an_interrupted_round_goes_on_under_its_session_before_anything_else(file_store: LoopStore) -> None:
    scene = Scene(file_store, stated())
    scene.tick("2026-11-18T09:01:00")
    (start,) = scene.tick("2026-11-18T09:10:00").starts
    file_store.release(start.claim)
    (again,) = scene.tick("2026-11-18T09:30:00").starts
    assert (again.claim.key, again.claim.session, again.claim.is_resumed) == ("2026-11-18T09:10:00Z", "s1", True)
    scene.end(again, moment("2026-11-18T09:31:00"))
    assert scene.ran("2026-11-18T09:31:00") == ["2026-11-18T09:30:00Z"]


def test_a_paused_loop_does_not_go_on_with_an_interrupted_round(file_store: LoopStore) -> None:
    scene = Scene(file_store, stated())
    scene.tick("2026-11-18T09:01:00")
    (start,) = scene.tick("2026-11-18T09:10:00").starts
    file_store.release(start.claim)
    file_store.pause(REPO, "sweeper", "stop")
    assert scene.started("2026-11-18T09:30:00") == []
    assert len(file_store.interrupted(REPO)) == 1


KILLED = """
import sys
from pathlib import Path
from donewhen.loops.loop_store import LoopStore
store = LoopStore(Path(sys.argv[1]))
(found,) = store.interrupted("/repo")
assert store.take_over(found)
"""


def test_a_round_that_kills_its_process_each_time_ends_as_failed(file_store: LoopStore, tmp_path: Path) -> None:
    scene = Scene(file_store, stated())
    scene.tick("2026-11-18T09:01:00")
    (start,) = scene.tick("2026-11-18T09:10:00").starts
    file_store.release(start.claim)
    for _ in range(MOST_ATTEMPTS):  # the first of these takes over what was released; each dies without an end
        subprocess.run([sys.executable, "-c", KILLED, str(tmp_path)], check=True)
    assert scene.started("2026-11-18T09:15:00") == []
    (row,) = scene.rows()
    assert (row.outcome, row.reason) == ("failed", "the process that ran it was killed 5 times")
    assert file_store.state(REPO, "sweeper").failures == 1


def test_a_round_of_another_trigger_has_the_same_claim(file_store: LoopStore) -> None:
    scene = Scene(file_store, stated())
    scene.tick("2026-11-18T09:01:00")
    at = moment("2026-11-18T09:10:00")
    claim = file_store.claim(REPO, "sweeper", key_at(at), "by-hand", "manual", at, at)
    assert isinstance(claim, Claim)
    file_store.finish(claim, RoundEnd(outcome="reported"), at)
    assert scene.started("2026-11-18T09:10:30") == []
    assert (scene.due(), len(scene.rows())) == ("2026-11-18T09:20:00Z", 1)


def test_a_very_long_downtime_writes_a_bounded_number_of_rows(file_store: LoopStore) -> None:
    scene = Scene(file_store, stated(schedule="* * * * *"))
    scene.tick("2026-01-01T00:00:30")
    assert scene.ran("2026-11-18T09:10:30") == ["2026-11-18T09:10:00Z"]
    rows = scene.rows()
    assert len(rows) == MOST_AT_ONCE
    assert rows[0].reason.endswith(", as were all since 2026-01-01T00:01:00Z")


def test_a_broken_database_is_said_once_and_claimed_rounds_are_not_lost(tmp_path: Path) -> None:
    store = LoopStore(tmp_path, lock_timeout=0.05)
    scene = Scene(store, stated())
    scene.tick("2026-11-18T09:01:00")
    holder = LoopStore(tmp_path)
    with holder._database._open().transaction():  # pyright: ignore[reportPrivateUsage] - another process in a long write
        assert scene.started("2026-11-18T09:10:00") == []
        assert scene.started("2026-11-18T09:11:00") == []
    assert len(scene.said) == 2 and scene.said[1].startswith("the loops cannot be looked at now: ")
    assert scene.started("2026-11-18T09:12:00") == ["2026-11-18T09:10:00Z"]
    holder.close()
    store.close()


# -- jitter --

SPECS = st.tuples(
    st.sampled_from(["every 10m", "every 7h", "daily 02:30", "*/5 * * * *", "0 9 * * mon"]),
    st.sampled_from([0, 30, 600, 86400]),
).map(lambda given: stated(schedule=given[0], jitter_secs=given[1]).spec)
MOMENTS = st.integers(1_790_000_000, 1_800_000_000).map(lambda at: datetime.datetime.fromtimestamp(at, datetime.UTC))


@given(SPECS, MOMENTS)
def test_jitter_is_the_same_each_time_and_keeps_the_order(spec: LoopSpec, at: datetime.datetime) -> None:
    due_at = spec.schedule.next_after(at)
    following = spec.schedule.next_after(due_at)
    start = starts_at(REPO, spec, due_at)
    assert start == starts_at(REPO, spec, due_at)
    assert due_at <= start < following <= starts_at(REPO, spec, following)
    assert (start - due_at).total_seconds() <= spec.jitter_secs


@given(SPECS, MOMENTS, st.integers(0, 400_000))
def test_what_is_pending_is_the_calendar_up_to_now(spec: LoopSpec, at: datetime.datetime, later: int) -> None:
    due_at, now = spec.schedule.next_after(at), at + timedelta(seconds=later)
    calendar = [due_at, *spec.schedule.between(due_at, now)] if due_at <= now else []
    expected = [key_at(one) for one in calendar if starts_at(REPO, spec, one) <= now]
    found = [one.key for one in pending_times(REPO, spec, due_at, now)]
    assert found == expected[len(expected) - len(found) :]
    assert len(found) >= min(len(expected), MOST_AT_ONCE - 1)


def test_an_occurrence_with_jitter_starts_later_and_once(file_store: LoopStore) -> None:
    scene = Scene(file_store, stated(jitter_secs=300))
    due_at = moment("2026-11-18T09:10:00")
    start = starts_at(REPO, scene.loops[0].spec, due_at)
    assert due_at < start
    tick = scene.tick("2026-11-18T09:01:00")
    assert tick.wake_at == start
    assert scene.started(start - timedelta(seconds=1)) == []
    assert scene.started(start) == ["2026-11-18T09:10:00Z"]


# -- any order of looks --

STEPS = st.lists(
    st.tuples(st.integers(-4000, 20_000), st.sampled_from(["reported", "failed", "keep", "release"])), max_size=25
)


@settings(max_examples=examples(60), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    STEPS,
    st.sampled_from(["every 10m", "7,40 * * * *", "every 1h"]),
    st.sampled_from(["skip", "queue"]),
    st.sampled_from([0, 900]),
)
def test_whatever_the_clock_does_each_occurrence_has_one_row_and_runs_at_most_once(
    tmp_path_factory: pytest.TempPathFactory,
    steps: list[tuple[int, str]],
    schedule: str,
    overlap: str,
    jitter: int,
) -> None:
    store = LoopStore(tmp_path_factory.mktemp("any"))
    scene = Scene(store, stated(schedule=schedule, overlap=overlap, jitter_secs=jitter))
    now = moment("2026-11-18T09:00:00")
    scene.tick(now)
    first, sessions = moment(scene.due().removesuffix("Z")), dict[str, str]()
    for seconds, then in steps:
        now += timedelta(seconds=seconds)
        for start in scene.tick(now).starts:
            known = sessions.setdefault(start.claim.key, start.claim.session)
            assert known == start.claim.session, "an occurrence has run twice"
            assert start.claim.is_resumed or start.claim.due_at <= now
            if then == "release":
                store.release(start.claim)
            elif then != "keep":
                scene.end(start, now, then)
        if store.state(REPO, "sweeper").paused:
            break
        due_at = moment(scene.due().removesuffix("Z"))
        calendar = [first, *scene.loops[0].spec.schedule.between(first, due_at)]
        decided = {key_at(one) for one in calendar if one < due_at}
        rows = scene.statuses()
        assert decided <= rows.keys(), "an occurrence has no row"
        assert {key for key, status in rows.items() if status in ("ran", "running")} == sessions.keys()
    store.close()


# -- the process --


@pytest.mark.anyio
async def test_the_scheduler_in_the_foreground_runs_rounds_and_records_their_ends(file_store: LoopStore) -> None:
    scene = Scene(file_store, stated("good", schedule="every 1s"), stated("bad", schedule="every 1s"))
    ended = anyio.Event()

    async def run_round(loop: StatedLoop, claim: Claim) -> RoundEnd:
        if loop.spec.name == "bad":
            raise ValueError("a fault\nin two lines")
        if len(file_store.strip(REPO, "good")) == 1:
            ended.set()
        return RoundEnd(outcome="reported", usd=0.0)

    with anyio.fail_after(30):
        async with anyio.create_task_group() as group:
            group.start_soon(run_forever, scene.scheduler, run_round, 2)
            await ended.wait()
            group.cancel_scope.cancel()
    assert file_store.strip(REPO, "good")[0] == "reported"
    bad = [row for row in scene.rows("bad") if row.outcome]
    assert (bad[0].outcome, bad[0].reason) == ("failed", "ValueError: a fault in two lines")
    assert any(line.startswith("loop good: round ") and line.endswith(" reported") for line in scene.said)


def started_program(text: str, *arguments: str) -> subprocess.Popen[str]:
    path = os.pathsep.join([str(Path(__file__).parents[1]), os.environ.get("PYTHONPATH", "")])
    words = [sys.executable, "-c", text, *arguments]
    environment = {**os.environ, "PYTHONPATH": path}
    return subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment)


RACER = """
import sys
from datetime import timedelta
from pathlib import Path
from donewhen.loops.loop_store import LoopStore
from loops.scheduler_scene import Scene, moment, stated

store = LoopStore(Path(sys.argv[1]), sys.argv[2])
scene = Scene(store, *(stated(f"l{number}") for number in range(3)))
now = moment("2026-11-18T09:01:00")
scene.tick(now)
print("ready", flush=True)
sys.stdin.readline()
for minute in range(400):
    now += timedelta(minutes=1)
    for start in scene.tick(now).starts:
        print(start.claim.loop, start.claim.key, flush=True)
        scene.end(start, now)
"""


def test_two_schedulers_that_look_at_the_same_loops_run_each_occurrence_once(
    url: str, tmp_path: Path, store: LoopStore
) -> None:
    processes = [started_program(RACER, str(tmp_path), url) for _ in range(2)]
    for process in processes:
        assert process.stdout and process.stdout.readline() == "ready\n"
    ran = [line for process in processes for line in process.communicate("\n")[0].splitlines()]
    assert [process.returncode for process in processes] == [0, 0]
    assert len(ran) == len(set(ran))
    for number in range(3):
        rows = {row.key: row for row in store.history(REPO, f"l{number}", 1000)}
        assert len(rows) == 40
        assert {f"l{number} {row.key}" for row in rows.values() if row.session} == {
            one for one in ran if one.startswith(f"l{number} ")
        }


FOREGROUND = """
import sys
from pathlib import Path
import anyio
from donewhen.loops.loop_store import LoopStore
from donewhen.loops.run_scheduler import run_forever
from loops.scheduler_scene import Scene, stated

scene = Scene(LoopStore(Path(sys.argv[1])), stated(schedule="every 1s"))

async def run_round(loop, claim):
    print("resumed" if claim.is_resumed else "started", claim.session, claim.key, flush=True)
    try:
        await anyio.sleep_forever()
    finally:
        print("cancelled", flush=True)

anyio.run(run_forever, scene.scheduler, run_round, 1)
print("returned", flush=True)
"""


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL])
def test_a_stopped_scheduler_hands_its_round_to_the_next_one(tmp_path: Path, how: signal.Signals) -> None:
    with started_program(FOREGROUND, str(tmp_path)) as first:
        assert first.stdout
        word, *round = first.stdout.readline().split()
        assert word == "started"
        first.send_signal(how)
        rest = first.stdout.read().split()
    assert (rest, first.returncode) == (([], -9) if how == signal.SIGKILL else (["cancelled", "returned"], 0))
    with started_program(FOREGROUND, str(tmp_path)) as second:
        assert second.stdout
        assert second.stdout.readline().split() == ["resumed", *round]
        second.kill()
