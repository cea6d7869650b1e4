"""A proposal that waits for a person: shown with its baseline, taken, refused, edited as a file, or sent back in words.

What is proposed is made in `drafting`. A decision is in the log before it counts.
"""

import os
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Protocol

from donewhen.errors import BadInput, NeedsPerson
from donewhen.events import GateDecided
from donewhen.judge.receipt import contract_from
from donewhen.session import artifacts, contract_file, settings
from donewhen.session.archives import near
from donewhen.session.gates import WORDS, Gates
from donewhen.session.opened import Opened
from donewhen.session.proposing import proposed
from donewhen.session.recorder import Recorder
from donewhen.session.stopping import Stop
from donewhen.session.story import PROPOSED, Gate, Plain, Story

KINDS = ("contract", "plan")
EDITED = "as edited"
BY_A_PERSON = "edited by a person"


def is_edited(decided: Plain) -> bool:
    """Whether a `gate_decided` approved a contract as edited. Logs of before 0.2 lack the field and have the words."""
    return bool(decided.get("edited", decided["decision"] == "approved" and decided.get("answer") == EDITED))


def is_by_person(proposed: Plain) -> bool:
    """Whether a `contract_proposed` is a person's edit. Logs of before 0.2 lack the field and have the words."""
    return bool(proposed.get("by_person", proposed.get("reason") == BY_A_PERSON))


class Proposes(Protocol):
    @property
    def recorder(self) -> Recorder: ...

    async def propose(self) -> Stop | None: ...


async def settled(drafting: Proposes, story: Story, opened: Opened, gates: Gates) -> Stop | None:
    """Propose, and propose again, until somebody takes it; why not, where nobody does."""
    while not is_taken(story):
        if (not story.proposals or story.wish) and (stop := await drafting.propose()) is not None:
            return stop
        if not _asks(story, opened):
            return None
        artifacts.refresh(drafting.recorder.session, story)
        kind = "contract" if story.proposals[-1]["contract"] is not None else "plan"
        decision = await gates.ask(f"{kind}-{len(story.proposals)}", "\n".join(detail(story)))
        if decision is None:
            return Stop("waits", WORDS[kind])
        if not decision and not story.wish:
            return Stop("refused", f"the proposed {kind} was refused")
    if not story.rounds:
        _take_edits(drafting.recorder)
    return None


def _asks(story: Story, opened: Opened) -> bool:
    """Whether a person decides: on a plan that was asked for by itself, on a contract that nobody gave unless with
    --yes; and never on one that asks for nothing."""
    if opened.drafts and asks_for_nothing(story) and not opened.settings.flag("contract", "allow_green"):
        return False
    return opened.plans or "contract" in story.gates or (opened.drafts and not opened.yes)


def asks_for_nothing(story: Story) -> bool:
    """Whether all that was drafted is green already. A contract that had to be taken instead says nothing of it."""
    results = (story.baseline or {}).get("results", ())
    return bool(results) and all(one["status"] == "pass" for one in results) and story.proposals[-1]["drafted"]


def is_taken(story: Story) -> bool:
    return any(gate.kind in KINDS and gate.decision == "approved" for gate in story.gates.values())


def detail(story: Story) -> Iterator[str]:
    """All that a person decides about."""
    last, plan, tracker = story.proposals[-1], artifacts.plan_in(story), artifacts.tracker_in(story)
    if last["revised"] is False:
        yield from (f"Not revised: {last['reason']}", "")
    if plan is not None and tracker is not None:
        yield from (*plan.spec.strip().splitlines(), "")
    yield from artifacts.contract_lines(contract_from(story.opened["contract"]), story, plan)
    if plan is not None and tracker is not None:
        yield from ("", *tracker.rendered().strip().splitlines())
        if plan.filled:
            yield from ("", "What the planner left open:", *(f"- {one}" for one in plan.filled))


def taken_as_edited(recorder: Recorder, by: str) -> bool:
    """Take a contract that was changed in its file; False when it was not, and the decision is an ordinary one."""
    gate = recorder.story.gate
    body = _edited(recorder) if gate is not None and gate.kind == "contract" else None
    if gate is None or body is None:
        return False
    _take(recorder, gate, body, by)
    return True


def taken_with(recorder: Recorder, contract: Plain) -> bool:
    """Take a proposal with another contract, as a person did before; False when none waits."""
    story, gate = recorder.story, recorder.story.gate
    if gate is None or gate.kind != "contract" or not story.proposals:
        return False
    _take(recorder, gate, _with_checks(story.proposals[-1], contract), "a person")
    return True


def proposed_with(recorder: Recorder, contract: Plain) -> None:
    """Put a contract before whoever decides, as a person did before."""
    if recorder.story.proposals:
        _propose(recorder, _with_checks(recorder.story.proposals[-1], contract))


def keep_edits(recorder: Recorder) -> None:
    """What somebody has changed in the file counts for whoever is asked to change more of it."""
    body = _edited(recorder)
    if body is not None:
        _propose(recorder, body)


def _propose(recorder: Recorder, body: Plain) -> None:
    recorder.write(proposed(body), note=(PROPOSED, body), sync=True)


def _take(recorder: Recorder, gate: Gate, body: Plain, by: str) -> None:
    decided = GateDecided(gate=gate.kind, id=gate.id, decision="approved", by=by, answer=EDITED, edited=True)
    recorder.write(decided, proposed(body), note=(PROPOSED, body), sync=True)


def _take_edits(recorder: Recorder) -> None:
    """The same for a decision that was taken while the session ran: the file counts as it is when the work begins."""
    try:
        keep_edits(recorder)
    except BadInput as unsound:
        raise NeedsPerson(
            f"the contract is taken, but not as it was edited: {unsound}; mend that, and resume"
        ) from None


def _edited(recorder: Recorder) -> Plain | None:
    """The proposal with the checks as somebody has them in its file; None where nothing was edited."""
    story, file = recorder.story, _file(recorder)
    last: Plain = story.proposals[-1] if story.proposals else {}
    if not last or last["contract"] is None or not os.path.lexists(file):
        return None
    artifacts.refresh(recorder.session, story)
    before = contract_from(story.opened["contract"])
    contract = contract_file.contract_in(near().stating(file, settings.read(file)))
    if not contract.checks:
        raise BadInput(f"{file}: a contract without a check says nothing; there must be at least one")
    if contract.checks == before.checks:
        return None
    edited = asdict(contract_from({**asdict(before), "checks": asdict(contract)["checks"]}))
    return _with_checks(last, edited)


def _with_checks(last: Plain, contract: Plain) -> Plain:
    changed = {"contract": contract, "revised": True, "reason": BY_A_PERSON, "by_person": True}
    return {**last, "plan": None, "drafted": True, **changed}


def _file(recorder: Recorder) -> Path:
    return artifacts.directory(recorder.session) / artifacts.EDITABLE
