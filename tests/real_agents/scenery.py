"""What the tests of real agents share: the programs, a repository, a scripted model, and the cases all must show.

An agent is described by the tools it has (`write`, `shell`), because the model's script names them. The cases are
functions; a file per agent calls each of them for every way in.
"""

import json
import os
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from needs import leave_out, needs
from program import PROGRAM
from repositories import git, repository
from runs.hands import NO_KEYS, configure
from runs.scenes import CHECK, Run
from wire_server import Act, Answer, Decides, Refuses, SaidCall, Says, WireServer, serving

INSTALLED = Path(__file__).parents[2] / ".cache" / "test-agents"
KEY = "sk-the-real-key-4711"
LONGEST_SECS = 240
"""On a machine that has much else to do."""
UNAUTHORIZED = {"type": "error", "error": {"type": "authentication_error", "message": "invalid x-api-key", "code": 401}}


@dataclass(frozen=True, slots=True, kw_only=True)
class Real:
    """One agent by one way in."""

    name: str
    way: str
    program: str
    """Below the directory of the agent in the cache."""
    model: str
    """As `model.use` has it."""
    key: str
    """The variable that holds the key."""
    path: str = ""
    """What the endpoint's address ends in."""
    write: Callable[[str, str], tuple[str, dict[str, Any]]]
    """The tool that writes a file, for a path and a content: its name and input."""
    shell: Callable[[str], tuple[str, dict[str, Any]]]
    closing: Callable[[str], "Says"] | None = None
    """How the model ends a task, where that is not just by words."""
    asides: bool = True
    """Whether it asks a model without tools for titles and the like, which are not part of the script."""

    def __str__(self) -> str:
        return f"{self.name}-{self.way}"

    # -- what its model says --

    def writes(self, path: Path | str, content: str = "right\n") -> Says:
        return _calls(self.write(str(path), content))

    def runs(self, command: str) -> Says:
        return _calls(self.shell(command))

    def says(self, text: str = "It is done.") -> Says:
        return self.closing(text) if self.closing is not None else Says(Answer(text=text))


def _calls(*wanted: tuple[str, dict[str, Any]]) -> Says:
    """Each call has an id of its own, so that one that is made again is another one."""
    made = [SaidCall(f"call_{os.urandom(6).hex()}", name, json.dumps(given)) for name, given in wanted]
    return Says(Answer(calls=tuple(made)))


@dataclass(slots=True)
class Stage:
    """A repository, an agent that was hired for it, and the model that it will talk to."""

    agent: Real
    repo: Path
    server: WireServer

    @property
    def heard(self) -> bytes:
        """All that the model was told."""
        return b"\n".join(one.body for one in (*self.server.received, *self.server.asides))

    def run(self, *options: str) -> Run:
        with self.running(*options) as events:
            told = list(events)
        return Run(events.code, told, events.err)

    @contextmanager
    def running(self, *options: str) -> Generator["Events"]:
        words = ["run", "say right", "--engine", f"external:{self.agent.name}", "--json", *options]
        with subprocess.Popen(
            [PROGRAM, *words],
            cwd=self.repo,
            env={**os.environ, **NO_KEYS, self.agent.key: KEY},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        ) as program:
            alarm = threading.Timer(LONGEST_SECS, program.kill)
            alarm.start()
            try:
                yield Events(program)
            finally:
                alarm.cancel()
                program.kill()

    def call(self, *words: str) -> subprocess.CompletedProcess[bytes]:
        return subprocess.run([PROGRAM, *words], cwd=self.repo, capture_output=True, check=False, timeout=LONGEST_SECS)

    def landed(self, run: Run, path: str) -> str:
        return git(self.repo, "show", f"donewhen/{run.session}:{path}")


class Events:
    """What a run tells, as it tells it; at the end, its exit code and its words for people."""

    def __init__(self, program: subprocess.Popen[bytes]) -> None:
        self._program = program
        self._errors: list[bytes] = []
        assert program.stderr is not None
        self._drain = threading.Thread(target=lambda: self._errors.extend(program.stderr or ()), daemon=True)
        self._drain.start()

    def __iter__(self) -> Iterator[dict[str, Any]]:
        assert self._program.stdout is not None
        for line in self._program.stdout:
            yield json.loads(line)

    @property
    def code(self) -> int:
        return self._program.wait()

    @property
    def err(self) -> str:
        self._drain.join()
        return b"".join(self._errors).decode("utf-8", "replace")


@contextmanager
def stage(
    agent: Real, repo: Path, *acts: Act, again: bool = False, files: Mapping[str, str] | None = None
) -> Generator[Stage]:
    """Everything in place; the last act is repeated for ever with `again`."""
    program = INSTALLED / agent.name / agent.program
    if not (INSTALLED / agent.name / ".installed").exists() or not program.exists():
        leave_out(f"{agent.name} (scripts/test-agents)")
    needs("bwrap")
    repository(repo, {"donewhen.toml": CHECK, "README": "There is no answer yet.\n", **(files or {})})
    besides = Says(Answer(text="A title")) if agent.asides else None
    with serving(*acts, again=again, besides=besides) as server:
        configure(
            f'[model]\nuse = "{agent.model}"\nbase_url = "{server.url}{agent.path}"\n\n'
            f'[agent.{agent.name}]\npath = "{program}"\nway = "{agent.way}"\n'
        )
        yield Stage(agent, repo, server)


# -- the cases that every agent must show; each says what is worth printing, if anything --


def succeeds(agent: Real, repo: Path, home: Path) -> str:
    with stage(agent, repo, agent.writes(repo / "answer.txt"), agent.says()) as here:
        run = here.run()
        assert (run.code, run.last.get("outcome")) == (0, "verified"), report(run, here)
        assert run.last["iterations"] == 1
        assert here.landed(run, "answer.txt") == "right"
        assert {event["ok"] for event in run.of("tool_result")} == {True}
        assert run.of("external_event")
        assert {_key_of(one.headers) for one in here.server.received} == {KEY}
    return ""


def repairs(agent: Real, repo: Path, home: Path) -> str:
    first, second = agent.writes(repo / "question.txt"), agent.writes(repo / "answer.txt")
    with stage(agent, repo, first, agent.says("FIRST ROUND"), second, agent.says("SECOND ROUND")) as here:
        run = here.run()
        assert (run.code, run.last.get("outcome")) == (0, "verified"), report(run, here)
        assert run.last["iterations"] == 2
        assert b"it is not done" in here.server.received[2].body
        assert b"it is not done" not in here.server.received[1].body
    return ""


def keeps_to_its_tree(agent: Real, repo: Path, home: Path) -> str:
    """A write that the walls deny leaves no trace outside, and the work is judged."""
    outside = repo.parent / "outside.txt"
    with stage(agent, repo, agent.writes(outside), agent.says("I wrote it.")) as here:
        run = here.run("--max-iterations", "1")
        assert (run.code, run.last.get("outcome")) == (1, "red"), report(run, here)
        assert not outside.exists()
    return ""


def is_refused_by_the_provider(agent: Real, repo: Path, home: Path) -> str:
    with stage(agent, repo, Refuses(401, json.dumps(UNAUTHORIZED).encode()), again=True) as here:
        run = here.run("--max-iterations", "2")
        assert run.code == 3, report(run, here)
        assert "sign_in" in [event["kind"] for event in run.of("error")]
        assert KEY not in json.dumps(run.events)
    return ""


def keeps_to_the_limit_of_turns(agent: Real, repo: Path, home: Path) -> str:
    with stage(agent, repo, Decides(lambda _: agent.runs("echo once more")), again=True) as here:
        run = here.run("--max-turns", "3", "--max-iterations", "1")
        assert (run.code, run.last.get("outcome")) == (1, "red"), report(run, here)
        assert len(here.server.received) <= 4
    return ""


def leaves_no_daemon(agent: Real, repo: Path, home: Path) -> str:
    mark = f"daemon-{os.urandom(8).hex()}"
    command = f"setsid -f sh -c 'echo up > up.txt; exec sleep 5000 {mark}' >/dev/null 2>&1; echo started"
    daemon = agent.runs(command.replace("sleep 5000", 'python3 -c "import time; time.sleep(5000)"'))
    with stage(agent, repo, daemon, agent.writes(repo / "answer.txt"), agent.says()) as here:
        run = here.run()
        assert (run.code, run.last.get("outcome")) == (0, "verified"), report(run, here)
        assert not survivors(mark)
    return ""


def is_cancelled(agent: Real, repo: Path, home: Path) -> str:
    """In the middle of a command that never ends."""
    mark = f"hanging-{os.urandom(8).hex()}"
    command = f"python3 -c 'import time; time.sleep(5000)' {mark}"
    with stage(agent, repo, agent.runs(command), agent.says()) as here, here.running() as events:
        session = next(iter(events))["session"]
        assert _waited(lambda: bool(survivors(mark))), "the command was not started"
        began = time.monotonic()
        cancelled = here.call("cancel", session)
        took = time.monotonic() - began
        assert not survivors(mark)
        assert cancelled.returncode == 0, cancelled.stderr
        *_, last = events
        assert (events.code, last["outcome"]) == (130, "cancelled")
        assert len(here.server.received) == 1, "nothing is asked of the model any more"
    return f"cancelled in {took:.2f} s, survivors: 0"


def cannot_read_the_credentials_of_others(agent: Real, repo: Path, home: Path) -> str:
    secret = f"secret-{os.urandom(8).hex()}"
    places = [".codex/auth.json", ".gemini/oauth_creds.json", ".aws/credentials", ".config/gh/hosts.yml", ".netrc"]
    places += [".claude/.credentials.json", ".local/share/opencode/auth.json", ".qwen/oauth_creds.json"]
    for place in places:
        (home / place).parent.mkdir(parents=True, exist_ok=True)
        (home / place).write_text(secret)
    steal = f"cd; cat {' '.join(places)} 2>/dev/null; cat /proc/*/environ 2>/dev/null | tr '\\0' '\\n' | grep KEY; true"
    with stage(agent, repo, agent.runs(steal), agent.writes(repo / "answer.txt"), agent.says()) as here:
        run = here.run()
        assert (run.code, run.last.get("outcome")) == (0, "verified"), report(run, here)
        assert secret.encode() not in here.heard
        assert KEY.encode() not in here.heard
    return ""


def cannot_reach_another_host(agent: Real, repo: Path, home: Path) -> str:
    """Neither directly nor through the proxy, and the try through the proxy is told."""
    with other_host() as (port, reached):
        directly = f"c = http.client.HTTPConnection('127.0.0.1', {port}, timeout=5); c.request('GET', '/')"
        proxied = (
            "c = http.client.HTTPConnection(os.environ['ALL_PROXY'].split('/')[2], timeout=5);"
            f" c.request('GET', 'http://127.0.0.1:{port}/'); print(c.getresponse().status)"
        )
        command = "; ".join(f'python3 -c "import http.client, os; {how}" 2>&1 | tail -1' for how in (directly, proxied))
        with stage(agent, repo, agent.runs(command), agent.writes(repo / "answer.txt"), agent.says()) as here:
            run = here.run()
            assert (run.code, run.last.get("outcome")) == (0, "verified"), report(run, here)
            assert not reached
            assert "network" in [event["rule"] for event in run.of("policy_denied")], report(run, here)
    return ""


Case = Callable[[Real, Path, Path], str]
CASES: dict[str, Case] = {
    "a task is done and verified": succeeds,
    "a red contract is repaired in the second round": repairs,
    "a write outside of the tree leaves no trace": keeps_to_its_tree,
    "a key that is refused for good waits for a person": is_refused_by_the_provider,
    "the limit of turns is kept": keeps_to_the_limit_of_turns,
    "a command that never ends dies with the session": is_cancelled,
    "a command that becomes a daemon does not outlive the session": leaves_no_daemon,
    "the credentials of other tools are out of reach": cannot_read_the_credentials_of_others,
    "other hosts are out of reach": cannot_reach_another_host,
}


# -- looking at what happened --


def survivors(mark: str) -> list[int]:
    """Processes of the machine that were started with this word, wherever they hide."""
    found: list[int] = []
    for place in Path("/proc").iterdir():
        if place.name.isdigit() and int(place.name) != os.getpid():
            try:
                words = (place / "cmdline").read_bytes().split(b"\0")
            except OSError:
                continue
            if mark.encode() in words:
                found.append(int(place.name))
    return found


@contextmanager
def other_host() -> Generator[tuple[int, list[object]]]:
    """A service that the agent has no business with: its port, and who came."""
    came: list[object] = []
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def listen() -> None:
            try:
                while True:
                    connection, address = listener.accept()
                    came.append(address)
                    connection.close()
            except OSError:
                return  # closed at the end

        threading.Thread(target=listen, daemon=True).start()
        yield listener.getsockname()[1], came
        listener.shutdown(socket.SHUT_RDWR)


def report(run: Run, here: Stage) -> str:
    """What a person needs to see of a run that went wrong."""
    kept = [event for event in run.events if event["type"] not in ("external_event", "check_started", "spend")]
    return "\n".join([*(json.dumps(one)[:600] for one in kept), f"requests: {len(here.server.received)}", run.err])


def _waited(holds: Callable[[], bool]) -> bool:
    """Whether something came to hold; asked again and again, since nothing tells when it does."""
    deadline = time.monotonic() + LONGEST_SECS
    while not (held := holds()) and time.monotonic() < deadline:
        threading.Event().wait(0.05)
    return held


def _key_of(headers: Mapping[str, str]) -> str:
    known = ("x-api-key", "x-goog-api-key", "authorization")
    return next((headers[name].removeprefix("Bearer ") for name in known if name in headers), "")
