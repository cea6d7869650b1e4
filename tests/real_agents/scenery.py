"""Shared parts of the tests of real agents: programs, a repository, a scripted model. The cases are in `cases`.

An agent is described by its tools (`write`, `shell`), because the model's script names them.
"""

import json
import os
import signal
import subprocess
import threading
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from donewhen.engines.external.discover.profile import AgentInterface, Profile, shipped
from needs import leave_out, needs
from program import PROGRAM
from repositories import git, repository
from runs.agents import NO_KEYS, configure
from runs.scenes import CHECK, Run
from wire_server import Act, Answer, SaidCall, Says, WireServer, serving

INSTALLED = Path(os.environ.get("DONEWHEN_TEST_AGENTS") or Path(__file__).parents[2] / ".cache" / "test-agents")
"""The directory in which scripts/test-agents installs them."""
KEY = "sk-the-real-key-4711"
LONGEST_SECS = 240
"""On a busy machine."""
README = "There is no answer yet, say the magpies.\n"
UNAUTHORIZED = {"type": "error", "error": {"type": "authentication_error", "message": "invalid x-api-key", "code": 401}}


@dataclass(frozen=True, slots=True, kw_only=True)
class Real:
    """One agent with one interface."""

    name: str
    way: str
    program: str
    """Below the directory of the agent in the cache."""
    model: str
    """As in `model.use`."""
    key: str
    """The variable that holds the key."""
    path: str = ""
    """The end of the endpoint's address."""
    write: Callable[[str, str], tuple[str, dict[str, Any]]]
    """The tool that writes a file, for a path and a content: its name and input."""
    shell: Callable[[str], tuple[str, dict[str, Any]]]
    closing: Callable[[str], "Says"] | None = None
    """How the model ends a task, if not by text."""
    asides: bool = True
    """True if it asks a model without tools for titles and the like, which are not in the script."""

    def __str__(self) -> str:
        return f"{self.name}-{self.way}"

    @property
    def profile(self) -> Profile:
        return shipped()[self.name]

    @property
    def terms(self) -> AgentInterface:
        """The entry of this interface in its profile."""
        return self.profile.interfaces[self.way]

    def installed(self) -> Path:
        """Return its program; without it the test is not run."""
        program = INSTALLED / self.name / self.program
        if not (INSTALLED / self.name / ".installed").exists() or not program.exists():
            leave_out(f"{self.name} (scripts/test-agents)")
        return program

    # -- model replies --

    def writes(self, path: Path | str, content: str = "right\n") -> Says:
        return _calls(self.write(str(path), content))

    def runs(self, command: str) -> Says:
        return _calls(self.shell(command))

    def says(self, text: str = "It is done.") -> Says:
        return self.closing(text) if self.closing is not None else Says(Answer(text=text))


def _calls(*wanted: tuple[str, dict[str, Any]]) -> Says:
    """Each call has its own id, so a repeated call is a different one."""
    made = [SaidCall(f"call_{os.urandom(6).hex()}", name, json.dumps(given)) for name, given in wanted]
    return Says(Answer(calls=tuple(made)))


@dataclass(slots=True)
class Stage:
    """A repository, an agent for it, and the model that it will use."""

    agent: Real
    repo: Path
    server: WireServer

    @property
    def heard(self) -> bytes:
        """Everything that the model received."""
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

    def landed(self, run: Run, path: str) -> str:
        return git(self.repo, "show", f"donewhen/{run.session}:{path}")


class Events:
    """Events of a run while it runs; at the end its exit code and its text for people."""

    def __init__(self, program: subprocess.Popen[bytes]) -> None:
        self._program = program
        self.pid = program.pid
        self._errors: list[bytes] = []
        assert program.stderr is not None
        self._drain = threading.Thread(target=lambda: self._errors.extend(program.stderr or ()), daemon=True)
        self._drain.start()

    def __iter__(self) -> Iterator[dict[str, Any]]:
        assert self._program.stdout is not None
        for line in self._program.stdout:
            yield json.loads(line)

    def interrupt(self) -> None:
        """Like Ctrl-C."""
        self._program.send_signal(signal.SIGINT)

    @property
    def code(self) -> int:
        return self._program.wait()

    @property
    def err(self) -> str:
        self._drain.join()
        return b"".join(self._errors).decode("utf-8", "replace")


@contextmanager
def stage(
    agent: Real, repo: Path, *acts: Act, again: bool = False, more: str = "", files: Mapping[str, str] | None = None
) -> Generator[Stage]:
    """Prepare everything; with `again` the last act repeats without end. `more` is added to the user's
    configuration."""
    program = agent.installed()
    needs("bwrap")
    repository(repo, {"donewhen.toml": CHECK, "README": README, **(files or {})})
    with scripted(agent, *acts, again=again) as server:
        configure(
            f'[model]\nuse = "{agent.model}"\nbase_url = "{server.url}{agent.path}"\n\n{more}\n'
            f'[agent.{agent.name}]\npath = "{program}"\nway = "{agent.way}"\n'
        )
        yield Stage(agent, repo, server)


@contextmanager
def scripted(agent: Real, *acts: Act, again: bool = False) -> Generator[WireServer]:
    """The agent's model; with `again` the last act repeats without end."""
    besides = Says(Answer(text="A title")) if agent.asides else None
    with serving(*acts, again=again, besides=besides) as server:
        yield server


def report(run: Run, here: Stage) -> str:
    """What a person needs to see of a failed run."""
    kept = [event for event in run.events if event["type"] not in ("external_event", "check_started", "spend")]
    return "\n".join([*(json.dumps(one)[:600] for one in kept), f"requests: {len(here.server.received)}", run.err])
