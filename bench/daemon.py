"""The daemon under load: events to readers, memory of sessions, calls, and `run` through it against `run` alone.

One daemon, 200 sessions, 50 readers: half of the readers follow one session each and half follow all of them. Writers
of other processes write as sessions do, so every event passes the store. The events of an hour are those of 200
sessions that emit one each 4 s, as fast as they can be written.
"""

import json
import multiprocessing
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Generator, Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Any

from donewhen.errors import DonewhenError
from donewhen.events import PlanText
from donewhen.server.client import DaemonClient, connect
from donewhen.storage.archive import Archive
from donewhen.workspace.state_dir import state_root

SESSIONS, READERS, WRITERS = 200, 50, 2
WARM_EVENTS, HOUR_EVENTS = 20_000, 180_000
STEADY_RATE = 400.0
STEADY_SECS = 10.0
WAITING = 40
ROUND_TRIPS = 2000
RUNS = 5
DONEWHEN = [sys.executable, "-m", "donewhen"]


@contextmanager
def daemon(places: int = 4) -> Generator[subprocess.Popen[str]]:
    command = [*DONEWHEN, "serve", "--port", "0", "--places", str(places)]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    try:
        assert process.stderr is not None
        process.stderr.readline()
        threading.Thread(target=process.stderr.read, daemon=True).start()
        yield process
    finally:
        process.terminate()
        process.wait()


def client() -> DaemonClient:
    found = connect(state_root(os.environ))
    assert found is not None, "no daemon"
    return found


# -- events --


def names() -> list[str]:
    return [f"bench{n:03}" for n in range(SESSIONS)]


def write(mine: list[str], count: int, rate: float, begin: Any) -> None:
    """Write events to these sessions in turn: `count` of them, at most `rate` a second; 0 is as fast as possible."""
    with closing(Archive.open(state_root(os.environ))) as archive:
        leases = [archive.claim(name) for name in mine]
        begin.wait()
        started = time.perf_counter()
        for n in range(count):
            if rate and (ahead := started + n / rate - time.perf_counter()) > 0:
                time.sleep(ahead)
            leases[n % len(leases)].write(PlanText(text=f"{time.time():.6f} " + "x" * 200))
        for lease in leases:
            lease.release()


class Reader(threading.Thread):
    """One subscriber on a connection of its own."""

    def __init__(self, session: str) -> None:
        """Follow a session; an empty name follows all."""
        super().__init__(daemon=True)
        self._session = session
        self._client = client()
        self.next: dict[str, int] = {}
        self.gaps = 0
        self.count = 0
        self.delays: list[float] = []
        if session:
            self._client.call("session.subscribe", id=session, from_seq=1)
        else:
            self._client.call("board.subscribe", **{"from": 0})

    def run(self) -> None:
        try:
            for message in self._client.notifications():
                event = message["params"].get("event")
                if event is not None:
                    self._note(event)
        except DonewhenError:
            return  # the daemon has ended

    def _note(self, event: dict[str, Any]) -> None:
        expected = self.next.get(event["session"], 1)
        self.gaps += event["seq"] != expected
        self.next[event["session"]] = event["seq"] + 1
        self.count += 1
        if event["type"] == "plan_text":
            self.delays.append(time.time() - float(event["text"].split()[0]))


def read_in_process(sessions: list[str], expected: int, begin: Any, answers: Any) -> None:
    """Run readers in a process of their own and report what they read."""
    readers = [Reader(session) for session in sessions]
    for reader in readers:
        reader.start()
    begin.wait()
    deadline = time.monotonic() + 600
    while time.monotonic() < deadline and sum(one.count for one in readers) < expected:
        time.sleep(0.05)
    delays = sorted(delay for one in readers for delay in one.delays)
    answers.put((time.time(), sum(one.count for one in readers), sum(one.gaps for one in readers), delays))


def measure_events(count: int, rate: float, process: subprocess.Popen[str]) -> None:
    with closing(Archive.open(state_root(os.environ))) as archive:
        for row in archive.sessions():
            archive.delete(row.id)
        for name in names():
            archive.create(name, "/bench", "a session of the measurement").release()
    each = count // SESSIONS
    total = each * SESSIONS
    followed = [names()[n * SESSIONS // (READERS // 2)] for n in range(READERS // 2)]
    expected = each * len(followed) + total * (READERS - len(followed))
    context = multiprocessing.get_context("spawn")
    begin, answers = context.Barrier(WRITERS + 1 + 1), context.Queue()
    parts = [names()[n::WRITERS] for n in range(WRITERS)]
    writers = [context.Process(target=write, args=(part, total // WRITERS, rate / WRITERS, begin)) for part in parts]
    readers = context.Process(
        target=read_in_process, args=([*followed, *[""] * (READERS - len(followed))], expected, begin, answers)
    )
    for one in (*writers, readers):
        one.start()
    before, used = memory(process.pid), cpu_of(process.pid)
    began = time.time()
    begin.wait()
    ended, read, gaps, delays = answers.get()
    for one in (*writers, readers):
        one.join()
    secs = ended - began
    print(f"  {total} events at {rate or 'full'} a second: {total / secs:.0f} events/s, {read / secs:.0f} deliveries/s")
    print(f"    read {read} of {expected}, gaps and duplicates {gaps}")
    middle, late = 1000 * percentile(delays, 50), 1000 * percentile(delays, 99)
    print(f"    from emit to reader: median {middle:.1f} ms, p99 {late:.1f} ms")
    after = memory(process.pid)
    print(f"    daemon: {before:.0f} MB before, {after:.0f} MB after; {cpu_of(process.pid) - used:.1f} s of CPU")


def percentile(values: list[float], part: int) -> float:
    return values[min(len(values) - 1, len(values) * part // 100)]


def memory(pid: int) -> float:
    """Return the megabytes of a process, where shared pages count in part."""
    return sum(int(line.split()[1]) for line in rollup(pid) if line.startswith("Pss:")) / 1000


def rollup(pid: int) -> Iterator[str]:
    try:
        yield from Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:
        return


def cpu_of(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


# -- sessions --


def make_repository(root: Path) -> Path:
    root.mkdir()
    (root / "donewhen.toml").write_text("[[check]]\nname = 'tests'\ncommand = 'grep -q 42 answer.txt'\n")
    (root / "answer.txt").write_text("1\n")
    git = ["git", "-c", "user.name=bench", "-c", "user.email=bench@example.com"]
    for words in (["init", "-q"], ["add", "-A"], ["commit", "-q", "-m", "base"]):
        subprocess.run([*git, *words], cwd=root, check=True)
    return root


def script(root: Path, *steps: dict[str, Any]) -> str:
    file = root.with_name(f"{len(steps)}.json")
    file.write_text(json.dumps(steps))
    return f"scripted:{file}"


WRITE = {"tool": {"name": "write_file", "input": {"path": "answer.txt", "content": "42\n"}}}
ASK = {"tool": {"name": "ask_user", "input": {"prompt": "Which number?"}}}
END = {"text": "done"}


def measure_waiting_sessions(repo: Path) -> None:
    """Memory and time of real sessions that all wait for an answer, each with everything that it has started."""
    model = script(repo, ASK, WRITE, END)
    with daemon(places=WAITING) as process, closing(client()) as line:
        before, began = tree_memory(process.pid), time.perf_counter()
        ids = [
            line.call("session.start", intent=f"number {n}", repo=str(repo), model=model)["id"] for n in range(WAITING)
        ]
        line.call("board.subscribe", **{"from": 0})
        wait_until(line, dict.fromkeys(ids, "question"))
        secs, each = time.perf_counter() - began, (tree_memory(process.pid) - before) / WAITING
        print(f"  {WAITING} real sessions that wait for an answer: {secs:.1f} s; each {each:.1f} MB with its processes")
        began = time.perf_counter()
        for id in ids:
            line.call("session.answer", id=id, text="42")
        wait_until(line, dict.fromkeys(ids, "verified"))
        print(f"    answered and verified: {time.perf_counter() - began:.1f} s")


def wait_until(line: DaemonClient, wanted: dict[str, str]) -> None:
    for message in line.notifications():
        params = message["params"]
        if "needs_you" in params and wanted.get(params["id"]) in (params["needs_you"]["kind"], params["outcome"]):
            del wanted[params["id"]]
        if not wanted:
            return


def tree_memory(pid: int) -> float:
    """Return the megabytes of all processes of this measurement's home."""
    del pid
    home = os.environ["HOME"].encode()
    found = 0.0
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                if home in (entry / "environ").read_bytes():
                    found += memory(int(entry.name))
            except OSError:
                continue
    return found


# -- calls --


def measure_calls() -> None:
    with closing(client()) as line:
        times: list[float] = []
        for _ in range(ROUND_TRIPS):
            began = time.perf_counter()
            line.call("session.events", id=names()[0], from_seq=1, limit=1)
            times.append(time.perf_counter() - began)
    times.sort()
    print(f"  a reading call: median {1e3 * statistics.median(times):.2f} ms, p99 {1e3 * percentile(times, 99):.2f} ms")


def measure_run(repo: Path) -> None:
    command = [*DONEWHEN, "run", "make it 42", "--model", script(repo, WRITE, END), "--json"]
    alone = measured(command, repo)
    with daemon():
        through = measured(command, repo)
    print(
        f"  run alone: {alone[0]:.2f} s of CPU, {alone[1]:.2f} s; through the daemon: {through[0]:.2f} s of CPU of the"
    )
    print(f"    client, {through[1]:.2f} s; ratios {through[0] / alone[0]:.2f} and {through[1] / alone[1]:.2f}")


def measured(command: list[str], repo: Path) -> tuple[float, float]:
    """Return the least CPU seconds of the program that was typed, and the median of the seconds on the clock."""
    cpu: list[float] = []
    clock: list[float] = []
    for _ in range(RUNS):
        before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
        subprocess.run(command, cwd=repo, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        clock.append(time.perf_counter() - began)
        cpu.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return min(cpu), statistics.median(clock)


def main() -> None:
    with ExitStack() as stack:
        home = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="bench-daemon-")))
        for name, place in (("HOME", home), ("XDG_STATE_HOME", home / "state"), ("XDG_CONFIG_HOME", home / "config")):
            os.environ[name] = str(place)
        repo = make_repository(home / "repo")
        measure_run(repo)
        measure_waiting_sessions(repo)
        with daemon() as process:
            measure_events(WARM_EVENTS, 0, process)
            measure_events(int(STEADY_RATE * STEADY_SECS), STEADY_RATE, process)
            measure_events(HOUR_EVENTS, 0, process)
            measure_calls()


if __name__ == "__main__":
    main()
