"""Sessions for tests of the daemon: repositories, scripted models, and sessions that wait at a chosen place."""

from pathlib import Path
from typing import Any

from runs.scenes import EXPECTED, RIGHT, Step, call, say, scene, script, write
from server.daemon_program import Client, Message

CHEAT = [write("expected.txt", "wrong\n"), say("the expectation was wrong")]
ASKS: list[Step] = [call("ask_user", prompt="which one?"), *RIGHT]
HOURS = 3600.0
"""The delay of a model whose turn does not come."""
STUCK: list[Step] = [{**RIGHT[0], "delay": HOURS}, RIGHT[1]]


def start(client: Client, repo: Path, steps: object = RIGHT, **options: Any) -> str:
    """Start a session with a scripted model and return its id."""
    model = script(repo.parent / f"{repo.name}.json", steps)
    return str(
        client.ask("session.start", **{"intent": "say right", "repo": str(repo), "model": model, **options})["id"]
    )


def rested(client: Client, repo: Path, steps: object = RIGHT, **options: Any) -> tuple[str, list[Message], Message]:
    """Start a session and follow it until it has ended or waits. Return its id, events and status."""
    id = start(client, repo, steps, **options)
    return (id, *client.follow(id))


def guarded(place: Path) -> Path:
    """Make a repository whose contract compares with a protected file."""
    return scene(place, {"donewhen.toml": EXPECTED, "expected.txt": "right\n"})


def bare(place: Path) -> Path:
    """Make a repository without a contract, for which one can be proposed."""
    return scene(place, {"Makefile": "test:\n\tgrep -qx right answer.txt\n", "donewhen.toml": ""})


def types(events: list[Message]) -> list[str]:
    return [event["type"] for event in events]


def wait_for_event(client: Client, type: str) -> Message:
    """Read a subscription until an event of this type."""
    while True:
        message = client.notification()
        if message["method"].endswith(".event") and message["params"]["event"]["type"] == type:
            return dict(message["params"]["event"])
