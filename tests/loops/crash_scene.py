"""Loops whose processes are killed at a chosen moment, and what must be the same however often that happened.

A scene starts from the same files each time: the repository, the state directory, and what the actions made outside.
Calls are forks of `crash_program`.
"""

import os
import re
import shutil
import socket
import subprocess
import sys
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from loop_scene import FIX, LoopScene, opinion

from donewhen.loops.loop_records import repo_key
from donewhen.loops.loop_store import LoopStore
from donewhen.loops.round_outcome import RoundOutcome
from donewhen.session.log.open_archive import any_archive
from donewhen.session.log.start_record import NOTE_KIND
from donewhen.workspace.state_dir import state_root
from program import Answer, WarmProgram, at_start
from repositories import git

PROGRAM = Path(__file__).with_name("crash_program.py")
NEVER = 0
KILLED = -9
SKIPPED = RoundOutcome.SKIPPED.value
MOST_RUNS = 3
DIED_AGAIN = 3
"""Every so many calls are killed a second time while they recover."""
RUN, START, RESUME = ("loop", "run"), ("loop", "start"), ("resume",)
MAKER = [
    {**FIX, "usage": {"input": 100, "output": 10}},
    {"text": "Fixed add().", "usage": {"input": 200, "output": 20}},
]
CHECKER = [{**opinion(), "usage": {"input": 1000, "output": 1}}]
COUNTED = ("round_started", "round_finished", "model_turn", "tool_result", "gate_opened", "gate_decided", "landed")


def crash_program() -> WarmProgram:
    """Start the program. The caller ends it."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    path = os.pathsep.join([str(PROGRAM.parents[1]), os.environ.get("PYTHONPATH", "")])
    with theirs:
        process = subprocess.Popen(
            [sys.executable, PROGRAM, str(theirs.fileno())],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            pass_fds=[theirs.fileno()],
            env={**os.environ, "PYTHONPATH": path},
        )
    return WarmProgram(ours, process, at_start(os.environ))


@dataclass
class CrashScene:
    place: Path
    scene: LoopScene
    program: WarmProgram
    outside: Callable[[], Any]
    """Returns what the actions made outside of the repository."""
    forget_outside: Callable[[], None]
    name: str = field(default="", init=False)
    """The loop that runs."""
    without: str = field(default="", init=False)
    """The defence that is left out."""
    kept: int = field(default=0, init=False)

    # -- calls --

    def call(self, *words: str, die_at: int = NEVER, stop: str = "") -> tuple[Answer, list[str]]:
        """Call the program. Return its answer and the moments that it passed."""
        moments = self.place / "moments"
        moments.write_text("")
        told = {"CRASH_MOMENTS": str(moments), "CRASH_AT": str(die_at), "CRASH_STOP": stop}
        env = {**os.environ, **self.scene.env, **told, "CRASH_WITHOUT": self.without}
        code, out, err = self.program.call(words, self.scene.root, env, b"", 60)
        answer = Answer(code, out.decode("utf-8", "replace"), err.decode("utf-8", "replace"))
        assert "Traceback" not in answer.err, (words, answer.err)
        return answer, moments.read_text().splitlines()

    def sessions(self) -> list[str]:
        """Return the sessions of the loop that have a log, the oldest first."""
        with any_archive() as archive:
            rows = sorted(archive.sessions(repo_key(self.scene.root)), key=lambda row: row.created_at)
            starts = {row.id: next(archive.records(row.id, kinds=(NOTE_KIND,)), None) for row in rows}
            return [id for id, one in starts.items() if one and one.body["loop"]["loop"] == self.name]

    def is_running(self) -> bool:
        store = LoopStore(state_root(os.environ))
        state = store.state(repo_key(self.scene.root), self.name)
        store.close()
        return state.running is not None

    # -- the files --

    def keep(self) -> Path:
        """Keep all files as they are now."""
        self.kept += 1
        kept = self.place / f"kept-{self.kept}"
        kept.mkdir()
        for path in (self.scene.root.parent, state_root(os.environ)):
            subprocess.run(["cp", "-a", str(path), str(kept / path.name)], check=True)
        return kept

    def restore(self, kept: Path) -> None:
        for path in (self.scene.root.parent, state_root(os.environ)):
            shutil.rmtree(path)
            subprocess.run(["cp", "-a", str(kept / path.name), str(path)], check=True)
        self.forget_outside()

    # -- a kill and what follows --

    def recover(self, number: int, session: str, die_at: int = NEVER) -> None:
        """Do what a person would do after a kill in a round: run the loop, start the scheduler, or resume."""
        how = (RUN, START, RESUME)[number % 3]
        if how == START and self.is_running():
            self.call(*START, die_at=die_at, stop="after loops finish")
        elif how == RESUME and session:
            self.call(*RESUME, session, die_at=die_at)
        else:
            self.call(*RUN, self.name, die_at=die_at)

    def waits(self, session: str) -> bool:
        """Return True if a session is in the inbox."""
        return f'"session": "{session}"' in self.call("inbox", "--json")[0].out

    def run_until_nothing_is_new(self) -> None:
        answers: list[Answer] = []
        while not answers or f"loop {self.name}: skipped" not in answers[-1].out:
            assert len(answers) < MOST_RUNS, f"the loop {self.name} is stuck: {answers[-1]}"
            answers.append(self.call(*RUN, self.name)[0])

    # -- what must hold --

    def witness(self) -> dict[str, Any]:
        """Return everything that must be the same however often a process was killed."""
        sessions = self.sessions()

        def named(text: str) -> str:
            for number, session in enumerate(sessions, 1):
                text = text.replace(session, f"session {number}")
            return text

        with closing(LoopStore(state_root(os.environ))) as store:
            rows = store.history(repo_key(self.scene.root), self.name)[::-1]
        skipped = [one.session for one in rows if one.outcome == SKIPPED]
        heads = git(self.scene.root, "for-each-ref", "--format=%(refname:short) %(tree)", "refs/heads").splitlines()
        inbox = re.findall(r'"kind": "([a-z_]+)", "session": "(\w*)"', self.call("inbox", "--json")[0].out)
        return {
            "branches": sorted(map(named, heads)),
            "commits": git(self.scene.root, "rev-list", "--count", "HEAD"),
            "files": git(self.scene.root, "status", "--porcelain"),
            "one row each": len({one.key for one in rows}) == len({one.session for one in rows}) == len(rows),
            "history": [
                (one.trigger, one.status.value, one.outcome, named(one.reason), named(one.session), one.input_tokens)
                for one in rows
                if one.session not in skipped
            ],
            "last skipped": [_of_session(session, named)["model_turn"] for session in skipped[-1:]],
            "sessions": [_of_session(session, named) for session in sessions if session not in skipped],
            "inbox": sorted(f"{kind} {named(session)}" for kind, session in inbox),
            "outside": self.outside(),
        }


def _of_session(session: str, named: Callable[[str], str]) -> dict[str, Any]:
    with any_archive() as archive:
        events = list(archive.events(session))
    assert [event.seq for event in events] == list(range(1, len(events) + 1))
    kinds = [event.kind for event in events]
    ends = [one.body for one in events if one.kind == "round_finished"]
    return {
        **{kind: kinds.count(kind) for kind in COUNTED},
        "last": kinds[-1],
        "ends": [(one["outcome"], named(one["reason"]), one["input_tokens"], one["output_tokens"]) for one in ends],
    }


def differences(found: Mapping[str, Any], expected: Mapping[str, Any]) -> list[str]:
    """Return one line for each part that is not as expected."""
    return [f"{part}: {found[part]} instead of {expected[part]}" for part in expected if found[part] != expected[part]]
