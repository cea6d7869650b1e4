"""Whether two logs of the same bug are recognised as the same failure, and two bugs as two, by failure signatures.

Real tools are run over small projects with seeded bugs; every run of a bug is in another directory, with other line
numbers, parameters and order, and some have a second, unrelated failure. Every pair of logs of a tool is judged. Bugs
that are held out were written after everything else was settled; those of compilers that have none were seen. Some bugs
are twins that print the same but for numbers (`price + count` and `price - count`): no signature can tell those apart,
and they count as mistakes.

coarse      the key of the predecessor: name of the check and test_failure or compile_error
failed      overlap of what failed alone
signature   ours; `twins aside` is the same without the pairs of twins
"""

import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

from donewhen.memory.signature import Signature, matches, same_place, signature_of

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "memory"))
sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.memory.seeded_bugs import PROJECTS
from tests.memory.seeded_findings import FINDINGS
from tests.memory.seeded_held_out import HELD_OUT
from tests.memory.seeded_projects import Project
from tests.memory.seeded_runs import is_there, log_of

RUNS = 3
TARGET = "F1 of at least 0.90 on what is held out"
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

    def __str__(self) -> str:
        precision = self.right / max(self.right + self.wrong, 1)
        recall = self.right / max(self.right + self.missed, 1)
        f1 = 2 * self.right / max(2 * self.right + self.wrong + self.missed, 1)
        return f"{precision:9.2f} {recall:7.2f} {f1:6.2f}"


def coarse(a: Signature, b: Signature) -> bool:
    return (a.check, a.phase in ("build", "lint")) == (b.check, b.phase in ("build", "lint"))


KEYS: dict[str, Same] = {"coarse": coarse, "failed": same_place, "signature": matches}


def collected(project: Project, place: Path) -> Iterator[Told]:
    """The check has the same name everywhere, as `test` mostly has."""
    held_out = HELD_OUT.get(project.runner, ())
    for bug in (*project.bugs, *held_out):
        for number in range(RUNS):
            log = log_of(project, bug, number, place)
            yield Told(project.runner, bug.name, bug.twin, bug in held_out, signature_of(log, "check"))


def are_twins(one: Told, other: Told) -> bool:
    return one.bug == other.twin or one.twin == other.bug


def scored(told: list[Told], same: Same, *, held_out: bool, twins: bool = True) -> Score:
    """A held-out log is held against all others, since what it must not be taken for may be among those tuned on."""
    score = Score()
    for one, other in combinations(told, 2):
        if one.project != other.project or (not twins and are_twins(one, other)):
            continue
        if (one.held_out or other.held_out) == held_out:
            score.add(same(one.signature, other.signature), one.bug == other.bug)
    return score


def mistakes(told: list[Told]) -> Iterator[str]:
    found = set[str]()
    for one, other in combinations(told, 2):
        said = one.project == other.project and matches(one.signature, other.signature)
        if one.project == other.project and said != (one.bug == other.bug):
            found.add(f"{one.project}: {one.bug}" + (f" = {other.bug}" if said else " not recognised"))
    yield from sorted(found)


def main() -> None:
    place = Path(tempfile.mkdtemp(prefix="signatures-"))
    told = list[Told]()
    try:
        for project in (*PROJECTS, *FINDINGS):
            if not is_there(project):
                print(f"{project.runner}: not here, left out")
                continue
            mine = list(collected(project, place))
            told += mine
            readers = sorted({each.signature.reader for each in mine})
            bugs = len({each.bug for each in mine})
            print(f"{project.runner:<10}{len(mine):4} logs, {bugs:2} bugs, read by {', '.join(readers)}")
    finally:
        shutil.rmtree(place, ignore_errors=True)
    for name, part in (("seen while tuning", False), ("held out", True)):
        logs = sum(each.held_out == part for each in told)
        print(f"\n{name}: {logs} logs\n{'':<12}precision  recall     F1")
        for key, same in KEYS.items():
            print(f"{key:<12}{scored(told, same, held_out=part)}")
        print(f"{'twins aside':<12}{scored(told, matches, held_out=part, twins=False)}")
    print(f"\ntarget: {TARGET}\nmistakes of `signature` over all:")
    print("\n".join(f"  {line}" for line in mistakes(told)) or "  none")


if __name__ == "__main__":
    main()
