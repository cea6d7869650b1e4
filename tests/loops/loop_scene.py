"""A repository with a bug, a contract and loops, and scripted agents that fix or report it."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from program import Answer, donewhen
from repositories import commit, git, repository, write
from wire_server import Received, WireServer

CALC = "def add(a, b):\n    return a - b\n"
FILES = {"calc.py": CALC, "check.sh": "python3 -c 'import calc; assert calc.add(2, 2) == 4'\n"}
FIX = {"tool": {"name": "edit_file", "input": {"path": "calc.py", "old": "a - b", "new": "a + b"}}}
DONE = {"text": "Fixed the sign in add()."}
LOOK = {"tool": {"name": "shell", "input": {"command": "sh check.sh"}}}
Step = Mapping[str, Any]


def opinion(
    verdict: str = "confirmed", evidence: str = "sh check.sh passes now", summary: str = "add() is right"
) -> Step:
    return {"text": json.dumps({"verdict": verdict, "evidence": evidence, "summary": summary})}


def loop(name: str = "fixer", **keys: Any) -> str:
    """Return a loop as TOML. JSON of texts, numbers, lists and truth values is TOML, too."""
    given = {"intent": "keep main green", "level": "assisted", "action": "branch", **keys}
    lines = [f"{key} = {_toml(value)}" for key, value in given.items()]
    return "\n".join(["[[loop]]", f'name = "{name}"', *lines, ""])


def _toml(value: Any) -> str:
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{key} = {_toml(one)}" for key, one in cast("dict[str, Any]", value).items()) + " }"
    if isinstance(value, list):
        return "[" + ", ".join(map(_toml, cast("list[Any]", value))) + "]"
    return json.dumps(value)


@dataclass
class LoopScene:
    root: Path
    env: dict[str, str] = field(default_factory=dict[str, str])

    @classmethod
    def made(
        cls, place: Path, *loops: str, more: str = "", files: Mapping[str, str | bytes] | None = None
    ) -> "LoopScene":
        scene = cls(repository(place / "repo", {**FILES, **(files or {})}))
        scene.script()
        scene.state(*loops, more=more)
        return scene

    def state(self, *loops: str, more: str = "") -> None:
        """Write donewhen.toml with these loops, and accept it."""
        model = f'[model]\nuse = "scripted:{self.script_file}"\n'
        check = '[[check]]\nname = "works"\ncommand = "sh check.sh"\n'
        write(self.root, {"donewhen.toml": "\n".join([model, more, check, *loops])})
        if git(self.root, "status", "--porcelain"):
            commit(self.root, "state the loops")
        assert self("trust").code == 0

    @property
    def script_file(self) -> Path:
        return self.root.parent / "script.json"

    def script(self, maker: Sequence[Step] = (FIX, DONE), checker: Sequence[Step] = (LOOK, opinion())) -> None:
        self.script_file.write_text(json.dumps({"maker": list(maker), "checker": list(checker)}))

    def __call__(self, *arguments: str) -> Answer:
        return donewhen(*arguments, cwd=self.root, env=self.env)

    def run(self, name: str = "fixer", *options: str) -> tuple[int, dict[str, Any], list[dict[str, Any]]]:
        """Run a round. Return the exit code, the last `round_finished` and all events."""
        answer = self("loop", "run", name, "--json", *options)
        events = [json.loads(line) for line in answer.out.splitlines()]
        finished = [one for one in events if one["type"] == "round_finished"]
        assert finished, answer.err
        return answer.code, finished[-1], events

    def session(self) -> str:
        """Return the newest session."""
        return json.loads(self("list", "--json", "--limit", "1").out)["id"]

    def inbox(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self("inbox", "--json").out.splitlines()]

    def branches(self) -> list[str]:
        return git(self.root, "for-each-ref", "--format=%(refname:short)", "refs/heads").split()


def on_wire(scene: LoopScene, server: WireServer, model: str = "anthropic:claude-sonnet-4-5") -> None:
    """Let the agents of a scene ask a server that keeps what it receives. The model has a price."""
    url = f"{server.url}/v1" if model.startswith("openai") else server.url
    keys = {"ANTHROPIC_API_KEY": "sk-loop", "OPENAI_API_KEY": "sk-loop"}
    scene.env |= {**keys, "DONEWHEN__MODEL__BASE_URL": url, "DONEWHEN__MODEL__USE": model}


def offered(request: Received) -> set[str]:
    """Return the names of the tools that a request to the wire of Anthropic offers."""
    return {tool["name"] for tool in json.loads(request.body).get("tools", ())}


def task_of(request: Received) -> str:
    """Return the first message of the conversation in a request to the wire of Anthropic."""
    return "".join(part["text"] for part in json.loads(request.body)["messages"][0]["content"])
