"""The loop store: claims, ends of rounds, pauses, back-off, usage, findings, limits and damage, on both databases."""

import datetime
import os
import subprocess
import sys
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from datetime import UTC, timedelta
from pathlib import Path

import pytest

from donewhen.loops.loop_database import FILE
from donewhen.loops.loop_records import (
    MANUAL,
    SCHEDULE,
    Claim,
    ClaimRefusal,
    Decided,
    Due,
    FindingStatus,
    LoopFinding,
    LoopWork,
    Move,
    OccurrenceStatus,
    RoundEnd,
    WorkStatus,
)
from donewhen.loops.loop_store import ClaimLost, LoopStore, backoff_after

REPO, LOOP = "/repo", "sweeper"
NOW = datetime.datetime(2026, 11, 18, 9, 0, tzinfo=UTC)
HOUR = timedelta(hours=1)
CLAIMER = """
import datetime, sys
from pathlib import Path
from donewhen.loops.loop_store import LoopStore
from donewhen.loops.loop_records import Claim
store = LoopStore(Path(sys.argv[1]), sys.argv[2])
store.state("/repo", "sweeper")
print("ready", flush=True)
sys.stdin.readline()
now = datetime.datetime(2026, 11, 18, 9, 0, tzinfo=datetime.UTC)
for number in range(20):
    got = store.claim("/repo", f"loop{number}", "key", sys.argv[3], "schedule", now, now)
    print("won" if isinstance(got, Claim) else got.name, flush=True)
sys.stdin.readline()
"""


def claimed(store: LoopStore, key: str = "k1", session: str = "s1", trigger: str = SCHEDULE) -> Claim:
    claim = store.claim(REPO, LOOP, key, session, trigger, NOW, NOW)
    assert isinstance(claim, Claim), claim
    return claim


def refused(store: LoopStore, key: str, trigger: str = SCHEDULE) -> ClaimRefusal:
    refusal = store.claim(REPO, LOOP, key, "other", trigger, NOW, NOW)
    assert isinstance(refusal, ClaimRefusal), refusal
    return refusal


def run(store: LoopStore, key: str, outcome: str = "reported", at: datetime.datetime = NOW, **end: object) -> None:
    claim = store.claim(REPO, LOOP, key, f"session-{key}", SCHEDULE, at, at)
    assert isinstance(claim, Claim), claim
    store.finish(claim, RoundEnd(outcome=outcome, **end), at)  # pyright: ignore[reportArgumentType] - fields of the record


def test_an_occurrence_is_claimed_once_and_a_loop_runs_one_round_at_a_time(store: LoopStore) -> None:
    claim = claimed(store)
    assert (refused(store, "k1"), refused(store, "k2")) == (ClaimRefusal.DECIDED, ClaimRefusal.RUNNING)
    assert isinstance(store.claim(REPO, "another", "k1", "s2", SCHEDULE, NOW, NOW), Claim)
    assert isinstance(store.claim("/another", LOOP, "k1", "s3", SCHEDULE, NOW, NOW), Claim)
    store.finish(claim, RoundEnd(outcome="reported"), NOW)
    assert refused(store, "k1") is ClaimRefusal.DECIDED
    assert claimed(store, "k2").attempt == 1


def test_the_row_of_a_round_says_what_it_was_and_what_it_cost(store: LoopStore) -> None:
    claim = claimed(store, trigger="commit:main")
    (row,) = store.history(REPO, LOOP)
    assert (row.status, row.session, row.trigger, row.started_at) == (
        OccurrenceStatus.RUNNING,
        "s1",
        "commit:main",
        NOW,
    )
    end = RoundEnd(outcome="escalated", reason="asks", finding="f1", input_tokens=7, output_tokens=3, usd=0.0215)
    store.finish(claim, end, NOW + HOUR)
    (row,) = store.history(REPO, LOOP)
    assert (row.status, row.outcome, row.reason, row.finding) == (OccurrenceStatus.RAN, "escalated", "asks", "f1")
    assert (row.input_tokens, row.output_tokens, row.usd, row.finished_at) == (7, 3, 0.0215, NOW + HOUR)
    assert store.state(REPO, LOOP).running is None


def claimer(stack: ExitStack, *arguments: str) -> subprocess.Popen[str]:
    """A process that is ready to claim; it is killed at the end."""
    words = [sys.executable, "-c", CLAIMER, *arguments]
    process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    stack.callback(process.communicate)
    stack.callback(process.kill)
    assert line(process) == "ready"
    return process


def line(process: subprocess.Popen[str]) -> str:
    assert process.stdout
    return process.stdout.readline().strip()


def go(process: subprocess.Popen[str]) -> None:
    assert process.stdin
    process.stdin.write("\n")
    process.stdin.flush()


def test_one_of_two_processes_wins_each_claim(url: str, tmp_path: Path) -> None:
    with ExitStack() as stack:
        processes = [claimer(stack, str(tmp_path), url, name) for name in ("one", "two")]
        for process in processes:
            go(process)
        answers = [[line(process) for _ in range(20)] for process in processes]
    for first, second in zip(*answers, strict=True):
        assert {first, second} == {"won", "DECIDED"}


def test_a_killed_process_leaves_an_interrupted_round_that_one_process_takes_over(
    url: str, tmp_path: Path, open_store: Callable[[], LoopStore]
) -> None:
    first, second = open_store(), open_store()
    with ExitStack() as stack:
        process = claimer(stack, str(tmp_path), url, "killed")
        go(process)
        assert [line(process) for _ in range(20)] == ["won"] * 20
        assert first.interrupted(REPO) == []
    (found, *_) = first.interrupted(REPO)
    assert (found.loop, found.key, found.session) == ("loop0", "key", "killed")
    assert first.claim(REPO, "loop0", "next", "s", SCHEDULE, NOW, NOW) is ClaimRefusal.INTERRUPTED
    claim = first.take_over(found)
    assert claim is not None and (claim.session, claim.key, claim.attempt) == ("killed", "key", 2)
    assert second.take_over(found) is None
    first.finish(claim, RoundEnd(outcome="reported"), NOW)
    assert first.take_over(found) is None


def test_a_released_round_is_interrupted_although_its_process_lives(store: LoopStore) -> None:
    claim = claimed(store)
    assert store.interrupted(REPO) == []
    store.release(claim)
    (found,) = store.interrupted(REPO)
    again = store.take_over(found)
    assert again is not None and (again.attempt, again.is_resumed) == (1, True)
    store.finish(again, RoundEnd(outcome="reported"), NOW)
    store.release(again)
    assert store.interrupted(REPO) == []


def test_a_second_end_changes_nothing_and_a_lost_claim_cannot_end(store: LoopStore) -> None:
    claim = claimed(store)
    store.finish(claim, RoundEnd(outcome="reported"), NOW)
    store.finish(claim, RoundEnd(outcome="failed"), NOW)
    assert (store.history(REPO, LOOP)[0].outcome, store.state(REPO, LOOP).failures) == ("reported", 0)
    lost = claimed(store, "k2", "s2")
    store.release(lost)
    with pytest.raises(ClaimLost, match="another process runs the round s2"):
        store.finish(lost, RoundEnd(outcome="reported"), NOW)


def test_failures_wait_longer_each_time_and_the_fifth_pauses_the_loop(store: LoopStore) -> None:
    waits: list[timedelta] = []
    for number in range(4):
        run(store, f"k{number}", "failed", reason="no network")
        until = store.state(REPO, LOOP).backoff_until
        assert until
        waits.append(until - NOW)
    assert waits == [timedelta(minutes=one) for one in (1, 2, 4, 8)]
    run(store, "k4", "failed", reason="no network")
    state = store.state(REPO, LOOP)
    assert (state.paused, state.due_at) == ("5 failures in a row; the last: no network", None)
    assert refused(store, "k5") is ClaimRefusal.PAUSED
    run_by_hand = claimed(store, "k5", trigger=MANUAL)
    store.finish(run_by_hand, RoundEnd(outcome="reported"), NOW)
    assert store.state(REPO, LOOP).failures == 0


def test_the_wait_after_a_failure_is_at_most_six_hours() -> None:
    assert [backoff_after(one) for one in (1, 2, 9)] == [timedelta(minutes=one) for one in (1, 2, 256)]
    assert backoff_after(10) == backoff_after(1_000_000) == 6 * HOUR


def test_a_round_that_a_person_stopped_is_no_failure_and_forgets_none(store: LoopStore) -> None:
    run(store, "k1", outcome="failed")
    before = store.state(REPO, LOOP)
    run(store, "k2", outcome="failed", is_stopped=True)
    after = store.state(REPO, LOOP)
    assert (after.failures, after.backoff_until) == (1, before.backoff_until)


def test_another_outcome_than_failed_forgets_the_failures(store: LoopStore) -> None:
    run(store, "k1", "failed")
    run(store, "k2", "escalated")
    state = store.state(REPO, LOOP)
    assert (state.failures, state.backoff_until) == (0, None)


def test_a_spent_budget_pauses_the_loop_with_its_reason_and_deletes_the_due_time(store: LoopStore) -> None:
    assert store.due_times.decide(REPO, LOOP, (), Move(was_due=None, due_at=NOW + HOUR, schedule="daily"), NOW)
    run(store, "k1", "budget", reason="money: 5.00 of 5.00 USD today")
    state = store.state(REPO, LOOP)
    assert (state.paused, state.due_at) == ("money: 5.00 of 5.00 USD today", None)


def test_a_pause_deletes_the_due_time_and_nothing_moves_it_until_it_ends(store: LoopStore) -> None:
    move = Move(was_due=None, due_at=NOW + HOUR, schedule="daily", seen=(("commit:main", "abc"),))
    assert store.due_times.decide(REPO, LOOP, (), move, NOW)
    store.pause(REPO, LOOP, "too noisy")
    assert (store.state(REPO, LOOP).paused, store.state(REPO, LOOP).due_at) == ("too noisy", None)
    assert store.due_times.seen(REPO, LOOP) == {}
    assert not store.due_times.decide(REPO, LOOP, (), Move(was_due=None, due_at=NOW, schedule="daily"), NOW)
    due = Due(repo=REPO, loop=LOOP, key="k", trigger=SCHEDULE, due_at=NOW, move=move)
    assert store.claim_due(due, "s", NOW) is ClaimRefusal.PAUSED
    store.resume(REPO, LOOP, NOW + 2 * HOUR, "daily")
    state = store.state(REPO, LOOP)
    assert (state.paused, state.due_at, state.failures, state.backoff_until) == ("", NOW + 2 * HOUR, 0, None)


def test_a_claim_writes_what_is_put_together_with_it_and_moves_the_due_time_at_once(store: LoopStore) -> None:
    older = Decided(
        key="old", due_at=NOW, trigger=SCHEDULE, status=OccurrenceStatus.COALESCED, reason="waited", coalesced_into="k"
    )
    move = Move(was_due=None, due_at=NOW + HOUR, schedule="daily")
    due = Due(repo=REPO, loop=LOOP, key="k", trigger=SCHEDULE, due_at=NOW, others=(older,), move=move)
    assert isinstance(store.claim_due(due, "s", NOW), Claim)
    assert [(row.key, row.status, row.coalesced_into) for row in store.history(REPO, LOOP)] == [
        ("k", OccurrenceStatus.RUNNING, ""),
        ("old", OccurrenceStatus.COALESCED, "k"),
    ]
    assert store.state(REPO, LOOP).due_at == NOW + HOUR


def test_a_due_time_that_another_process_has_moved_is_not_moved_again(store: LoopStore) -> None:
    assert store.due_times.decide(REPO, LOOP, (), Move(was_due=None, due_at=NOW, schedule="daily"), NOW)
    stale = Move(was_due=NOW - HOUR, due_at=NOW + HOUR, schedule="daily")
    row = Decided(key="k", due_at=NOW, trigger=SCHEDULE, status=OccurrenceStatus.SKIPPED, reason="")
    assert not store.due_times.decide(REPO, LOOP, (row,), stale, NOW)
    due = Due(repo=REPO, loop=LOOP, key="k", trigger=SCHEDULE, due_at=NOW, move=stale)
    assert store.claim_due(due, "s", NOW) is ClaimRefusal.MOVED
    assert (store.history(REPO, LOOP), store.state(REPO, LOOP).due_at) == ([], NOW)


def test_after_a_clock_was_put_back_only_what_did_not_run_is_due_again(store: LoopStore) -> None:
    move = Move(was_due=None, due_at=NOW + 9 * HOUR, schedule="daily")
    rows = [
        Decided(key="past", due_at=NOW, trigger=SCHEDULE, status=OccurrenceStatus.COALESCED, reason=""),
        Decided(key="future", due_at=NOW + 3 * HOUR, trigger=SCHEDULE, status=OccurrenceStatus.MISSED, reason=""),
        Decided(key="seen", due_at=NOW + 3 * HOUR, trigger="commit:main", status=OccurrenceStatus.SKIPPED, reason=""),
    ]
    assert store.due_times.decide(REPO, LOOP, rows, move, NOW)
    run(store, "ran", at=NOW + 4 * HOUR)
    store.due_times.look(REPO, [LOOP], NOW + 4 * HOUR)
    assert store.state(REPO, LOOP).looked_at == NOW + 4 * HOUR
    store.due_times.put_back(REPO, LOOP, NOW + 2 * HOUR, NOW + HOUR)
    assert {row.key for row in store.history(REPO, LOOP)} == {"past", "seen", "ran"}
    state = store.state(REPO, LOOP)
    assert (state.due_at, state.looked_at) == (NOW + 2 * HOUR, NOW + HOUR)


def test_loops_that_are_gone_lose_their_due_time(store: LoopStore) -> None:
    for loop in ("a", "b", "c"):
        assert store.due_times.decide(REPO, loop, (), Move(was_due=None, due_at=NOW, schedule="daily"), NOW)
    assert store.due_times.keep_only(REPO, {"b"}) == ["a", "c"]
    assert {one.loop: one.due_at for one in store.states(REPO)} == {"a": None, "b": NOW, "c": None}
    assert store.due_times.keep_only(REPO, {"b"}) == []


def test_usage_is_that_of_the_rounds_since_a_moment_or_of_all(store: LoopStore) -> None:
    run(store, "k1", at=NOW - 30 * HOUR, input_tokens=100, output_tokens=10, usd=1.5)
    run(store, "k2", at=NOW - HOUR, input_tokens=20, output_tokens=2, usd=0.25)
    today, everything = store.usage(REPO, LOOP, NOW - 24 * HOUR), store.usage(REPO, LOOP)
    assert (today.input_tokens, today.output_tokens, today.usd) == (20, 2, 0.25)
    assert (everything.input_tokens, everything.output_tokens, everything.usd) == (120, 12, 1.75)
    claimed(store, "k3")
    assert store.usage(REPO, LOOP).usd == 1.75


def test_a_round_with_an_unknown_price_makes_the_sum_unknown_not_smaller(store: LoopStore) -> None:
    run(store, "k1", input_tokens=5, usd=1.0)
    run(store, "k2", input_tokens=5, usd=None)
    assert (store.usage(REPO, LOOP).usd, store.usage(REPO, LOOP).input_tokens) == (None, 10)


def test_old_rows_are_removed_but_their_usage_still_counts(store: LoopStore) -> None:
    for number in range(3):
        run(store, f"old{number}", at=NOW - 80 * HOUR, input_tokens=1, output_tokens=1, usd=2.0)
    kept = claimed(store, "running")
    for number in range(0, 1100, 100):
        skipped = [
            Decided(
                key=f"s{number + one}", due_at=NOW, trigger=SCHEDULE, status=OccurrenceStatus.SKIPPED, reason="busy"
            )
            for one in range(100)
        ]
        store.due_times.decide(REPO, LOOP, skipped, None, NOW)
    rows = store.history(REPO, LOOP, 5000)
    assert len(rows) == 1001
    assert rows[0].key == "s1099" and rows[-1].key == "running"
    assert (store.usage(REPO, LOOP).usd, store.usage(REPO, LOOP).input_tokens) == (6.0, 3)
    store.finish(kept, RoundEnd(outcome="reported", usd=0.5), NOW)
    assert store.usage(REPO, LOOP).usd == 6.5


def test_a_round_of_today_is_kept_above_the_limit_because_a_daily_budget_counts_it(store: LoopStore) -> None:
    run(store, "today", usd=2.0)
    skipped = [
        Decided(key=f"s{one}", due_at=NOW, trigger=SCHEDULE, status=OccurrenceStatus.SKIPPED, reason="")
        for one in range(1100)
    ]
    store.due_times.decide(REPO, LOOP, skipped, None, NOW)
    assert store.usage(REPO, LOOP, NOW - HOUR).usd == 2.0


def test_the_strip_has_the_last_outcomes_the_oldest_first(store: LoopStore) -> None:
    for key, outcome in (("k1", "reported"), ("k2", "failed"), ("k3", "proceeded")):
        run(store, key, outcome)
    row = Decided(key="k4", due_at=NOW, trigger=SCHEDULE, status=OccurrenceStatus.SKIPPED, reason="")
    store.due_times.decide(REPO, LOOP, (row,), None, NOW)
    claimed(store, "k5")
    assert store.strip(REPO, LOOP) == ["reported", "failed", "proceeded"]
    assert store.strip(REPO, LOOP, 2) == ["failed", "proceeded"]


def test_a_finding_has_one_status_and_open_ones_are_listed(store: LoopStore) -> None:
    def put(key: str, status: FindingStatus, reason: str = "", at: datetime.datetime = NOW) -> None:
        store.findings.put(REPO, LOOP, LoopFinding(key=key, status=status, session="s1", reason=reason, at=at))

    assert store.findings.get(REPO, LOOP, "f1") is None
    put("f1", FindingStatus.OPEN)
    put("f2", FindingStatus.OPEN, at=NOW + HOUR)
    assert [one.key for one in store.findings.of_status(REPO, LOOP, FindingStatus.OPEN)] == ["f2", "f1"]
    put("f1", FindingStatus.REFUSED, "a person said no")
    found = store.findings.get(REPO, LOOP, "f1")
    assert found and (found.status, found.reason, found.at) == (FindingStatus.REFUSED, "a person said no", NOW)
    assert store.findings.get(REPO, "another", "f1") is None


def test_the_level_in_force_is_kept(store: LoopStore) -> None:
    assert store.state(REPO, LOOP).level == ""
    store.set_level(REPO, LOOP, "unattended", "a person promoted it", NOW, of_table="abc")
    state = store.state(REPO, LOOP)
    assert (state.level, state.level_reason, state.level_of, state.level_since) == (
        *("unattended", "a person promoted it", "abc"),
        NOW,
    )


def test_the_works_of_a_loop_are_kept_the_newest_first(store: LoopStore) -> None:
    work = LoopWork(
        session="s1", action="branch", onto="main", made="c1", is_verified=True, status=WorkStatus.OPEN, at=NOW
    )
    newer = replace(work, session="s2", at=NOW + HOUR)
    for one in (work, newer, replace(work, status=WorkStatus.KEPT, seen_at="c2")):
        store.works.put(REPO, LOOP, one)
    assert store.works.of_loop(REPO, LOOP) == [newer, replace(work, status=WorkStatus.KEPT, seen_at="c2")]
    assert store.works.of_loop(REPO, "another") == []


def test_a_damaged_file_is_set_aside_with_one_line_and_a_round_still_ends(tmp_path: Path) -> None:
    store = LoopStore(tmp_path)
    claim = claimed(store)
    store.close()
    file = tmp_path / FILE
    content = file.read_bytes()
    file.write_bytes(content[:4096] + os.urandom(len(content) - 4096))
    store.finish(claim, RoundEnd(outcome="reported", usd=1.0), NOW)
    (line,) = store.warnings
    assert line == f"{file} was damaged and is kept as {file}.damaged-1; the loops have no history now and are paused"
    assert [(row.key, row.outcome) for row in store.history(REPO, LOOP)] == [("k1", "reported")]
    # It may have been paused or demoted: only a person lets it run again.
    assert refused(store, "k2") is ClaimRefusal.PAUSED
    assert store.state(REPO, LOOP).paused == f"its records were damaged and are kept as {file}.damaged-1"
    store.resume(REPO, LOOP)
    claimed(store, "k2")
    store.close()
    again = LoopStore(tmp_path)
    assert (len(again.history(REPO, LOOP)), again.warnings) == (2, [])
    again.close()


def test_a_text_that_a_database_refuses_is_stored_as_visible_escapes(store: LoopStore) -> None:
    run(store, "k1", reason="a\0b\udc80")
    assert store.history(REPO, LOOP)[0].reason == "a\\x00b\\udc80"
