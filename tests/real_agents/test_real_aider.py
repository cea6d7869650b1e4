"""aider, for real, against a scripted model. It has no tools: an answer holds whole files and ends the task.

So it has its own case: a command that the model proposes does not run.
"""

import json
import os
from collections.abc import Callable
from pathlib import Path

from real_agents.endings import dead
from real_agents.processes import confined, deaths, marked, waited
from real_agents.scenery import KEY, UNAUTHORIZED, Real, report, stage
from wire_server import Answer, Refuses, Says, Silent

CLI = Real(
    name="aider",
    way="cli",
    program="bin/aider",
    model="openai:scripted",
    key="OPENAI_API_KEY",
    path="/v1",
    write=lambda path, content: (path, {"content": content}),
    shell=lambda command: (command, {}),
    asides=False,
)


def holds(path: str, content: str = "right\n") -> Says:
    """An answer with a file in it."""
    return Says(Answer(text=f"As you wish.\n\n{path}\n```\n{content}```\n"))


def test_a_task_is_done_and_verified(tmp_path: Path) -> None:
    with stage(CLI, tmp_path / "repo", holds("answer.txt")) as here:
        run = here.run()
        assert (run.code, run.last["outcome"]) == (0, "verified"), report(run, here)
        assert here.landed(run, "answer.txt") == "right"
        assert [event["tool"] for event in run.of("tool_call")] == ["edit"]
        assert [event["usage"]["input"] for event in run.of("model_turn")] == [100]
        assert {one.headers["authorization"] for one in here.server.received} == {f"Bearer {KEY}"}


def test_an_agent_leaves_none_of_its_own_files_in_the_tree(tmp_path: Path) -> None:
    with stage(CLI, tmp_path / "repo", holds("answer.txt")) as here:
        run = here.run()
        assert [event["files"] for event in run.of("diff_ready")] == [1], report(run, here)


def test_a_red_contract_is_repaired_in_the_second_round(tmp_path: Path) -> None:
    with stage(CLI, tmp_path / "repo", holds("answer.txt", "left\n"), holds("answer.txt")) as here:
        run = here.run()
        assert (run.code, run.last["outcome"], run.last["iterations"]) == (0, "verified", 2), report(run, here)
        again = here.server.received[1].body
        assert b"say right" in again
        assert b"Earlier work on this task" in again, "it cannot go on with a conversation, and is told the task again"


def test_a_write_outside_the_tree_leaves_no_trace(tmp_path: Path) -> None:
    outside = tmp_path / "outside.txt"
    with stage(CLI, tmp_path / "repo", holds(str(outside)), holds("../outside.txt"), again=True) as here:
        run = here.run("--max-iterations", "1")
        assert (run.code, run.last["outcome"]) == (1, "red"), report(run, here)
        assert not outside.exists()


def test_a_permanently_refused_key_waits_for_a_person(tmp_path: Path) -> None:
    with stage(CLI, tmp_path / "repo", Refuses(401, json.dumps(UNAUTHORIZED).encode()), again=True) as here:
        run = here.run()
        assert run.code == 3, report(run, here)
        assert "sign_in" in [event["kind"] for event in run.of("error")]
        assert KEY not in json.dumps(run.events)


def test_a_denied_command_of_its_model_does_not_run(tmp_path: Path) -> None:
    mark = f"wished-{os.urandom(8).hex()}"
    wish = f"Run this:\n\n```bash\ntouch ran.txt; sleep 5000 {mark}\n```\n"
    with stage(CLI, tmp_path / "repo", Says(Answer(text=wish)), again=True) as here:
        run = here.run("--max-iterations", "1")
        assert (run.code, run.last["outcome"]) == (1, "red"), report(run, here)
        assert [event["files"] for event in run.of("diff_ready")] == [0]
        assert not marked(mark)


def test_an_agent_is_cancelled_while_it_waits_for_its_model(tmp_path: Path, show_table: Callable[[str], None]) -> None:
    with stage(CLI, tmp_path / "repo", Silent()) as here, here.running() as events:
        next(iter(events))
        assert waited(lambda: bool(here.server.received)), "it has not asked its model"
        seen = deaths(confined(events.pid), events.interrupt)
        *_, last = events
        assert (events.code, last["outcome"]) == (130, "cancelled")
        assert seen.secs
        assert not seen.survivors
    show_table(f"{CLI}: cancel: {dead(seen)}, it starts nothing")
