"""Whole runs for tests: a small repository, a scripted model, the real program, and its events.

The contract of most scenes is met when `answer.txt` says "right": quick to check, and easy to miss.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from needs import needs
from program import Answer, donewhen
from repositories import repository

CHECK = '[[check]]\nname = "done"\ncommand = "grep -qx right answer.txt"\n'
EXPECTED = """[contract]
protect = ["expected.txt"]

[[check]]
name = "done"
command = "cmp answer.txt expected.txt"
"""
"""Done when the answer is the text of a protected file."""
FILES: dict[str, str] = {"answer.txt": "wrong\n", "donewhen.toml": CHECK, ".gitignore": "*.log\n"}

Step = dict[str, Any]


def call(tool: str, /, **given: Any) -> Step:
    return {"tool": {"name": tool, "input": given}}


def write(path: str, content: str) -> Step:
    return call("write_file", path=path, content=content)


def shell(command: str) -> Step:
    return call("shell", command=command)


def say(text: str) -> Step:
    return {"text": text}


RIGHT = [write("answer.txt", "right\n"), say("it is right now")]
WRONG = [write("answer.txt", "left\n"), say("done")]


def scene(root: Path, files: Mapping[str, str] | None = None) -> Path:
    needs("bwrap")
    return repository(root, {**FILES, **(files or {})})


def script(place: Path, steps: object) -> str:
    """The name of a model with these steps; stored outside the repository."""
    place.write_text(json.dumps(steps))
    return f"scripted:{place}"


@dataclass(frozen=True, slots=True)
class Run:
    code: int
    events: list[dict[str, Any]]
    err: str

    @property
    def session(self) -> str:
        return str(self.events[0]["session"])

    @property
    def types(self) -> list[str]:
        return [event["type"] for event in self.events]

    @property
    def last(self) -> dict[str, Any]:
        return self.events[-1]

    def of(self, type: str) -> list[dict[str, Any]]:
        return [event for event in self.events if event["type"] == type]

    def one(self, type: str) -> dict[str, Any]:
        (event,) = self.of(type)
        return event


def run(
    repo: Path, steps: object, *options: str, intent: str = "say right", env: Mapping[str, str] | None = None
) -> Run:
    """`donewhen run … --json` with a scripted model."""
    model = script(repo.parent / "script.json", steps)
    return run_json(repo, "run", intent, "--model", model, "--json", *options, env=env)


def run_json(repo: Path, *arguments: str, env: Mapping[str, str] | None = None) -> Run:
    """A verb that prints events; every line of stdout must be one."""
    answer = run_verb(repo, *arguments, env=env)
    assert "Traceback" not in answer.err, answer.err
    return Run(answer.code, [json.loads(line) for line in answer.out.splitlines()], answer.err)


def run_verb(
    repo: Path, *arguments: str, env: Mapping[str, str] | None = None, timeout: float = 120, given: str = ""
) -> Answer:
    return donewhen(*arguments, cwd=repo, env=env, timeout=timeout, given=given)
