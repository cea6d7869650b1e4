"""Loops that a Python program states: its callables decide about real rounds, and carry real work out."""

import json
import os
import socket
from collections.abc import Callable, Coroutine, Generator
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import pytest

import donewhen
from donewhen.workspace.state_dir import state_root
from loops.loop_scene import DONE, FIX, LoopScene, loop, opinion
from server.library.daemon_to_use import a_daemon
from server.openrpc.described import misfits

BROKEN = {"tool": {"name": "edit_file", "input": {"path": "calc.py", "old": "a - b", "new": "a * b + 1"}}}
Work = Callable[[donewhen.Client], Coroutine[Any, Any, None]]


@pytest.fixture
def there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> LoopScene:
    scene = LoopScene.made(tmp_path)
    monkeypatch.chdir(scene.root)
    return scene


@pytest.fixture(params=["in process", "through a daemon"])
def everywhere(request: pytest.FixtureRequest, there: LoopScene) -> Generator[Callable[[Work], None]]:
    if request.param == "in process":
        yield partial(with_client, daemon=False)
        return
    with a_daemon():
        yield partial(with_client, daemon=True)


def with_client(work: Work, daemon: bool) -> None:
    async def program() -> None:
        async with donewhen.connect(daemon=daemon) as client:
            await work(client)

    anyio.run(program)


class Seen:
    """Callables that keep what they get."""

    def __init__(self, answer: bool | None) -> None:
        self.answer = answer
        self.proposals: list[Any] = []
        self.carried_out: list[tuple[Any, str]] = []

    def gate(self, proposal: Any) -> bool | None:
        self.proposals.append(proposal)
        return self.answer

    async def action(self, proposal: Any, checkout: Path) -> str:
        self.carried_out.append((proposal, (checkout / "calc.py").read_text()))
        return "published"


def test_the_action_gets_exactly_the_work_that_the_gate_approved(everywhere: Callable[[Work], None]) -> None:
    async def work(client: donewhen.Client) -> None:
        async with client.loop("fixer", "keep main green", gate=seen.gate, action=seen.action) as fixer:
            report = await fixer.run()
        assert (report.outcome, report.decision, report.waits) == ("proceeded", "approved", False)
        assert report.action is not None and report.action["output"] == "published\n"

    seen = Seen(True)
    everywhere(work)
    (proposal,) = seen.proposals
    assert (proposal["loop"], proposal["verified"], proposal["paths"]) == ("fixer", True, ["calc.py"])
    assert (proposal["insertions"], proposal["deletions"], proposal["reason"]) == (
        1,
        1,
        "the level is assisted: a person decides",
    )
    assert seen.carried_out == [(proposal, "def add(a, b):\n    return a + b\n")]


def test_the_gate_reads_what_a_gate_program_reads(there: LoopScene) -> None:
    """The same proposal, except for the session and what differs by the level."""
    program = there.root.parent / "gate.json"
    there.state(loop("filed", level="unattended", gate=f"command:cat >{program}; echo escalate"))
    assert there.run("filed")[0] == 3
    there.script()

    async def work(client: donewhen.Client) -> None:
        async with client.loop("coded", "keep main green", gate=seen.gate, action="branch") as coded:
            assert (await coded.run()).outcome == "proceeded"

    seen = Seen(True)
    with_client(work, daemon=False)
    (proposal,) = seen.proposals
    assert misfits("loop.proposal", proposal) == []
    differ = {"loop", "session", "level", "finding"}
    assert {key: value for key, value in json.loads(program.read_text()).items() if key not in differ} == {
        key: value for key, value in proposal.items() if key not in {*differ, "reason"}
    }


def test_work_that_the_gate_denies_is_not_carried_out(there: LoopScene, everywhere: Callable[[Work], None]) -> None:
    async def work(client: donewhen.Client) -> None:
        async with client.loop("fixer", "keep main green", gate=seen.gate, action=seen.action) as fixer:
            report = await fixer.run()
            assert (report.outcome, report.decision, report.waits) == ("escalated", "denied", False)
            there.script()
            assert (await fixer.run()).outcome == "skipped"  # the same finding was refused

    seen = Seen(False)
    everywhere(work)
    assert (len(seen.proposals), seen.carried_out) == (1, [])
    assert there.branches() == ["main"]


def test_what_the_gate_leaves_open_waits_for_a_person_and_the_action_follows(
    there: LoopScene, everywhere: Callable[[Work], None]
) -> None:
    async def work(client: donewhen.Client) -> None:
        async with client.loop("fixer", "keep main green", gate=seen.gate, action=seen.action) as fixer:
            report = await fixer.run()
            assert (report.outcome, report.waits, seen.carried_out) == ("escalated", True, [])
            assert [one["session"] for one in await client.inbox()] == [report.session]
            answer = await anyio.to_thread.run_sync(there, "approve", report.session)
            assert answer.code == 0, answer.err

    seen = Seen(None)
    everywhere(work)
    assert [text for _, text in seen.carried_out] == ["def add(a, b):\n    return a + b\n"]


def test_work_that_is_red_is_not_carried_out_although_the_gate_approves(there: LoopScene) -> None:
    there.script(maker=(BROKEN, DONE), checker=(opinion("refuted"),))

    async def work(client: donewhen.Client) -> None:
        async with client.loop("fixer", "keep main green", gate=seen.gate, action=seen.action) as fixer:
            report = await fixer.run()
            assert report.outcome != "proceeded"

    seen = Seen(True)
    with_client(work, daemon=False)
    assert seen.carried_out == [] and all(not one["verified"] for one in seen.proposals)


def test_an_action_that_raises_is_a_failed_round_with_the_reason(everywhere: Callable[[Work], None]) -> None:
    def action(proposal: Any, checkout: Path) -> None:
        raise LookupError("no\nsuch place")

    async def work(client: donewhen.Client) -> None:
        async with client.loop("fixer", "keep main green", gate=lambda _: True, action=action) as fixer:
            report = await fixer.run()
        assert (report.outcome, report.action) == ("failed", None)
        errors = [one async for one in client.session(report.session).events() if one["type"] == "error"]
        assert errors[-1]["message"].endswith("LookupError: no such place")

    everywhere(work)


def test_an_approval_after_the_program_has_left_its_loop_fails_and_can_be_repeated(there: LoopScene) -> None:
    async def leave(client: donewhen.Client) -> None:
        async with client.loop("fixer", "keep main green", gate=seen.gate, action=seen.action) as fixer:
            sessions.append((await fixer.run()).session)

    async def come_back(client: donewhen.Client) -> None:
        async with client.loop("fixer", "keep main green", gate=seen.gate, action=seen.action):
            session = client.session(sessions[0])
            await session.resume()
            assert (await session.result()).needs_you["kind"] == "loop_action"  # a person decides about repeating it
            await session.approve()
            assert (await session.result()).verified

    seen, sessions = Seen(None), list[str]()
    with_client(leave, daemon=False)
    answer = there("approve", sessions[0])
    assert (answer.code, "the program that states this loop does not run" in answer.out + answer.err) == (4, True)
    assert seen.carried_out == []
    with_client(come_back, daemon=False)
    assert len(seen.carried_out) == 1


def test_a_loop_in_code_is_refused_like_one_in_a_file(there: LoopScene) -> None:
    there.state(loop("stated"))

    async def work(client: donewhen.Client) -> None:
        wrong: tuple[tuple[str, dict[str, Any], str], ...] = (
            ("fixer", {"nonsense": 1}, "unknown key 'nonsense'"),
            ("fixer", {"level": "alone"}, "'level' must be"),
            ("Not a name", {}, "'name' must be"),
            ("stated", {}, "the name 'stated' is that of a loop in"),
        )
        for name, keys, problem in wrong:
            async with client.loop(name, "keep main green", **keys) as refused:
                with pytest.raises(donewhen.CallFailed, match=problem) as error:
                    await refused.run()
                assert error.value.kind == "bad_input"

    with_client(work, daemon=False)


def test_two_programs_do_not_state_the_same_loop_at_the_same_time(there: LoopScene) -> None:
    async def work(client: donewhen.Client) -> None:
        seen = Seen(True)
        async with client.loop("fixer", "keep main green", action=seen.action):
            with pytest.raises(donewhen.CallFailed, match="another program states the loop 'fixer' already"):
                async with client.loop("fixer", "keep main green", action=seen.action):
                    pass
            async with client.loop("other", "keep main green", action=seen.action):
                pass

    with_client(work, daemon=False)


def test_a_message_that_is_no_action_harms_no_loop(there: LoopScene) -> None:
    async def work(client: donewhen.Client) -> None:
        async with client.loop("fixer", "keep main green", gate=seen.gate, action=seen.action) as fixer:
            for message in (b"nonsense\n", b'{"session": 1}\n', b"[]\n", b""):
                await anyio.to_thread.run_sync(send, message)
            assert (await fixer.run()).outcome == "proceeded"

    seen = Seen(True)
    with_client(work, daemon=False)
    assert len(seen.carried_out) == 1


def send(message: bytes) -> None:
    """Send something to the socket of the only loop, and read the answer."""
    (path,) = (state_root(os.environ) / "callables").glob("*.sock")
    with socket.socket(socket.AF_UNIX) as line:
        line.connect(str(path))
        line.sendall(message)
        line.shutdown(socket.SHUT_WR)
        answer = line.makefile().readline()
    assert not answer or not json.loads(answer)["ok"]


def test_nothing_in_a_sandbox_reaches_the_action(there: LoopScene) -> None:
    """The control is the same program outside: it connects."""
    reach = there.root.parent / "reach.py"
    reach.write_text(
        "import glob, os, socket\n"
        f"for path in glob.glob({str(state_root(os.environ) / 'callables')!r} + '/*.sock'):\n"
        "    socket.socket(socket.AF_UNIX).connect(path)\n"
        "    print('connected')\n"
    )
    text = reach.read_text()
    there.script(
        maker=({"tool": {"name": "shell", "input": {"command": f"python3 - <<'END'\n{text}END\n"}}}, FIX, DONE)
    )

    async def work(client: donewhen.Client) -> None:
        async with client.loop("fixer", "keep main green", gate=seen.gate, action=seen.action) as fixer:
            outside = await anyio.run_process(["python3", str(reach)])
            assert outside.stdout == b"connected\n"
            report = await fixer.run()
        events = [one async for one in client.session(report.session).events() if one["type"] == "tool_result"]
        assert "connected" not in json.dumps(events)

    seen = Seen(False)
    with_client(work, daemon=False)


def test_a_loop_runs_when_its_schedule_says_so(there: LoopScene) -> None:
    async def work(client: donewhen.Client) -> None:
        async with client.loop("fixer", "keep main green", gate=seen.gate, schedule="every 1s") as fixer:
            async for report in fixer.rounds():
                found.append(report.outcome)
                if len(found) == 2:
                    break

    seen, found = Seen(True), list[str]()
    with_client(work, daemon=False)
    assert found == ["proceeded", "skipped"]
