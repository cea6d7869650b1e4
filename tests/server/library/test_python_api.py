"""Programs that use the Python interface, in process and through a daemon: the same code, the same results."""

import contextlib
import json
import os
import select
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Coroutine, Generator
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import pytest

import donewhen
from donewhen.server.calls.prepared_process import PreparedProcess
from donewhen.session.log.open_archive import any_archive
from repositories import git
from runs.scenes import EXPECTED, RIGHT, call, say, scene, script, write
from server.library.daemon_to_use import a_daemon

CHEAT = [write("expected.txt", "wrong\n"), say("the expectation was wrong")]
ENDLESS = [{"text": "not yet", "delay": 600}]
ASKS = [call("ask_user", prompt="left or right?"), *RIGHT]
Work = Callable[[donewhen.Client], Coroutine[Any, Any, None]]


@pytest.fixture
def repo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The repository in which the program works."""
    repo = scene(tmp_path / "repo")
    monkeypatch.chdir(repo)
    return repo


@pytest.fixture(params=["in process", "through a daemon"])
def everywhere(request: pytest.FixtureRequest, repo: Path) -> Generator[Callable[[Work], None]]:
    """What carries a program out with a client."""
    if request.param == "in process":
        yield partial(with_client, daemon=False)
        return
    with a_daemon():
        yield partial(with_client, daemon=True)


def with_client(work: Work, daemon: bool | None) -> None:
    async def program() -> None:
        async with donewhen.connect(daemon=daemon) as client:
            await work(client)

    anyio.run(program)


def model(repo: Path, steps: object) -> str:
    return script(repo.parent / "script.json", steps)


def test_a_session_is_started_followed_read_and_landed(repo: Path, everywhere: Callable[[Work], None]) -> None:
    async def work(client: donewhen.Client) -> None:
        session = await client.run("say right", model=model(repo, RIGHT), checks={"more": "test -f answer.txt"})
        seen = [event async for event in session.events()]
        assert [event["seq"] for event in seen] == [*range(1, len(seen) + 1)]
        assert (seen[0]["type"], seen[-1]["type"]) == ("session_started", "session_finished")
        result = await session.result()
        assert (result.id, result.outcome, result.exit_code, result.verified) == (session.id, "verified", 0, True)
        assert [event async for event in session.events(from_seq=len(seen))] == seen[-1:]
        assert [one["name"] for one in (await session.details())["contract"]["checks"]] == ["done", "more"]
        assert b"+right" in await session.diff()
        assert (await client.sessions(repo="."))[0]["id"] == session.id
        assert not (await client.check())["green"]
        assert (await session.land(onto="main"))["landed"]
        assert git(repo, "show", "main:answer.txt") == "right"

    everywhere(work)


def test_a_question_is_answered_in_the_loop_over_the_events(repo: Path, everywhere: Callable[[Work], None]) -> None:
    async def work(client: donewhen.Client) -> None:
        session = await client.run("say right", model=model(repo, ASKS))
        async for event in session.events():
            if event["type"] == "question_asked":
                assert event["prompt"] == "left or right?"
                await session.answer("right")
        assert (await session.result()).verified

    everywhere(work)


@pytest.mark.parametrize(("decides", "outcome"), [("approve", "verified"), ("deny", "rejected")])
def test_a_session_that_waits_goes_on_after_a_decision(
    repo: Path, everywhere: Callable[[Work], None], decides: str, outcome: str
) -> None:
    (repo / "donewhen.toml").write_text(EXPECTED)
    (repo / "expected.txt").write_text("right\n")
    git(repo, "add", ".")
    git(repo, "commit", "-q", "-m", "expect")

    async def work(client: donewhen.Client) -> None:
        session = await client.run("say right", model=model(repo, CHEAT))
        waiting = await session.result()
        assert (waiting.outcome, waiting.needs_you["kind"], waiting.exit_code) == ("waiting", "amendment", 3)
        assert [one["session"] for one in await client.inbox()] == [session.id]
        await getattr(session, decides)()
        assert (await session.result()).outcome == outcome
        with pytest.raises(donewhen.CallFailed) as refused:
            await getattr(session, decides)()
        assert refused.value.kind == "already_decided"

    everywhere(work)


def test_a_gate_is_decided_in_the_loop_over_the_events(repo: Path, everywhere: Callable[[Work], None]) -> None:
    (repo / "donewhen.toml").write_text(EXPECTED)
    (repo / "expected.txt").write_text("right\n")
    git(repo, "add", ".")
    git(repo, "commit", "-q", "-m", "expect")

    async def work(client: donewhen.Client) -> None:
        session = await client.run("say right", model=model(repo, CHEAT))
        types: list[str] = []
        async for event in session.events():
            types.append(event["type"])
            if event["type"] == "gate_opened":
                await session.approve()
        assert types[-1] == "session_finished"
        assert (await session.result()).verified

    everywhere(work)


def test_a_session_is_cancelled_and_others_go_on_meanwhile(repo: Path, everywhere: Callable[[Work], None]) -> None:
    async def work(client: donewhen.Client) -> None:
        endless = await client.run("wait", model=model(repo, ENDLESS))
        other = script(repo.parent / "other.json", RIGHT)
        session = await client.run("say right", model=other)
        assert (await session.result()).verified
        assert (await endless.cancel())["line"] == "cancelled"
        assert (await endless.result()).outcome == "cancelled"

    everywhere(work)


def test_an_error_has_a_kind_an_exit_code_and_one_line(repo: Path, everywhere: Callable[[Work], None]) -> None:
    async def work(client: donewhen.Client) -> None:
        absent = client.session("nosuchid")
        for refused in (absent.details, absent.approve, absent.diff, absent.result):
            with pytest.raises(donewhen.CallFailed, match="there is no session 'nosuchid'") as error:
                await refused()
            assert (error.value.kind, error.value.exit_code) == ("bad_input", 2)
        with pytest.raises(donewhen.CallFailed, match="nonsense") as error:
            await client.call("session.get", nonsense=1)
        assert error.value.kind == "invalid_params"
        with pytest.raises(donewhen.CallFailed) as error:
            await client.call("no.such")
        assert error.value.kind == "method_not_found"
        with pytest.raises(donewhen.CallFailed) as error:
            await client.run("say right", model="nobody:x")
        assert (error.value.kind, "\n" in str(error.value)) == ("bad_input", False)

    everywhere(work)


def test_an_error_of_the_program_leaves_the_block_as_it_is(repo: Path, everywhere: Callable[[Work], None]) -> None:
    async def work(client: donewhen.Client) -> None:
        del client
        raise LookupError("of the program")

    with pytest.raises(LookupError, match="of the program"):
        everywhere(work)


def test_a_daemon_is_used_if_one_runs_and_only_then(repo: Path) -> None:
    async def work(client: donewhen.Client) -> None:
        await client.run("wait", model=model(repo, ENDLESS))

    async def look_and_cancel(client: donewhen.Client) -> None:
        (entry,) = await client.sessions()
        found.append(entry["live"])
        await client.session(entry["id"]).cancel()

    found: list[bool] = []
    with pytest.raises(donewhen.CallFailed, match="no daemon is running"):
        with_client(work, daemon=True)
    with a_daemon():
        with_client(work, daemon=None)
        with_client(look_and_cancel, daemon=None)
    assert found == [True]  # it went on in the daemon


def test_sessions_that_still_work_are_cancelled_when_the_block_ends_in_process(repo: Path) -> None:
    async def work(client: donewhen.Client) -> None:
        started.append((await client.run("wait", model=model(repo, ENDLESS))).id)

    started: list[str] = []
    with_client(work, daemon=None)
    with any_archive() as archive:
        (row,) = archive.sessions()
        assert (row.id, row.outcome) == (started[0], "cancelled")
        assert archive.owner(row.id) is None


def test_a_program_with_threads_and_a_running_loop_gets_a_process_that_has_neither(repo: Path) -> None:
    """The lock that a thread holds would be held for ever in a fork of this process."""
    held, leave = threading.Lock(), threading.Event()

    def hold() -> None:
        with held:
            leave.wait()

    async def program() -> None:
        prepared = PreparedProcess.start()
        try:
            with prepared.begin_call() as line, line.makefile() as messages:
                assert json.loads(messages.readline())["pid"] != prepared.pid
            tasks = os.listdir(f"/proc/{prepared.pid}/task")
            command = Path(f"/proc/{prepared.pid}/cmdline").read_bytes().split(b"\0")
            assert (len(tasks), command[1]) == (1, b"-I")
        finally:
            prepared.close()
        async with donewhen.connect(daemon=False) as client:
            session = await client.run("say right", model=model(repo, RIGHT))
            assert (await session.result()).verified

    thread = threading.Thread(target=hold)
    thread.start()
    try:
        anyio.run(program)
    finally:
        leave.set()
        thread.join()


def test_several_clients_work_side_by_side_in_one_loop_and_in_threads(repo: Path) -> None:
    def in_thread(name: str) -> None:
        async def work(client: donewhen.Client) -> None:
            session = await client.run("say right", model=script(repo.parent / f"{name}.json", RIGHT))
            found[name] = (await session.result()).outcome

        with_client(work, daemon=False)

    found: dict[str, str] = {}
    threads = [threading.Thread(target=in_thread, args=(name,)) for name in ("a", "b")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == {"a": "verified", "b": "verified"}


def test_a_program_that_has_forked_leaves_its_block_and_needs_not_wait_for_the_fork(repo: Path) -> None:
    text = (
        "import anyio, os, signal, sys, donewhen\n"
        "async def main():\n"
        "    async with donewhen.connect(daemon=False) as client:\n"
        "        session = await client.run('say right', model=sys.argv[1])\n"
        "        os.fork() or signal.pause()\n"  # it holds a copy of every socket
        "        print((await session.result()).outcome)\n"
        "anyio.run(main)\n"
        "print('left', flush=True)\n"
    )
    command = [sys.executable, "-c", text, model(repo, RIGHT)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True) as program:
        try:
            assert program.stdout is not None
            assert [program.stdout.readline() for _ in range(2)] == ["verified\n", "left\n"]
            assert program.wait() == 0
        finally:
            os.killpg(program.pid, signal.SIGKILL)


@pytest.mark.parametrize("forks", ["", "os.fork() or signal.pause()"], ids=["alone", "with a fork"])
def test_a_program_that_is_killed_leaves_nothing_that_works(repo: Path, forks: str) -> None:
    text = (
        "import anyio, os, signal, sys, donewhen\n"
        "async def main():\n"
        "    async with donewhen.connect(daemon=False) as client:\n"
        "        session = await client.run('wait', model=sys.argv[1])\n"
        f"        {forks}\n"
        "        print(session.id, os.getpid(), flush=True)\n"
        "        await session.result()\n"
        "anyio.run(main)\n"
    )
    command = [sys.executable, "-c", text, model(repo, ENDLESS)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True) as program:
        assert program.stdout is not None
        id = program.stdout.readline().split()[0]
        with any_archive() as archive:
            owner = archive.owner(id)
        assert owner is not None
        worker = os.pidfd_open(owner.pid)
        program.send_signal(signal.SIGKILL)
    try:
        assert select.select([worker], [], [], 60)[0]
    finally:
        os.close(worker)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(program.pid, signal.SIGKILL)


def test_a_program_without_an_event_loop_waits_for_one_session(repo: Path) -> None:
    result = donewhen.run("say right", model=model(repo, RIGHT), land="none")
    assert (result.outcome, result.needs_you["kind"]) == ("verified", "none")


@pytest.mark.usefixtures("everywhere")
def test_lines_for_a_person_are_heard(repo: Path) -> None:
    (repo / "answer.txt").write_text("changed\n")

    async def program() -> None:
        async with donewhen.connect(say=heard.append) as client:
            session = await client.run("say right", model=model(repo, RIGHT))
            await session.result()

    heard: list[str] = []
    anyio.run(program)
    assert any("answer.txt" in line for line in heard), json.dumps(heard)
