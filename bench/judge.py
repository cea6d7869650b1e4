"""Costs of the judge: a check compared with the bare command, a second `check`, and a changed judge tree.

per check   a check through the judge (own tree, sandbox, evidence), compared with `sh -c` in the checkout, 1,000 files
second      `donewhen check` on an unchanged tree with cached runs: CPU seconds of donewhen itself
moving      from a candidate to a judge tree that is ready: 10 files changed in 50,000
"""

import datetime
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

import anyio

from donewhen.judge.contract import Check, Contract
from donewhen.judge.green_proof import JudgeRequest
from donewhen.judge.judge import Judge
from donewhen.judge.run_cache import RunCache
from donewhen.session.check.judge_tree import judge_environment
from donewhen.session.workplace import open_workplace
from trees import make_repository

CHECKS = 20
ROUNDS = 5
TARGET_MS = 60
CONTRACT = Contract(checks=tuple(Check(name=f"c{n}", command=f"test -f d0000/f{n:05}.txt") for n in range(CHECKS)))


async def judge_secs(repository: Path) -> float:
    """Seconds for each check of a contract on a changed tree."""
    async with open_workplace(repository) as place:
        taken: list[float] = []
        for number in range(ROUNDS):
            (repository / "d0001" / "f00030.txt").write_text(f"{number}\n")
            case = JudgeRequest(
                base=place.repo.head,
                candidate=await place.store.tree_of(await place.store.snapshot()),
                environment=replace(judge_environment(place, CONTRACT), digest=""),
                today=datetime.datetime.now(datetime.UTC).date(),
            )
            began = time.perf_counter()
            # The evidence of a control run is not part of what is compared here.
            contract = replace(CONTRACT, min_evidence="exit")
            verdict = await Judge(place, contract, case, RunCache(None), lambda _: None).verdict()
            taken.append((time.perf_counter() - began) / CHECKS)
            assert verdict.green
    return statistics.median(taken)


def bare_secs(repository: Path) -> float:
    began = time.perf_counter()
    for check in CONTRACT.checks:
        subprocess.run(["/bin/sh", "-c", check.command], cwd=repository, check=True)
    return (time.perf_counter() - began) / CHECKS


def second_check(repository: Path) -> tuple[float, float]:
    """Seconds on the clock and of CPU of the last of several unchanged checks."""
    program = Path(sys.executable).with_name("donewhen")
    lines = [f"[[check]]\nname = '{check.name}'\ncommand = '{check.command}'\n" for check in CONTRACT.checks]
    (repository / "donewhen.toml").write_text("".join(lines))
    best: tuple[float, float] = (9e9, 9e9)
    for _ in range(ROUNDS):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        began = time.perf_counter()
        subprocess.run([program, "check"], cwd=repository, check=True, stdout=subprocess.DEVNULL)
        clock = time.perf_counter() - began
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        best = min(best, (clock, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime))
    return best


async def moving_secs(repository: Path) -> float:
    async with open_workplace(repository) as place:
        taken: list[float] = []
        for number in range(ROUNDS):
            for file in range(10):
                (repository / f"d{file * 100:04}" / f"f{file * 2500:05}.txt").write_text(f"{number} {file}\n")
            candidate = await place.store.tree_of(await place.store.snapshot())
            began = time.perf_counter()
            async with place.tree("judge", place.repo.head, candidate):
                taken.append(time.perf_counter() - began)
    return statistics.median(taken)


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        os.environ.update(HOME=name, XDG_STATE_HOME=f"{name}/state")
        small, large = Path(name, "small"), Path(name, "large")
        make_repository(small, 1_000)
        judged, bare = anyio.run(judge_secs, small), bare_secs(small)
        more = (judged - bare) * 1000
        print(f"per check: judge {judged * 1000:.1f} ms, bare {bare * 1000:.1f} ms: +{more:.1f} (target +{TARGET_MS})")
        clock, cpu = second_check(small)
        print(f"second check: {clock * 1000:.0f} ms, {cpu:.2f} s of CPU for {CHECKS} checks (target 0.30)")
        make_repository(large, 50_000)
        print(f"moving the judge tree by 10 files in 50,000: {anyio.run(moving_secs, large) * 1000:.1f} ms")


if __name__ == "__main__":
    main()
