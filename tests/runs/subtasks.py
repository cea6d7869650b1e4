"""Whole runs of the foreman for tests: a repository with several small files, a planner's reply, workers' steps.

Every goal is one line of one file, so that a subtask is a single write. One check is green from the start: without
one no patch could show that it breaks nothing.
"""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from repositories import git
from runs.scenes import Run, Step, run, say, scene, write

INTENT = "let no file say zero"
STEADY = "grep -qx shop name.txt"
"""Green on the base."""

Script = dict[str, list[Step]]


def contract(checks: Mapping[str, str], more: str = "") -> str:
    tables = [f"[[check]]\nname = {json.dumps(name)}\ncommand = {json.dumps(line)}\n" for name, line in checks.items()]
    return "\n".join([more, *tables])


def goal(ids: str) -> str:
    """A check that the file of each letter no longer has its first text."""
    return " && ".join(f"! grep -qx zero {id}.txt" for id in ids)


def subtask_repository(
    root: Path,
    ids: str = "ab",
    *,
    files: Mapping[str, str] | None = None,
    more: str = "",
    **checks: str,
) -> Path:
    """A file with zero for each letter, and other files of a scene."""
    letters = {f"{id}.txt": "zero\n" for id in ids}
    wanted = contract({"goal": goal(ids), "steady": STEADY, **checks}, more)
    return scene(root, {**letters, "name.txt": "shop\n", "donewhen.toml": wanted, **(files or {})})


def subtask(id: str, *writes: str, reads: Sequence[str] = ()) -> dict[str, Any]:
    """Places are `file` or `file:symbol`; by default the file named like the subtask."""
    places = [_place(one) for one in writes or (f"{id}.txt",)]
    files = list(dict.fromkeys(place["file"] for place in places))
    given = {"id": id, "prompt": f"do {id} now", "files": files, "writes": places}
    return {**given, "reads": [_place(one) for one in reads]}


def _place(text: str) -> dict[str, str]:
    file, _, symbol = text.partition(":")
    return {"file": file, "symbol": symbol or "*"}


def decomposition(*subtasks: dict[str, Any] | str) -> str:
    """A plan as JSON; a name alone is the subtask of that file."""
    return json.dumps({"subtasks": [subtask(one) if isinstance(one, str) else one for one in subtasks]})


def planned(*subtasks: dict[str, Any] | str) -> Step:
    return say(decomposition(*subtasks))


def makes(*steps: Step) -> list[Step]:
    """A worker that does this and says so."""
    return [*steps, say("done")]


def puts(id: str, word: str = "one") -> list[Step]:
    """A worker that writes this to the file of a letter."""
    return makes(write(f"{id}.txt", f"{word}\n"))


def hangs(step: Step) -> Step:
    return {**step, "delay": 600}


def crew(*plans: Step, maker: Sequence[Step] = (), **workers: Sequence[Step]) -> Script:
    """A whole script. The maker is the engine after the foreman."""
    return {"planner": list(plans), "maker": list(maker), **{f"worker:{id}": list(s) for id, s in workers.items()}}


def foreman(
    repo: Path, script: Script, *options: str, engine: str = "foreman", env: Mapping[str, str] | None = None
) -> Run:
    """`donewhen run … --engine foreman --json` with this script."""
    return run(repo, script, "--engine", engine, *options, intent=INTENT, env=env)


def landed(repo: Path, session: str, path: str) -> str:
    return git(repo, "show", f"donewhen/{session}:{path}")


def turns(ran: Run) -> dict[str, int]:
    """The number of calls and replies of each role."""
    return dict(Counter(event["role"] for event in ran.of("model_turn")))


def gated(ran: Run) -> dict[str, list[str]]:
    """For each subtask the gate result: the status, or the code of the first reason."""
    said: dict[str, list[str]] = {}
    for event in ran.of("subtask_gated"):
        word = event["reasons"][0]["code"] if event["reasons"] else event["status"]
        said.setdefault(event["id"], []).append(word)
    return said


def applied(ran: Run) -> list[str]:
    return [event["id"] for event in ran.of("subtask_applied")]


def attempts(ran: Run, id: str) -> list[int]:
    return [event["attempt"] for event in ran.of("subtask_started") if event["id"] == id]


def ended(ran: Run) -> tuple[int, str]:
    return ran.code, str(ran.last.get("outcome", ""))
