"""Conversations that are loaded again, editors that leave or die, and a daemon that outlives them."""

import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest
from acp.exceptions import RequestError

from program import PROGRAM
from runs.scenes import RIGHT, run_verb, scene, script, shell
from server.acp.editors import Person, Update, editor, kill, new_mark, processes, started, until
from server.in_a_loop import in_a_loop


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    return scene(tmp_path / "repo")


@pytest.fixture
def mark() -> Iterator[str]:
    mark = new_mark()
    yield mark
    kill(processes(mark))


def scripted(repo: Path, steps: object) -> tuple[str, str]:
    return "--model", script(repo.parent / "script.json", steps)


def sleeping(repo: Path, mark: str) -> tuple[str, str]:
    return scripted(repo, [shell(f"sleep {mark}"), *RIGHT])


def outcome(repo: Path) -> str | None:
    """Return the outcome of the only session."""
    (line,) = run_verb(repo, "list", "--json").out.splitlines()
    return json.loads(line)["outcome"]


def replayed(person: Person) -> list[Update]:
    """Return what is shown again when a conversation is loaded."""
    live = ("available_commands_update", "user_message_chunk")
    return [one for one in person.shown if one["sessionUpdate"] not in live]


@in_a_loop
async def test_a_loaded_conversation_shows_what_the_live_one_showed(repo: Path) -> None:
    live, again = Person(), Person()
    async with editor(live, repo, *scripted(repo, RIGHT)) as at:
        await at.prompt("say right")
        await at.prompt("/land nowhere")
        await at.prompt("and more")
    async with editor(again, repo, *scripted(repo, RIGHT), load=at.conversation):
        pass
    assert replayed(again) == replayed(live)
    said = [one["content"]["text"] for one in again.of("user_message_chunk")]
    assert said == ["say right\n\n", "/land nowhere\n\n", "and more\n\n"]


@in_a_loop
async def test_a_loaded_conversation_goes_on(repo: Path) -> None:
    steps = [{"tool": {"name": "ask_user", "input": {"prompt": "which one?"}}}, *RIGHT]
    person = Person()
    async with editor(Person(), repo, *scripted(repo, steps)) as at:
        assert await at.prompt("say right") == "end_turn"
    async with editor(person, repo, *scripted(repo, steps), load=at.conversation) as again:
        assert "**Question:** which one?" in person.text
        assert await again.prompt("/resume") == "end_turn"
        if "**verified**" not in person.text:
            assert await again.prompt("this one") == "end_turn"
    assert "**verified**" in person.text


@in_a_loop
async def test_conversations_are_listed_and_closed(repo: Path, tmp_path: Path) -> None:
    async with started(Person(), *scripted(repo, RIGHT)) as (connection, _):
        first = (await connection.new_session(cwd=str(repo), mcp_servers=[])).session_id
        await connection.new_session(cwd=str(tmp_path), mcp_servers=[])
        await connection.prompt(session_id=first, prompt=[{"type": "text", "text": "/resume"}])
        listed = (await connection.list_sessions()).sessions
        assert [(one.session_id, one.cwd, one.title) for one in listed] == [(first, str(repo), "/resume")]
        assert (await connection.list_sessions(cwd=str(tmp_path))).sessions == []
        await connection.close_session(session_id=first)
        with pytest.raises(RequestError, match="load it first"):
            await connection.prompt(session_id=first, prompt=[{"type": "text", "text": "more"}])
        await connection.resume_session(cwd=str(repo), session_id=first, mcp_servers=[])
        await connection.prompt(session_id=first, prompt=[{"type": "text", "text": "/resume"}])


@in_a_loop
async def test_choices_count_for_the_next_session_and_are_kept(repo: Path) -> None:
    one, two = script(repo.parent / "one.json", RIGHT), script(repo.parent / "two.json", RIGHT)
    async with editor(Person(), repo, "--model", one, "--model", two, "--engine", "native") as at:
        options = {each.id: each for each in (await at.choose("model", two)).config_options}
        assert {id: each.current_value for id, each in options.items()} == {
            "engine": "native", "model": two, "green": "as-set", "uncommitted": "leave-out",
        }  # fmt: skip
        for option, value in (("model", "another"), ("no-such", "x")):
            with pytest.raises(RequestError, match="no such option"):
                await at.choose(option, value)
        await at.prompt("say right")
    (line,) = run_verb(repo, "list", "--json").out.splitlines()
    assert json.loads(run_verb(repo, "show", json.loads(line)["id"], "--json").out)["model"] == two
    async with started(Person(), "--model", one, "--model", two) as (connection, _):
        loaded = await connection.load_session(cwd=str(repo), session_id=at.conversation, mcp_servers=[])
    assert {each.id: each.current_value for each in loaded.config_options}["model"] == two


# -- editors that leave --


@in_a_loop
async def test_what_works_for_an_editor_that_leaves_is_cancelled(repo: Path, mark: str) -> None:
    async with (
        editor(Person(), repo, *sleeping(repo, mark)) as at,
        anyio.create_task_group() as tasks,
    ):
        tasks.start_soon(unanswered, at, "say right")
        await until(lambda: processes(mark))
        assert at.process.stdin is not None
        at.process.stdin.close()
        assert await at.process.wait() == 0
        assert processes(mark) == []
    assert outcome(repo) == "cancelled"


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL])
@in_a_loop
async def test_what_works_for_an_agent_that_is_killed_is_cancelled(repo: Path, mark: str, how: signal.Signals) -> None:
    async with (
        editor(Person(), repo, *sleeping(repo, mark)) as at,
        anyio.create_task_group() as tasks,
    ):
        tasks.start_soon(unanswered, at, "say right")
        await until(lambda: processes(mark))
        at.process.send_signal(how)
        await at.process.wait()
        await until(lambda: not processes(mark))
    await until(lambda: outcome(repo) == "cancelled")


async def unanswered(at: Any, text: str) -> None:
    """Send a prompt to an agent that ends before it answers."""
    with contextlib.suppress(ConnectionError, RequestError):
        await at.prompt(text)


@in_a_loop
async def test_cancelled_work_of_an_editor_that_left_is_resumed_in_the_next_one(repo: Path, mark: str) -> None:
    async with (
        editor(Person(), repo, *sleeping(repo, mark)) as at,
        anyio.create_task_group() as tasks,
    ):
        tasks.start_soon(unanswered, at, "say right")
        await until(lambda: processes(mark))
        assert at.process.stdin is not None
        at.process.stdin.close()
        await at.process.wait()
    person = Person()
    async with editor(person, repo, *sleeping(repo, mark), load=at.conversation) as again:
        assert "**cancelled**" in person.text
        assert await again.prompt("/resume") == "end_turn"
    assert "**verified**" in person.text


# -- with a daemon --


@pytest.fixture
def daemon() -> Iterator[subprocess.Popen[str]]:
    with serving() as process:
        yield process


@contextlib.contextmanager
def serving() -> Generator[subprocess.Popen[str]]:
    """Run a daemon of this user. It has begun when it says that it listens."""
    process = subprocess.Popen(
        [PROGRAM, "serve", "--no-board", "--port", "0"], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    )
    assert process.stderr is not None
    assert any("listens" in line for line in process.stderr)
    yield process
    process.send_signal(signal.SIGINT)
    sys.stderr.write(process.communicate(timeout=30)[1])


@in_a_loop
async def test_with_a_daemon_the_work_survives_the_editor(daemon: subprocess.Popen[str], repo: Path, mark: str) -> None:
    steps = [shell(f"test -e {repo.parent}/go || sleep {mark}"), *RIGHT]
    del daemon
    async with editor(Person(), repo, *scripted(repo, steps)) as at, anyio.create_task_group() as tasks:
        tasks.start_soon(unanswered, at, "say right")
        await until(lambda: processes(mark))
        assert at.process.stdin is not None
        at.process.stdin.close()
        assert await at.process.wait() == 0
    person = Person()
    async with editor(person, repo, *scripted(repo, steps), load=at.conversation) as again:
        assert "It still works" in person.text
        await again.cancel()
        await until(lambda: not processes(mark))
        assert await again.prompt("/resume") == "end_turn"
    assert "**verified**" in person.text
    assert person.text.count("starts from commit") == 1


@in_a_loop
async def test_with_a_daemon_decisions_and_questions_are_the_same(daemon: subprocess.Popen[str], repo: Path) -> None:
    del daemon
    steps = [{"tool": {"name": "ask_user", "input": {"prompt": "which one?"}}}, *RIGHT]
    person = Person()
    async with editor(person, repo, *scripted(repo, steps)) as at:
        assert await at.prompt("say right") == "end_turn"
        assert await at.prompt("this one") == "end_turn"
    assert "Answered: this one" in person.text
    assert "**verified**" in person.text
    assert person.tools["check done: pass"]["status"] == "completed"


@in_a_loop
async def test_a_daemon_that_dies_is_said_and_the_next_one_is_used(daemon: subprocess.Popen[str], repo: Path) -> None:
    person = Person()
    async with editor(person, repo, *scripted(repo, RIGHT)) as at:
        os.kill(daemon.pid, signal.SIGKILL)
        daemon.wait()
        assert await at.prompt("say right") == "end_turn"
        assert "no daemon is running" in person.text
        with serving():
            assert await at.prompt("say right") == "end_turn"
    assert "**verified**" in person.text
