"""kill -9 of the daemon, of what works on a session, of both and of the prepared process, in every state of a session.

After that the session ends as an undisturbed one does, and a subscriber that goes on by its cursor has every event
once.
"""

import os
import signal
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from repositories import git
from runs.scenes import Step, say, scene, shell, write
from server.daemon_program import LISTENS, Client, Daemon, Message, has_ended, serving, started
from server.daemon_scenes import rested, start, types
from tiers import sampled

CONTRACT = '[[check]]\nname = "done"\ncommand = "grep -qx right answer.txt"\n'
STEPS: list[Step] = [
    shell("echo once >> trace.txt"),
    write("answer.txt", "left\n"),
    say("done"),
    shell("echo twice >> trace.txt; sed -i s/left/right/ answer.txt"),
    say("done now"),
]
VICTIMS = ("daemon", "call", "both", "prepared")
COUNTED = ("landed", "tool_call", "tool_result", "model_turn", "iteration_started", "session_finished")


def witness(repo: Path, id: str, events: list[Message]) -> dict[str, Any]:
    """Return what must be the same whatever was killed."""
    assert [event["seq"] for event in events] == list(range(1, len(events) + 1))
    kinds, branch = types(events), f"donewhen/{id}"
    last = events[-1]
    return {
        **{key: last[key] for key in ("type", "outcome", "tree", "iterations")},
        **{kind: kinds.count(kind) for kind in COUNTED},
        "tree that landed": git(repo, "rev-parse", f"{branch}^{{tree}}"),
        "commits": git(repo, "rev-list", "--count", f"main..{branch}"),
        "trace": git(repo, "show", f"{branch}:trace.txt"),
    }


def kill(victim: str, daemon: Daemon, session: str) -> None:
    """Kill as the kernel does when memory is short. The owner of a session that is just beginning may not be known."""
    pids = {"daemon": [daemon.pid], "prepared": [daemon.prepared()], "call": [], "both": [daemon.pid]}[victim]
    if victim in ("call", "both"):
        pids += daemon.call_processes()
    for pid in pids:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            assert pid != daemon.pid
    if victim in ("daemon", "both"):
        daemon.wait()


def read_to_the_end(client: Client, events: list[Message]) -> None:
    """Take the events that the connection still has."""
    try:
        while True:
            params = client.notification()["params"]
            events += [params["event"]] if "event" in params else []
    except EOFError:
        return


def killed_at(victim: str, point: int, repo: Path) -> tuple[str, list[Message]]:
    """Kill at an event of a session, start another daemon if it needs one, and return all events of the session."""
    events: list[Message] = []
    with ExitStack() as stack:
        daemon = stack.enter_context(started())
        daemon.wait_for_line(LISTENS)
        with daemon.client() as client:
            id = start(client, repo, STEPS)
            client.ask("session.subscribe", id=id, from_seq=1)
            while len(events) < point:
                params = client.notification()["params"]
                events += [params["event"]] if "event" in params else []
            kill(victim, daemon, id)
            if victim in ("daemon", "both"):
                read_to_the_end(client, events)
            else:
                if victim == "call":
                    more, status = client.until_status(lambda one: not one["live"])
                    events += more
                    if status["state"] != "finished":
                        client.ask("session.resume", id=id)
                        events += client.until_status(has_ended)[0]
                else:
                    events += client.until_status(has_ended)[0]
                daemon.stop()
        if victim in ("daemon", "both"):
            second = stack.enter_context(serving())
            with second.client() as client:
                events += client.follow(id, len(events) + 1)[0]
        daemon.nothing_left()
    return id, events


@pytest.mark.parametrize("victim", VICTIMS)
def test_a_session_ends_as_undisturbed_whatever_is_killed_at_whatever_event(
    victim: str, tmp_path: Path, show_table: Callable[[str], None]
) -> None:
    repo = scene(tmp_path / "repo", {"donewhen.toml": CONTRACT})
    with serving() as daemon, daemon.client() as client:
        id, events, _ = rested(client, repo, STEPS)
    expected = witness(repo, id, events)
    assert (expected["trace"], expected["landed"], expected["commits"]) == ("once\ntwice", 1, "1")
    points = sampled(range(1, len(events) + 1, 3), 2)
    for point in points:
        id, found = killed_at(victim, point, repo)
        assert witness(repo, id, found) == expected, (victim, point, types(found))
    show_table(f"kill -9 of {victim}: at {len(points)} events of a session")
