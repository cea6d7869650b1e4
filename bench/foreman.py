"""Times of the foreman: whole runs with a scripted model whose workers take equally long.

Eight subtasks of one length on 2 and 4 workers, compared with the ideal schedule of ceil(8 / workers) lengths; the cost
of the gate for each patch without the checks that it runs; and the time until eight workers have their own trees in a
repository of 10,000 files, compared with `git worktree add`.
"""

import datetime
import json
import math
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from trees import make_repository

PROGRAM = Path(sys.executable).with_name("donewhen")
SUBTASKS = 8
LENGTH_SECS = 6.0
WORKERS = (2, 4)
FILES = 10_000
CHECKS = """
[[check]]
name = "stands"
command = "test -d d0000"

[[check]]
name = "made"
command = "test $(ls made | wc -l) = 8"
"""
Event = Mapping[str, Any]


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        small, large = place / "small", place / "large"
        make_repository(small, 50)
        make_repository(large, FILES)
        for repository in (small, large):
            (repository / "donewhen.toml").write_text(CHECKS)
        worked(run(small, place, LENGTH_SECS, SUBTASKS))  # everything that is made once is there after it
        print(f"{SUBTASKS} subtasks of {LENGTH_SECS:g} s each")
        for workers in WORKERS:
            schedule(run(small, place, LENGTH_SECS, workers), workers)
        gates(run(small, place, 0.0, 1))
        run(large, place, 0.0, SUBTASKS)
        set_up(run(large, place, 0.0, SUBTASKS), large, place)


def run(repository: Path, place: Path, secs: float, workers: int) -> list[Event]:
    """The events of a run in which every worker takes so long."""
    ids = [f"part{number}" for number in range(SUBTASKS)]
    plan = {"subtasks": [{"id": id, "prompt": f"make {id}", "files": [f"made/{id}.txt"]} for id in ids]}
    steps: dict[str, list[dict[str, Any]]] = {"planner": [{"text": json.dumps(plan)}]}
    for id in ids:
        write = {"name": "write_file", "input": {"path": f"made/{id}.txt", "content": f"made {time.time_ns()}\n"}}
        steps[f"worker:{id}"] = [{"tool": write, "delay": secs / 2}, {"text": "done", "delay": secs / 2}]
    script = place / "script.json"
    script.write_text(json.dumps(steps))
    words = ["run", "make eight files", "--engine", "foreman", "--model", f"scripted:{script}", "--json", "--land=none"]
    environment = {
        **os.environ,
        "XDG_STATE_HOME": str(place / "state"),
        "DONEWHEN__FOREMAN__WORKERS": str(workers),
    }
    ran = subprocess.run([PROGRAM, *words], cwd=repository, env=environment, capture_output=True, check=True, text=True)
    return [json.loads(line) for line in ran.stdout.splitlines()]


def schedule(events: Sequence[Event], workers: int) -> None:
    ideal = math.ceil(SUBTASKS / workers) * LENGTH_SECS
    farmed = worked(events)
    gated = span(events, "planning_completed", "subtasks_farmed")
    print(
        f"  {workers} workers: ideal {ideal:.1f} s, worked {farmed:.1f} s ({farmed / ideal:.2f} of it), "
        f"all gated after {gated:.1f} s ({gated / ideal:.2f})"
    )


def worked(events: Sequence[Event]) -> float:
    """From the plan until the last worker has said that it is done."""
    turns = [event for event in events if event["type"] == "model_turn" and event["role"].startswith("worker:")]
    return at(turns[-1]) - at(first(events, "planning_completed"))


def gates(events: Sequence[Event]) -> None:
    """One at a time, so that none waits for another."""
    costs: list[float] = []
    for number in range(SUBTASKS):
        mine = [event for event in events if event.get("id") == f"part{number}" or _is_about(event, f"part{number}")]
        whole = at(first(mine, "subtask_gated")) - at(first(mine, "subtask_verifying"))
        ran = [event for event in mine if event["type"] == "check_completed" and not event["cached"]]
        checks = sum(event["duration_ms"] for event in ran) / 1000
        costs.append(whole - checks)
    costs.sort()
    middle, most = costs[len(costs) // 2] * 1000, costs[-1] * 1000
    print(f"gate of one patch, beside its checks: {middle:.0f} ms in the middle, {most:.0f} ms at most")


def _is_about(event: Event, id: str) -> bool:
    return event.get("subtask") == id


def set_up(events: Sequence[Event], repository: Path, place: Path) -> None:
    starts = [event for event in events if event["type"] == "model_turn" and event["role"].startswith("worker:")]
    seen: dict[str, float] = {}
    for event in starts:
        seen.setdefault(event["role"], at(event))
    ours = max(seen.values()) - at(first(events, "planning_completed"))
    began = time.perf_counter()
    for number in range(SUBTASKS):
        words = ["git", "worktree", "add", "-q", "--detach", str(place / f"worktree{number}")]
        subprocess.run(words, cwd=repository, check=True, capture_output=True)
    theirs = time.perf_counter() - began
    print(
        f"{SUBTASKS} trees of {FILES:,} files, until every worker has had its first turn: {ours:.2f} s; "
        f"git worktree add: {theirs:.2f} s; ratio {ours / theirs:.2f}"
    )


def span(events: Sequence[Event], begin: str, end: str) -> float:
    return at(first(events, end)) - at(first(events, begin))


def first(events: Sequence[Event], type: str) -> Event:
    return next(event for event in events if event["type"] == type)


def at(event: Event) -> float:
    return datetime.datetime.fromisoformat(event["at"]).timestamp()


if __name__ == "__main__":
    main()
