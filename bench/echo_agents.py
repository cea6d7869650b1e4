"""Costs of an agent without its model: a scripted model requests `echo N` many times, then says that it is done.

Every agent gets the same script over OpenAI's chat interface, as a whole program with its defaults, in one run. Ours
isolates each command, writes a durable log, takes snapshots and judges the result; the others run commands without a
sandbox. CPU is that of the agent and its children; each run has a new directory. Uncached bytes are those of a request
after its common start with the previous one.
"""

import contextlib
import ctypes
import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import Any

from model_turns import common
from other_agents import Agent, NotHere, donewhen, mini_swe_agent, openhands

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.wire_server import Act, Answer, Decides, Received, Refuses, SaidCall, Says, serving

FEW, MANY = 24, 100
EARLY, LATE = (4, 14), (90, 100)
"""Around turn 10 and turn 100, as in `model_turns`."""
TOTAL, FLATTER_THAN = 0.5, 1.5
LONGEST_SECS = 120
TICK = os.sysconf("SC_CLK_TCK")
PR_SET_CHILD_SUBREAPER = 36


@dataclass
class Run:
    """One agent, one script."""

    total: float = 0.0
    """Seconds of CPU of everything."""
    own: float = 0.0
    """Of the first process alone."""
    wall: float = 0.0
    bodies: list[bytes] = field(default_factory=list[bytes])
    spent: list[float] = field(default_factory=list[float])
    """Seconds of CPU of everything so far, at each request."""

    @property
    def sent(self) -> int:
        return sum(map(len, self.bodies))

    @property
    def uncached(self) -> float:
        return median(len(later) - common(earlier, later) for earlier, later in pairwise(self.bodies))

    def per_turn(self, turns: tuple[int, int]) -> float:
        """The mean of some turns: the kernel's clock is too coarse for a single one."""
        return (self.spent[turns[1]] - self.spent[turns[0]]) / (turns[1] - turns[0])


# -- the script --


def answers(agent: Agent, turns: int) -> Iterator[Answer]:
    for number in range(turns):
        yield Answer(calls=(SaidCall(f"call_{number}", agent.tool, json.dumps({"command": f"echo {number}"})),))
    if agent.end is None:
        yield Answer(text="all numbers are said")
    else:
        name, given = agent.end
        yield Answer(calls=(SaidCall("call_end", name, json.dumps(given)),))


def said(answer: Answer, notice: Callable[[bytes], None]) -> Decides:
    """An answer in the form in which it is asked for: as a stream, or whole."""

    def act(received: Received) -> Act:
        notice(received.body)
        return Says(answer) if json.loads(received.body).get("stream") else Refuses(200, whole(answer))

    return Decides(act)


def whole(answer: Answer) -> bytes:
    calls = [
        {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
        for call in answer.calls
    ]
    message: dict[str, Any] = {"role": "assistant", "content": answer.text or None}
    message |= {"tool_calls": calls} if calls else {}
    choice = {"index": 0, "message": message, "finish_reason": "tool_calls" if calls else "stop"}
    usage = {"prompt_tokens": answer.input, "completion_tokens": answer.output}
    usage["total_tokens"] = answer.input + answer.output
    known = {"id": "chatcmpl-1", "object": "chat.completion", "created": 1763251200, "model": "bench"}
    return json.dumps({**known, "choices": [choice], "usage": usage}).encode()


# -- one run --


def measure(agent: Agent, turns: int) -> Run:
    run = Run()
    guard: list[int] = []

    def notice(body: bytes) -> None:
        run.spent.append(sum(map(spent_by, below(guard[0]))))
        run.bodies.append(body)

    script = [said(answer, notice) for answer in answers(agent, turns)]
    with tempfile.TemporaryDirectory() as directory, serving(*script) as server:
        home, repo = Path(directory) / "home", Path(directory) / "repo"
        home.mkdir()
        new_repository(repo)
        values = {"url": f"{server.url}/v1", "turns": str(turns + 1), "out": str(home)}
        env = {name: value.format(**values) for name, value in agent.env.items()}
        env |= {"HOME": str(home), "PATH": os.environ["PATH"], "LANG": "C.UTF-8"}
        command = [word if "\n" in word else word.format(**values) for word in agent.command]
        with subprocess.Popen(
            [sys.executable, __file__, *command], cwd=repo, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE
        ) as process:
            guard.append(process.pid)
            out, _ = process.communicate()
    told = json.loads(out.splitlines()[-1])
    run.total, run.own, run.wall = told["total"], told["own"], told["wall"]
    if told["code"] or len(run.bodies) != turns + 1:
        raise NotHere(f"ended with {told['code']} after {len(run.bodies)} requests: {told['said'][-300:]}")
    return run


def new_repository(place: Path) -> None:
    place.mkdir()
    (place / "numbers.txt").write_text("1\n")
    who = ("-c", "user.name=Bench", "-c", "user.email=bench@example.invalid")
    for arguments in (("init", "--quiet"), ("add", "."), (*who, "commit", "--quiet", "-m", "numbers")):
        subprocess.run(["git", *arguments], cwd=place, check=True)


def below(pid: int) -> Iterator[int]:
    """Every process that descends from this one."""
    with contextlib.suppress(OSError):
        for task in os.listdir(f"/proc/{pid}/task"):
            for child in map(int, Path(f"/proc/{pid}/task/{task}/children").read_text().split()):
                yield child
                yield from below(child)


def spent_by(pid: int, with_reaped: bool = True) -> float:
    """Seconds of CPU of a process, and of its children that have ended and been waited for."""
    with contextlib.suppress(OSError):
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return sum(map(int, fields[11 : 15 if with_reaped else 13])) / TICK
    return 0.0


# -- the process around an agent --


def guard_one(command: list[str]) -> None:
    """Run a command, wait for all that comes of it, and tell what that cost."""
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    began = time.monotonic()
    with tempfile.TemporaryFile() as output:
        process = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT)
        signal.signal(signal.SIGALRM, lambda _signal, _frame: process.kill())
        signal.alarm(LONGEST_SECS)
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        wall, own = time.monotonic() - began, spent_by(process.pid, with_reaped=False)
        code = process.wait()
        reap_the_rest()
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        output.seek(0)
        text = output.read().decode("utf-8", "replace")
    total = used.ru_utime + used.ru_stime
    print(json.dumps({"code": code, "wall": wall, "own": own, "total": total, "said": text[-2000:]}))


def reap_the_rest() -> None:
    """What an agent leaves running counts as well, so far."""
    for pid in list(below(os.getpid())):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    with contextlib.suppress(ChildProcessError):
        while True:
            os.waitpid(-1, 0)


# -- all of them --


@dataclass
class Measured:
    name: str
    few: Run
    many: Run

    @property
    def marginal(self) -> float:
        """Seconds of CPU of one turn more."""
        return (self.many.total - self.few.total) / (MANY - FEW)

    @property
    def growth(self) -> float:
        return self.many.per_turn(LATE) / self.many.per_turn(EARLY)

    def line(self, ours: "Measured") -> str:
        few, ms = self.few, 1000
        return (
            f"{self.name:15} {few.total:6.2f} s {few.total / ours.few.total:5.1f} x {few.own:6.2f} s {few.wall:6.1f} s"
            f" {self.many.total:7.2f} s {self.marginal * ms:6.1f} ms {self.marginal / ours.marginal:5.1f} x"
            f" {self.many.per_turn(EARLY) * ms:6.1f} ms {self.many.per_turn(LATE) * ms:6.1f} ms {self.growth:6.2f}"
            f" {len(few.bodies):5} {few.sent / 1000:6.0f} kB {few.uncached:6.0f} B"
        )


HEADING = (
    f"{'':15} {f'CPU, {FEW}':>8} {'ours':>7} {'itself':>8} {'wall':>8} {f'CPU, {MANY}':>9} {'a turn':>9} {'ours':>7}"
    f" {'turn 10':>9} {f'turn {MANY}':>9} {'growth':>6} {'asked':>5} {'sent':>9} {'uncached':>8}"
)


def everybody() -> Iterator[Measured]:
    agents: list[Agent] = []
    for find in (donewhen, mini_swe_agent, openhands):
        try:
            agents.append(find())
        except NotHere as reason:
            print(f"{find.__name__}: not run: {reason}")
    print(f"load average at the start: {os.getloadavg()[0]:.1f} on {os.cpu_count()} CPUs", flush=True)
    few: dict[str, Run] = {}
    for turns in (FEW, MANY):
        for agent in agents:
            try:
                run = measure(agent, turns)
            except NotHere as reason:
                print(f"{agent.name}, {turns} turns: {reason}")
                continue
            if turns == FEW:
                few[agent.name] = run
            elif agent.name in few:
                yield Measured(agent.name, few[agent.name], run)


def verdict(name: str, value: float, limit: float) -> None:
    print(f"{name}: {value:.2f} (target {limit:g}): {'met' if value <= limit else 'missed'}")


def main() -> None:
    ours, *others = everybody()
    print(HEADING)
    for one in (ours, *others):
        print(one.line(ours))
    for other in others:
        verdict(f"total CPU, {FEW} turns, of that of {other.name}", ours.few.total / other.few.total, TOTAL)
        verdict(f"CPU of a turn more, of that of {other.name}", ours.marginal / other.marginal, 1.0)
    verdict(f"CPU of turn {MANY}, of that of turn 10", ours.growth, FLATTER_THAN)


if __name__ == "__main__":
    guard_one(sys.argv[1:])
