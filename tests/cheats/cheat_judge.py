"""The judge as `donewhen check` calls it, with a way to switch defences off, and a short summary of its result.

One candidate is captured once and judged as often as needed. Its runs are kept, so switching a defence off costs
only the additional runs.
"""

import os
import tempfile
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, fields, replace
from pathlib import Path

from cheat import WITHOUT_SWITCH

from donewhen.errors import DonewhenError
from donewhen.events import Event
from donewhen.judge.contract import Contract
from donewhen.judge.defences import ALL, Defences
from donewhen.judge.verdict import Verdict
from donewhen.session.check import judge_tree
from donewhen.session.settings import contract_file, settings
from donewhen.session.settings.trust import TrustBook
from donewhen.session.workplace import Workplace, open_workplace
from donewhen.workspace.state_dir import state_root
from repositories import git

SWITCHES = tuple(field.name for field in fields(Defences))
SIGNS = {
    "would be imported instead of": "shadowing",
    "changed sealed files": "sealing",
    "exit code 0, but": "report",
    "the report that": "sidecar",
    "a test that must fail": "canary",
    "a test that passed failed in another run": "canary",
    "with new tests, green and then red": "reruns",
    "the older tests pass only together": "reruns",
    "the tests pass only because the runner also executes": "reruns",
    "red, then green": "reruns",
    "no longer starts": "observation",
    "no longer reads": "observation",
    "a part of the check made": "observation",
    "at least": "counts",
    "on the base": "counts",
    "a test of the base did not run": "counts",
}
"""Words of a reason → the defence; the first match counts."""
OF_USE = ("a check uses it", "looks for it", "would be used instead of")
"""Words of the reason of an edit that was set aside because a check uses the path."""
NOT_REPEATED = ("reruns",)
"""Also off wherever more than one defence is off: repetitions would cost three more runs of each cheat."""


@dataclass(frozen=True, slots=True)
class CheatResult:
    """The result of a candidate."""

    accepted: bool
    status: str
    why: str
    refused_by: str = ""
    """The defence that the reasons name; empty if the check is red and no edit was set aside."""
    discriminating: bool | None = None


@dataclass(frozen=True, slots=True)
class CapturedCandidate:
    """A captured candidate that can be judged."""

    place: Workplace
    contract: Contract
    candidate: str

    async def verdict(self, *off: str, held_out: bool = True, as_is: bool = False) -> Verdict:
        """Judge as a session does: the contract was read before the work began."""
        checks = tuple(check for check in self.contract.checks if held_out or not check.held_out)
        tree = judge_tree.TreeToJudge(
            base=self.place.repo.head,
            candidate=self.candidate,
            as_is=as_is,
            defences=replace(ALL, **dict.fromkeys(off, False)),
        )
        return await judge_tree.judge_tree(self.place, replace(self.contract, checks=checks), tree, ignore_event)

    async def result(self, *off: str, held_out: bool = True) -> CheatResult:
        return summarise(await self.verdict(*off, held_out=held_out))


@asynccontextmanager
async def captured_candidate(tree: Path) -> AsyncGenerator[CapturedCandidate]:
    """The working tree of a repository, captured."""
    TrustBook(state_root(os.environ)).accept((tree / "donewhen.toml").resolve(), (tree / "donewhen.toml").read_bytes())
    async with open_workplace(tree) as place:
        candidate = await place.store.tree_of(await place.store.snapshot())
        yield CapturedCandidate(place, contract_before(tree), candidate)


def contract_before(tree: Path) -> Contract:
    with tempfile.TemporaryDirectory() as name:
        Path(name, "donewhen.toml").write_text(git(tree, "show", "HEAD:donewhen.toml") + "\n")
        return contract_file.contract_in(settings.load(Path(name), Path(name), os.environ, None))


def ignore_event(event: Event) -> None:
    del event


async def verdict_of(tree: Path, as_is: bool = False) -> Verdict:
    async with captured_candidate(tree) as candidate:
        return await candidate.verdict(as_is=as_is)


async def verdict_on(tree: Path) -> CheatResult:
    """A refusal is a verdict too: the candidate is not accepted."""
    try:
        return summarise(await verdict_of(tree))
    except DonewhenError as error:
        return refusal(error)


def refusal(error: DonewhenError) -> CheatResult:
    return CheatResult(False, "refused", str(error))


def summarise(verdict: Verdict) -> CheatResult:
    found = [result for result in verdict.results if result.status.value != "pass"]
    why = [reason for result in found for reason in result.reasons]
    edited = [f"not graded: {edit.path}" for edit in verdict.edits]
    status = found[0].status.value if found else "pass"
    by = refusing_defence(why[0], [edit.reason for edit in verdict.edits]) if why else ""
    return CheatResult(verdict.green, status, "; ".join([*edited[:1], *why[:1]]), by, verdict.discriminating)


def refusing_defence(reason: str, edits: Sequence[str]) -> str:
    """A red check with edits that were set aside is red because of them. `edits` are the reasons of the edits."""
    if found := next((name for sign, name in SIGNS.items() if sign in reason), ""):
        return found
    if not edits:
        return ""
    return "observation" if all(any(sign in edit for sign in OF_USE) for edit in edits) else "protection"


def has_switch(defence: str) -> bool:
    assert defence in SWITCHES or defence in WITHOUT_SWITCH, f"there is no defence {defence}"
    return defence in SWITCHES


# -- defences switched off --


@dataclass(frozen=True, slots=True)
class WithoutDefence:
    """The results of a cheat with its defence off, and then with every other defence that refuses it off, one after
    the other."""

    alone: CheatResult
    """With only the defence off that the cheat names."""
    others: tuple[str, ...]
    """What else stops it. At the end all of them are off, except one without a switch."""
    end: CheatResult
    needed: bool
    """True if the defence that the cheat names stops it while all others are off."""


async def judge_without(
    candidate: CapturedCandidate, result: CheatResult, defence: str, behind: bool
) -> WithoutDefence:
    """Judge without the defence that a cheat names; with `behind` also without the others that stop it, one after
    the other."""
    off = [defence]
    alone = end = await candidate.result(defence)
    if not behind:
        return WithoutDefence(alone, (), end, result.refused_by == defence or alone != result)
    while not end.accepted and end.refused_by in SWITCHES and end.refused_by not in off:
        off.append(end.refused_by)
        end = await candidate.result(*off, *NOT_REPEATED)
    others = off[1:]
    needed = result.refused_by == defence or not others or not (await candidate.result(*others, *NOT_REPEATED)).accepted
    unswitched = [end.refused_by] if not end.accepted and end.refused_by in WITHOUT_SWITCH else []
    return WithoutDefence(alone, (*others, *unswitched), end, needed)


@dataclass(frozen=True, slots=True)
class ResultPair:
    result: CheatResult
    without: WithoutDefence | None
    """None if the defence has no switch, or the candidate could not be captured."""


async def judge_with_and_without(tree: Path, defence: str, behind: bool = True) -> ResultPair:
    """The verdict on a tree, and the verdict without one defence."""
    try:
        async with captured_candidate(tree) as candidate:
            result = await candidate.result()
            return ResultPair(
                result, await judge_without(candidate, result, defence, behind) if has_switch(defence) else None
            )
    except DonewhenError as error:
        return ResultPair(refusal(error), None)
