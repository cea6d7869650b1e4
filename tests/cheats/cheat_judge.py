"""The judge as `donewhen check` calls it, with a way to take one defence off, and what it said in a few words."""

import os
import tempfile
from dataclasses import dataclass, fields, replace
from pathlib import Path

from cheat import WITHOUT_SWITCH

from donewhen.errors import DonewhenError
from donewhen.events import Event
from donewhen.judge.contract import Contract
from donewhen.judge.defences import ALL, Defences
from donewhen.judge.verdict import Verdict
from donewhen.session import checking, contract_file, settings
from donewhen.session.trust import TrustBook
from donewhen.session.workplace import open_workplace
from donewhen.workspace.state import state_root
from repositories import git

SWITCHES = tuple(field.name for field in fields(Defences))


@dataclass(frozen=True, slots=True)
class Said:
    """What became of a candidate."""

    accepted: bool
    status: str
    why: str
    discriminating: bool | None = None


async def judged(tree: Path, defences: Defences = ALL, fresh: bool = False) -> Verdict:
    """As a session judges: the contract was read before the work began."""
    TrustBook(state_root(os.environ)).accept(tree / "donewhen.toml")
    async with open_workplace(tree) as place:
        contract = contract_before(tree)
        return await checking.check(place, contract, checking.Request(defences=defences, fresh=fresh), not_told)


def contract_before(tree: Path) -> Contract:
    with tempfile.TemporaryDirectory() as name:
        Path(name, "donewhen.toml").write_text(git(tree, "show", "HEAD:donewhen.toml") + "\n")
        return contract_file.contract_in(settings.load(Path(name), Path(name), os.environ, None))


def not_told(event: Event) -> None:
    del event


async def verdict_on(tree: Path, without: str = "") -> Said:
    """A refusal is a verdict, too: the candidate is not accepted."""
    defences = replace(ALL, **{without: False}) if without else ALL
    try:
        verdict = await judged(tree, defences)
    except DonewhenError as error:
        return Said(False, "refused", str(error))
    found = [result for result in verdict.results if result.status.value != "pass"]
    why = [reason for result in found for reason in result.reasons]
    edited = [f"not graded: {edit.path}" for edit in verdict.edits]
    status = found[0].status.value if found else "pass"
    return Said(verdict.green, status, "; ".join([*edited[:1], *why[:1]]), verdict.discriminating)


def has_switch(defence: str) -> bool:
    assert defence in SWITCHES or defence in WITHOUT_SWITCH, f"there is no defence {defence}"
    return defence in SWITCHES
