"""Whether two logs of the same bug are recognised as the same failure, and two bugs as two, by failure signatures.

Real tools are run over small projects with seeded bugs; every run of a bug is in another directory, with other line
numbers, parameters, order and workers. One of three logs is the plain output of the tool, one is inside a whole CI log
with colours, one contains lines of other programs and a second, unrelated failure. Every pair of logs of a tool and a
project is judged.

Some bugs of the first project (shop) and all bugs of a second one (harbour) are held out; a third one (mill) is for
tuning. Mistakes are listed only for the bugs used for tuning, so that rules are made without knowledge of the others;
`--reveal` lists all of them, and after that new bugs must be written. Some bugs differ in their output only by numbers
(`price + count` and `price - count`): no signature can distinguish them, and they count as mistakes.

coarse      the key of the predecessor: name of the check and test_failure or compile_error
failed      overlap of what failed alone
signature   ours; `twins aside` is the same without the pairs of twins

A tool that is missing is named, and the exit code is 1 (`bench/signatures.py --allow-missing`: 0).
"""

import os
import random
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

from donewhen.memory.signature import Signature, matches, same_place, signature_of

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "memory"))
sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.memory.seeded_bugs import PROJECTS
from tests.memory.seeded_findings import FINDINGS
from tests.memory.seeded_harbour_builds import HARBOUR
from tests.memory.seeded_held_out import held_out
from tests.memory.seeded_mill import MILL
from tests.memory.seeded_projects import Bug, Project
from tests.memory.seeded_runs import NO_BUG, is_there, log_of, run_of

RUNS = 3
TARGET = 0.9
Same = Callable[[Signature, Signature], bool]


@dataclass(frozen=True)
class Told:
    project: str
    bug: str
    twin: str
    held_out: bool
    signature: Signature


@dataclass
class Score:
    right: int = 0
    wrong: int = 0
    missed: int = 0

    def add(self, said: bool, true: bool) -> None:
        self.right += said and true
        self.wrong += said and not true
        self.missed += true and not said

    @property
    def f1(self) -> float:
        return 2 * self.right / max(2 * self.right + self.wrong + self.missed, 1)

    def __str__(self) -> str:
        precision = self.right / max(self.right + self.wrong, 1)
        recall = self.right / max(self.right + self.missed, 1)
        return f"{precision:9.2f} {recall:7.2f} {self.f1:6.2f}"


def coarse(a: Signature, b: Signature) -> bool:
    return (a.check, a.phase in ("build", "lint")) == (b.check, b.phase in ("build", "lint"))


KEYS: dict[str, Same] = {"coarse": coarse, "failed": same_place, "signature": matches}


def label(project: Project) -> str:
    return f"{project.name} {project.runner}"


def collected(project: Project, place: Path, pool: ThreadPoolExecutor) -> list[Told]:
    """The check has the same name everywhere, as `test` mostly has. Without a bug the tool must find nothing."""
    code, log = run_of(project, NO_BUG, 0, place, random.Random(label(project)))
    assert code == 0, (label(project), log)
    kept = held_out(project)
    runs = [(bug, number) for bug in dict.fromkeys((*project.bugs, *kept)) for number in range(RUNS)]

    def told(run: tuple[Bug, int]) -> Told:
        bug, number = run
        log = log_of(project, bug, number, place)
        return Told(label(project), bug.name, bug.twin, bug in kept, signature_of(log, "check"))

    return list(pool.map(told, runs))


def are_twins(one: Told, other: Told) -> bool:
    return one.bug == other.twin or one.twin == other.bug


def pairs(told: list[Told], *, held_out: bool) -> Iterator[tuple[Told, Told]]:
    """A held-out log is held against all others, since what it must not be taken for may be among those tuned on."""
    for one, other in combinations(told, 2):
        if one.project == other.project and (one.held_out or other.held_out) == held_out:
            yield one, other


def scored(found: list[tuple[Told, Told]], same: Same) -> Score:
    score = Score()
    for one, other in found:
        score.add(same(one.signature, other.signature), one.bug == other.bug)
    return score


def mistakes(found: list[tuple[Told, Told]]) -> list[str]:
    named = set[str]()
    for one, other in found:
        said = matches(one.signature, other.signature)
        if said != (one.bug == other.bug):
            named.add(f"{one.project}: {one.bug}" + (f" = {other.bug}" if said else " not recognised"))
    return sorted(named)


def table(name: str, told: list[Told], found: list[tuple[Told, Told]], *, is_held_out: bool) -> Score:
    logs = sum(each.held_out == is_held_out for each in told)
    print(f"\n{name}: {logs} logs\n{'':<12}precision  recall     F1")
    for key, same in KEYS.items():
        print(f"{key:<12}{scored(found, same)}")
    print(f"{'twins aside':<12}{scored([pair for pair in found if not are_twins(*pair)], matches)}")
    return scored(found, matches)


def gathered(place: Path) -> tuple[list[Told], list[str]]:
    told, missing = list[Told](), list[str]()
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for project in (*PROJECTS, *FINDINGS, *MILL, *HARBOUR):
            if not is_there(project):
                missing.append(label(project))
                continue
            mine = collected(project, place, pool)
            told += mine
            readers = sorted({each.signature.reader for each in mine})
            bugs = len({each.bug for each in mine})
            own = scored([pair for part in (False, True) for pair in pairs(mine, held_out=part)], matches)
            print(f"{label(project):<17}{len(mine):4} logs, {bugs:2} bugs, F1 {own.f1:.2f}, by {', '.join(readers)}")
    return told, missing


def main(arguments: Sequence[str] = ()) -> None:
    place = Path(tempfile.mkdtemp(prefix="signatures-"))
    try:
        told, missing = gathered(place)
    finally:
        shutil.rmtree(place, ignore_errors=True)
    seen, kept = (list(pairs(told, held_out=part)) for part in (False, True))
    table("seen while tuning", told, seen, is_held_out=False)
    score = table("held out", told, kept, is_held_out=True)
    print(f"\ntarget: F1 of at least {TARGET:.2f} on what is held out: {'reached' if score.f1 >= TARGET else 'MISSED'}")
    for name, found in (("seen while tuning", seen), ("held out", kept if "--reveal" in arguments else [])):
        print(f"mistakes of `signature`, {name}:" if found else f"mistakes, {name}: not named")
        print("\n".join(f"  {line}" for line in mistakes(found)))
    if missing:
        print(f"not here, left out: {', '.join(missing)} (scripts/test-runners installs some)")
        sys.exit("--allow-missing" not in arguments)


if __name__ == "__main__":
    main(sys.argv[1:])
