"""kill -9 while a session waits for a person or a round of a loop runs: afterwards everything can be decided."""

import os
import signal
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from loops.loop_scene import DONE, FIX, LoopScene, loop
from repositories import git
from runs.scenes import RIGHT, Step, scene
from server.daemon_program import LISTENS, eventually, has_ended, rests, serving, started
from server.daemon_scenes import ASKS, CHEAT, bare, guarded, rested, start, types, wait_for_event

HOURS = 3600.0


def landing(place: Path) -> Path:
    repo = scene(place)
    git(repo, "branch", "donewhen")  # a branch of this name blocks donewhen/ID
    return repo


GATES: dict[str, tuple[Callable[[Path], Path], list[Step], dict[str, Any], str]] = {
    "amendment": (guarded, CHEAT, {"max_iterations": 1}, "rejected"),
    "contract": (bare, RIGHT, {}, "rejected"),
    "landing": (landing, RIGHT, {}, "rejected"),
}


@pytest.mark.sample(1)
@pytest.mark.parametrize("kind", GATES)
def test_a_gate_that_waits_is_decided_after_kill_9(kind: str, tmp_path: Path) -> None:
    make, steps, options, outcome = GATES[kind]
    with started() as daemon:
        daemon.wait_for_line(LISTENS)
        with daemon.client() as client:
            id, events, status = rested(client, make(tmp_path / "repo"), steps, **options)
            assert status["needs_you"]["kind"] == kind
        daemon.kill()
        with serving() as second, second.client() as client:
            client.ask("session.subscribe", id=id, from_seq=len(events) + 1)
            _, status = client.until_status(rests)
            assert (status["needs_you"]["kind"], status["live"]) == (kind, False)
            client.ask("session.deny", id=id)
            more, status = client.until_status(has_ended)
            assert [event["seq"] for event in more] == [*range(len(events) + 1, status["next_seq"])]
            assert (types(more).count("gate_decided"), status["needs_you"]["kind"]) == (1, "none")
            assert status["outcome"] in (outcome, "cancelled", "no_change")
        daemon.nothing_left()


def test_a_decision_that_was_made_and_not_carried_out_is_carried_out_by_the_next_daemon(tmp_path: Path) -> None:
    from donewhen.server.methods.session_decisions import session_deny

    with started() as daemon:
        daemon.wait_for_line(LISTENS)
        with daemon.client() as client:
            id, events, _ = rested(client, guarded(tmp_path / "repo"), CHEAT, max_iterations=1)
        daemon.kill()
        assert not session_deny(id)["live"]  # as a process does that is killed before it goes on with the session
        with serving() as second, second.client() as client:
            client.ask("session.subscribe", id=id, from_seq=len(events) + 1)
            more, status = client.until_status(has_ended)
            assert (status["outcome"], types(more).count("gate_decided")) == ("rejected", 1)


@pytest.mark.parametrize("victim", ["daemon", "both"])
def test_a_question_is_answered_after_kill_9(victim: str, tmp_path: Path) -> None:
    with started() as daemon:
        daemon.wait_for_line(LISTENS)
        with daemon.client() as client:
            id = start(client, scene(tmp_path / "repo"), ASKS)
            client.ask("session.subscribe", id=id, from_seq=1)
            asked = wait_for_event(client, "question_asked")
            owner = daemon.owner(id)
        if victim == "both":
            os.kill(owner, signal.SIGKILL)
        daemon.kill()
        with serving() as second, second.client() as client:
            client.ask("session.subscribe", id=id, from_seq=asked["seq"])
            _, status = client.until_status(lambda one: one["needs_you"]["kind"] == "question" and one["live"])
            assert (daemon.owner(id) == owner) is (victim == "daemon")
            client.ask("session.answer", id=id, text="the left one")
            more, status = client.until_status(has_ended)
            assert (types(more).count("question_answered"), status["outcome"]) == (1, "verified")
        daemon.nothing_left()


# -- loops --


@pytest.mark.parametrize("victim", ["both", "call"])
@pytest.mark.sample(1)
def test_a_round_that_was_killed_ends_once_as_an_undisturbed_one(victim: str, tmp_path: Path) -> None:
    there = LoopScene.made(tmp_path, loop())
    there.script(maker=({**FIX, "delay": HOURS}, DONE))
    with ExitStack() as stack:
        daemon = stack.enter_context(started())
        daemon.wait_for_line(LISTENS)
        with daemon.client() as client:
            id = str(client.ask("loop.run", name="fixer", repo=str(there.root))["id"])
            client.ask("session.subscribe", id=id, from_seq=1)
            wait_for_event(client, "iteration_started")
            os.kill(daemon.owner(id), signal.SIGKILL)
            client.until_status(lambda one: not one["live"])
            there.script()
            if victim == "call":
                client.ask("session.resume", id=id)
        if victim == "both":
            daemon.kill()
            daemon = stack.enter_context(serving())  # its scheduler goes on with the round
        with daemon.client() as client:
            client.ask("session.subscribe", id=id, from_seq=1)
            events, _ = client.until_status(lambda one: one["needs_you"]["kind"] == "loop_action" and not one["live"])
            assert [event["seq"] for event in events] == list(range(1, len(events) + 1))
            assert types(events).count("round_finished") == 1
            if victim == "both":
                where = {"repo": str(there.root)}
                (round_,) = eventually(lambda: [one for one in client.ask("loop.history", **where) if one["outcome"]])
                assert (round_["session"], round_["outcome"]) == (id, "escalated")


def test_rounds_of_loops_that_are_due_count_as_places(tmp_path: Path) -> None:
    names = ("one", "two", "three")
    there = LoopScene.made(tmp_path, *(loop(name, schedule="every 1h", action="none") for name in names))
    there.script(maker=({**FIX, "delay": HOURS}, DONE))
    make_due(there, names)
    with serving("--places", "1") as daemon, daemon.client() as client:
        client.ask("board.subscribe", **{"from": 0})
        first = str(wait_for_event(client, "iteration_started")["session"])
        rows = eventually(lambda: found if len(found := client.ask("session.list")) == 2 else [])
        (waits,) = [row for row in rows if row["id"] != first]
        assert (waits["state"], waits["live"]) == ("created", True)
        other = start(client, scene(tmp_path / "other"))
        assert client.ask("session.get", id=other)["state"] == "created"
        there.script()
        for id in (first, str(waits["id"])):
            client.ask("session.cancel", id=id)
        with daemon.client() as reader:
            assert reader.follow(other)[1]["outcome"] == "verified"


def test_a_round_is_given_up_when_the_daemon_stops_and_counts_as_no_attempt(tmp_path: Path) -> None:
    there = LoopScene.made(tmp_path, loop("one", schedule="every 1h", action="none"))
    there.script(maker=({**FIX, "delay": HOURS}, DONE))
    make_due(there, ("one",))
    with serving() as daemon:
        with daemon.client() as client:
            client.ask("board.subscribe", **{"from": 0})
            id = str(wait_for_event(client, "iteration_started")["session"])
        daemon.signal(signal.SIGINT)
        assert daemon.wait() == 0
        assert f"stopped; round {id} goes on at the next start" in daemon.log
        assert "ended without a result" not in daemon.log
        daemon.nothing_left()


def make_due(there: LoopScene, names: tuple[str, ...]) -> None:
    """Let the schedule of loops be a moment in the past, as if the daemon had been away."""
    import datetime
    from contextlib import closing

    from donewhen.loops.loop_records import repo_key
    from donewhen.loops.loop_store import LoopStore
    from donewhen.workspace.state_dir import state_root

    with serving() as daemon:  # it sets the first due times
        daemon.wait_for_line("the loops of")

        def states() -> int:
            with closing(LoopStore(state_root(os.environ))) as store:
                return len([one for one in store.states(repo_key(there.root)) if one.due_at])

        eventually(lambda: states() == len(names))
    now = datetime.datetime.now(datetime.UTC)
    with closing(LoopStore(state_root(os.environ))) as store:
        for name in names:
            store.due_times.put_back(repo_key(there.root), name, now - datetime.timedelta(minutes=1), now)
