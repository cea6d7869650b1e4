"""Approval of a plan or contract by a person: it is shown, approved, denied, edited as a file, or sent back.

This covers the proposals of `draft_plan`, shown with their baseline, and the plans of the foreman. A foreman's plan is
a note of that engine; here is only when the session stops for it, and what a person decided about it. A decision is in
the log before it counts.
"""

import os
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Protocol

from donewhen.engines.foreman.engine import APPROVED, ForemanEngine
from donewhen.engines.foreman.plan_request import PLANNED, WISH, LimitReached, NoPlan, is_plan
from donewhen.engines.foreman.subtask_plan import Unsound, plan_in
from donewhen.engines.interface import Note
from donewhen.errors import BadInput, NeedsPerson
from donewhen.events import GateDecided
from donewhen.judge.receipt import contract_from
from donewhen.session.log import plan_files
from donewhen.session.log.open_archive import near
from donewhen.session.log.start_record import StartRecord
from donewhen.session.log.state import PROPOSED, Gate, Plain, SessionState
from donewhen.session.log.writer import LogWriter, StepNotebook
from donewhen.session.loop.round import LadderStep, RoundContext
from donewhen.session.loop.stop_rules import Stop
from donewhen.session.person.gates import WORDS, Gates
from donewhen.session.planned.draft_plan import proposed
from donewhen.session.settings import contract_file, settings

KINDS = ("contract", "plan")
EDITED = "as edited"
BY_A_PERSON = "edited by a person"


def is_edited(decided: Plain) -> bool:
    """Return True if a `gate_decided` approved a contract as edited. Logs before 0.2 have the text, not the field."""
    return bool(decided.get("edited", decided["decision"] == "approved" and decided.get("answer") == EDITED))


def is_by_person(proposed: Plain) -> bool:
    """Return True if a `contract_proposed` is a person's edit. Logs before 0.2 have the text, not the field."""
    return bool(proposed.get("by_person", proposed.get("reason") == BY_A_PERSON))


class Proposes(Protocol):
    @property
    def recorder(self) -> LogWriter: ...

    async def propose(self) -> Stop | None: ...


async def settled(drafting: Proposes, story: SessionState, opened: StartRecord, gates: Gates) -> Stop | None:
    """Propose until a person approves. Return None if the work may start, else why not."""
    while not is_taken(story):
        if (not story.proposals or story.wish) and (stop := await drafting.propose()) is not None:
            return stop
        if not _asks(story, opened):
            return None
        plan_files.refresh(drafting.recorder.session, story)
        kind = "contract" if story.proposals[-1]["contract"] is not None else "plan"
        decision = await gates.ask(f"{kind}-{len(story.proposals)}", "\n".join(detail(story)))
        if decision is None:
            return Stop("waits", WORDS[kind])
        if not decision and not story.wish:
            return Stop("refused", f"the proposed {kind} was refused")
    if not story.rounds:
        _take_edits(drafting.recorder)
    return None


def _asks(story: SessionState, opened: StartRecord) -> bool:
    """Return True if a person decides.

    A person decides on a plan that was asked for alone, and on a contract that was not given, unless with --yes. A
    person never decides on a drafted contract that asks for nothing.
    """
    if opened.drafts and asks_for_nothing(story) and not opened.settings.flag("contract", "allow_green"):
        return False
    return opened.plans or "contract" in story.gates or (opened.drafts and not opened.yes)


def asks_for_nothing(story: SessionState) -> bool:
    """Return True if everything that was drafted is green already. For a substitute contract this is False."""
    results = (story.baseline or {}).get("results", ())
    return bool(results) and all(one["status"] == "pass" for one in results) and story.proposals[-1]["drafted"]


def is_taken(story: SessionState) -> bool:
    return any(gate.kind in KINDS and gate.decision == "approved" for gate in story.gates.values())


def detail(story: SessionState) -> Iterator[str]:
    """Yield everything that a person decides about."""
    last, plan, tracker = story.proposals[-1], plan_files.plan_in(story), plan_files.tracker_in(story)
    if last["revised"] is False:
        yield from (f"Not revised: {last['reason']}", "")
    if plan is not None and tracker is not None:
        yield from (*plan.spec.strip().splitlines(), "")
    yield from plan_files.contract_lines(contract_from(story.opened["contract"]), story, plan)
    if plan is not None and tracker is not None:
        yield from ("", *tracker.rendered().strip().splitlines())
        if plan.filled:
            yield from ("", "What the planner left open:", *(f"- {one}" for one in plan.filled))


def taken_as_edited(recorder: LogWriter, by: str) -> bool:
    """Approve a contract that was changed in its file. Return False if it was not: then the decision is an ordinary
    one.
    """
    gate = recorder.story.gate
    body = _edited(recorder) if gate is not None and gate.kind == "contract" else None
    if gate is None or body is None:
        return False
    _take(recorder, gate, body, by)
    return True


def taken_with(recorder: LogWriter, contract: Plain) -> bool:
    """Approve a proposal with another contract, as a person did in a recorded session. Return False if none waits."""
    story, gate = recorder.story, recorder.story.gate
    if gate is None or gate.kind != "contract" or not story.proposals:
        return False
    _take(recorder, gate, _with_checks(story.proposals[-1], contract), "a person")
    return True


def proposed_with(recorder: LogWriter, contract: Plain) -> None:
    """Propose a contract, as a person did in a recorded session."""
    if recorder.story.proposals:
        _propose(recorder, _with_checks(recorder.story.proposals[-1], contract))


def keep_edits(recorder: LogWriter) -> None:
    """Record a person's edits of the file as a proposal, so that a change request builds on them."""
    body = _edited(recorder)
    if body is not None:
        _propose(recorder, body)


def _propose(recorder: LogWriter, body: Plain) -> None:
    recorder.write(proposed(body), note=(PROPOSED, body), sync=True)


def _take(recorder: LogWriter, gate: Gate, body: Plain, by: str) -> None:
    decided = GateDecided(gate=gate.kind, id=gate.id, decision="approved", by=by, answer=EDITED, edited=True)
    recorder.write(decided, proposed(body), note=(PROPOSED, body), sync=True)


def _take_edits(recorder: LogWriter) -> None:
    """Record the edits for a decision that was made while the session ran. The file counts as it is when the work
    begins.
    """
    try:
        keep_edits(recorder)
    except BadInput as unsound:
        raise NeedsPerson(
            f"the contract is taken, but not as it was edited: {unsound}; mend that, and resume"
        ) from None


def _edited(recorder: LogWriter) -> Plain | None:
    """Return the proposal with the checks of its file; None if nothing was edited."""
    story, file = recorder.story, _file(recorder)
    last: Plain = story.proposals[-1] if story.proposals else {}
    if not last or last["contract"] is None or not os.path.lexists(file):
        return None
    plan_files.refresh(recorder.session, story)
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


def _file(recorder: LogWriter) -> Path:
    return plan_files.directory(recorder.session) / plan_files.EDITABLE


RUNG = "foreman"


async def stop_for(bench: RoundContext, rungs: Sequence[LadderStep]) -> Stop | None:
    """Return why the session stops at the foreman's plan; None if the plan was approved."""
    if _notes(bench.recorder.story, APPROVED):
        return None
    foreman = next((rung for rung in rungs if isinstance(rung.engine, ForemanEngine)), None)
    if foreman is None:
        return Stop("declined", next((rung.reason for rung in rungs if rung.name == RUNG), "nobody can plan"))
    assert isinstance(foreman.engine, ForemanEngine)
    bench.recorder.move("running")
    try:
        plan = await foreman.engine.planned(bench.job_to_plan(foreman), bench.recorder.emit)
    except NoPlan as none:
        return Stop("declined", f"there is no plan: {none}", word="plan_invalid")
    except LimitReached:
        return Stop("budget", bench.budget.reached())
    bench.recorder.move("proposed")
    decision = await Gates(bench.recorder, None).ask(_gate(bench.recorder.story), plan.rendered())
    if decision is None:
        return Stop("waits", WORDS["plan"])
    if not decision:
        return Stop("refused", "the plan was refused")
    StepNotebook(bench.recorder, RUNG).write(Note(APPROVED, {}))
    return None


def wishes(recorder: LogWriter, text: str) -> bool:
    """Record a change request for the waiting plan. Return False if none waits."""
    gate = recorder.story.gate
    if gate is None or gate.kind != "plan":
        return False
    if is_plan(text):
        try:
            plan_in(text)
        except Unsound as unsound:
            raise BadInput(f"the plan cannot be used: {'; '.join(unsound.issues)}") from unsound
    decided = GateDecided(gate="plan", id=gate.id, decision="changed", by="a person", answer=text)
    recorder.write(decided, note=(f"{RUNG}.{WISH}", {"text": text}), sync=True)
    return True


def _gate(story: SessionState) -> str:
    """Return the id of the gate. Every plan has a gate of its own."""
    return f"plan-{len(_notes(story, PLANNED))}"


def _notes(story: SessionState, kind: str) -> list[Note]:
    return [note for note in story.notes.get(RUNG, ()) if note.kind == kind]
