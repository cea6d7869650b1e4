"""The policy in another process: it may hang, die or be killed there, and there is still an answer.

The faults are real: text that stalls the parser, a parser that dies of a character, a kill in the middle.
"""

import io
import json
import os
import signal
import sys
from dataclasses import replace
from pathlib import Path

import anyio
import fenced_parsing
import pytest
from attack_commands import DENIED, DOUBTED
from hypothesis import given, settings
from hypothesis import strategies as st
from ordinary_commands import ORDINARY
from stalling_text import SHORT, STALLING

from donewhen.errors import MachineryBroke
from donewhen.workspace.policy import Decision, Policy, Ruling
from donewhen.workspace.policy_process.client import consult, parser_command
from donewhen.workspace.policy_process.server import encode_request, last_ruling, write_rulings
from donewhen.workspace.process.command import NO_LISTENERS, Command, Confinement, End, Finished, OutputListeners
from donewhen.workspace.process.launch import Launcher
from program import donewhen
from tiers import examples

ROOT = "/home/me/project"
POLICY = Policy.load(root=ROOT)
NARROWED = Policy.load(deny=["re:ls .*-l", "frobnicate"], ask=["make *"], root=ROOT)


def readers() -> list[int]:
    """The processes of this program that read a command."""
    found: list[int] = []
    waiting = [os.getpid()]
    while waiting:
        pid = waiting.pop()
        try:
            if b"donewhen.workspace.policy_process" in Path(f"/proc/{pid}/cmdline").read_bytes():
                found.append(pid)
            tasks = list(Path(f"/proc/{pid}/task").iterdir())
            waiting += [int(child) for task in tasks for child in (task / "children").read_text().split()]
        except (FileNotFoundError, ProcessLookupError):
            continue
    return found


class Watching(Launcher):
    """A launcher with a task that acts on each process after its first output."""

    pid = 0

    def heard(self, _: bytes) -> None:
        raise NotImplementedError

    async def run(self, command: Command, listeners: OutputListeners = NO_LISTENERS) -> Finished:
        def started(pid: int) -> None:
            self.pid = pid

        return await super().run(command, replace(listeners, started=started, stdout=self.heard))


class Killing(Watching):
    def heard(self, _: bytes) -> None:
        assert readers() == [self.pid]
        os.kill(self.pid, signal.SIGKILL)


class Cancelling(Watching):
    scope: anyio.CancelScope

    def heard(self, _: bytes) -> None:
        assert readers() == [self.pid]
        self.scope.cancel()


class Uninstalled(Launcher):
    """The interpreter was removed in the meantime."""

    async def run(self, command: Command, listeners: OutputListeners = NO_LISTENERS) -> Finished:
        return await super().run(replace(command, argv=["/no/such/python", *command.argv[1:]]), listeners)


class Fenced(Launcher):
    """Its processes have a parser that sees every character, where that is deadly."""

    end: Finished

    async def run(self, command: Command, listeners: OutputListeners = NO_LISTENERS) -> Finished:
        words = list(command.argv)
        boot = words.index("-c") + 1
        words[boot] = words[boot].replace(
            "; main()",
            "; import fenced_parsing; from donewhen.workspace.policy import grammar; grammar.harmless = str.encode;"
            " memory = fenced_parsing.fence(); main()",
        )
        words.append(str(Path(fenced_parsing.__file__).parent))
        self.end = await super().run(replace(command, argv=words), listeners)
        return self.end


@pytest.mark.sample(0)
@pytest.mark.anyio
async def test_the_parser_alone_does_not_finish_stalling_text() -> None:
    argv = [sys.executable, "-I", fenced_parsing.__file__, "guarded"]
    held = Confinement(rlimits={"CPU": 5, "CORE": 0})
    command = Command(argv=argv, cwd="/", env={}, stdin=json.dumps([STALLING]).encode(), confinement=held)
    async with Launcher.open() as launcher:
        assert (await launcher.run(command)).signal == signal.SIGKILL


@pytest.mark.sample(1)
@pytest.mark.anyio
@pytest.mark.parametrize("command", [STALLING, SHORT, f"ls; sh -c '{STALLING}'"], ids=["plain", "eval", "sh"])
async def test_text_that_stalls_the_parser_counts_as_unparsed(command: str) -> None:
    async with Launcher.open() as launcher:
        assert POLICY.decide_plain(command) is None
        assert await consult(launcher, POLICY, command) == POLICY.decide_unread(command)
        assert readers() == []


@pytest.mark.sample(0)
@pytest.mark.anyio
async def test_a_stalled_process_is_ended_by_its_cpu_time_and_not_by_the_clock() -> None:
    async with Launcher.open() as launcher:
        finished = await launcher.run(parser_command(encode_request(POLICY, STALLING)))
    assert (finished.end, finished.signal) == (End.SIGNALLED, signal.SIGKILL)


@pytest.mark.anyio
@pytest.mark.parametrize("text", ["{…", "echo {1..…}"], ids=ascii)
async def test_a_crashed_parser_still_gives_an_answer(text: str) -> None:
    async with Fenced.open() as launcher:
        assert isinstance(launcher, Fenced)
        assert await consult(launcher, POLICY, text) == POLICY.decide_unread(text)
        assert launcher.end.signal == signal.SIGSEGV
        assert await consult(launcher, POLICY, "echo é; git push") == POLICY.decide("echo é; git push")
        assert launcher.end.ok, launcher.end.stderr.whole()


@pytest.mark.anyio
async def test_a_parser_killed_while_reading_still_gives_an_answer() -> None:
    async with Killing.open() as launcher:
        assert await consult(launcher, POLICY, STALLING) == POLICY.decide_unread(STALLING)
        assert readers() == []


@pytest.mark.anyio
async def test_cancelling_a_request_kills_its_parser_process() -> None:
    async with Cancelling.open() as launcher:
        assert isinstance(launcher, Cancelling)
        with anyio.CancelScope() as launcher.scope:
            await consult(launcher, POLICY, STALLING)
        assert launcher.scope.cancelled_caught
        assert readers() == []


@pytest.mark.sample(0)
@pytest.mark.anyio
@pytest.mark.parametrize("decision", [Decision.DENY, Decision.ASK])
async def test_expressions_of_the_user_do_not_depend_on_the_parser(decision: Decision) -> None:
    policy = Policy.load(root=ROOT, **{decision.value: ["re:git push$"]})
    async with Launcher.open() as launcher:
        ruling = await consult(launcher, policy, STALLING)
    assert (ruling.decision, ruling.rule) == (decision, f"policy.{decision.value}[0]")


@pytest.mark.sample(0)
@pytest.mark.anyio
async def test_an_endless_expression_is_ended_like_the_parser() -> None:
    policy = Policy.load(deny=["re:(a+)+$"], root=ROOT)
    command = f"echo {'a' * 60}!"
    async with Launcher.open() as launcher:
        assert await consult(launcher, policy, command) == policy.decide_unread(command)


@pytest.mark.anyio
async def test_a_parser_that_cannot_be_started_does_not_deny_the_command() -> None:
    async with Uninstalled.open() as launcher:
        with pytest.raises(MachineryBroke, match="policy process failed: No such file"):
            await consult(launcher, POLICY, STALLING)


@pytest.mark.anyio
async def test_text_that_is_not_plain_gets_the_answer_of_the_policy() -> None:
    commands = [
        "ls …",
        "true && " * 60 + "git push",
        "echo '\ud800'",
        "ls … -l",
        "x=… make all",
        "echo → ; frobnicate",
        "echo \"\\u00e9\n'…'\"; curl example.com",
        f"rm -rf {ROOT}/build/…; rm -rf {ROOT}",
    ]
    async with Launcher.open() as launcher:
        for policy in (POLICY, NARROWED):
            for command in commands:
                assert await consult(launcher, policy, command) == policy.decide(command)


def by_letter(policy: Policy, command: str) -> Ruling | None:
    """The answer as it comes from the other process, without the process."""
    out = io.StringIO()
    write_rulings(json.loads(encode_request(policy, command)), out)
    return last_ruling(out.getvalue().encode())


def test_every_known_command_gets_the_same_answer_through_the_process() -> None:
    for command in (*ORDINARY, *DENIED, *DOUBTED):
        for policy in (POLICY, NARROWED):
            assert by_letter(policy, command) == policy.decide(command)


@settings(max_examples=examples(100))
@given(st.text(alphabet=st.characters(exclude_categories=[]), max_size=30), st.sampled_from(["ls -l", "make x", ""]))
def test_any_text_gets_the_same_answer_through_the_process(text: str, more: str) -> None:
    assert by_letter(NARROWED, f"{text}; {more}") == NARROWED.decide(f"{text}; {more}")


@pytest.mark.parametrize(
    ("printed", "rule"),
    [(b"", None), (b'["ask", "a", "b"', None), (b'["ask", "a", "b", "c"]\n["de', "a")],
)
def test_an_incomplete_answer_does_not_count(printed: bytes, rule: str | None) -> None:
    ruling = last_ruling(printed)
    assert (ruling.rule if ruling else None) == rule


def test_a_person_gets_an_answer_for_text_that_stalls_the_parser(tmp_path: Path) -> None:
    said = donewhen("policy", STALLING, cwd=tmp_path)
    assert (said.code, said.err) == (3, "")
    assert said.out.startswith("ask  unparsed  could not be parsed: true e| | true")
