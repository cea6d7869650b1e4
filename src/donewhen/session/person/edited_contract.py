"""A proposed contract that a person edits in its file: the edits become a proposal of their own in the log.

The file is written by `log.plan_files`. A replay repeats the edits from the log, without the file.
"""

import os
from dataclasses import asdict

from donewhen.errors import BadInput
from donewhen.events import ContractProposed
from donewhen.judge.receipt import contract_from
from donewhen.session.log import plan_files
from donewhen.session.log.notes import ProposalNote
from donewhen.session.log.open_archive import local_settings
from donewhen.session.log.state import Plain
from donewhen.session.log.writer import LogWriter
from donewhen.session.settings import contract_file, settings

EDITED = "as edited"
BY_A_PERSON = "edited by a person"


def is_edited(decided: Plain) -> bool:
    """Return True if a `gate_decided` approved a contract as edited. Logs before 0.2 have the text, not the field."""
    return bool(decided.get("edited", decided["decision"] == "approved" and decided.get("answer") == EDITED))


def is_by_person(proposed: Plain) -> bool:
    """Return True if a `contract_proposed` is a person's edit. Logs before 0.2 have the text, not the field."""
    return bool(proposed.get("by_person", proposed.get("reason") == BY_A_PERSON))


def proposal_event(proposal: ProposalNote) -> ContractProposed:
    """Return the event about a contract that is proposed to a person, or that a person changed."""
    return ContractProposed(
        contract=dict(proposal.contract or {}),
        why=proposal.why,
        not_verified=proposal.not_verified,
        revised=proposal.revised,
        reason=proposal.reason,
        by_person=bool(proposal.by_person),
    )


def record_edits(log: LogWriter, contract: Plain | None = None) -> None:
    """Record a person's edits of the file as a proposal, so that a change request or the work builds on them.

    `contract` replaces the file in a replay.
    """
    proposal = edited_proposal(log, contract)
    if proposal is not None:
        log.write(proposal_event(proposal), note=proposal.note(), sync=True)


def edited_proposal(log: LogWriter, contract: Plain | None = None) -> ProposalNote | None:
    """Return the proposal with the checks of its file, or of `contract`; None if nothing was edited."""
    state = log.state
    if not state.proposals or state.proposals[-1].contract is None:
        return None
    contract = contract or _contract_in_file(log)
    if contract is None:
        return None
    last = state.proposals[-1].changed(plan=None, contract=contract, drafted=True)
    return last.changed(revised=True, reason=BY_A_PERSON, by_person=True)


def _contract_in_file(log: LogWriter) -> Plain | None:
    """Return the contract as it is in its file; None if it was not edited."""
    state, file = log.state, plan_files.directory(log.session) / plan_files.EDITABLE
    if not os.path.lexists(file):
        return None
    plan_files.refresh(log.session, state)
    before = contract_from(state.start_note["contract"])
    contract = contract_file.contract_in(local_settings().with_contract_of(file, settings.read(file)))
    if not contract.checks:
        raise BadInput(f"{file}: a contract needs at least one check")
    if contract.checks == before.checks:
        return None
    return asdict(contract_from({**asdict(before), "checks": asdict(contract)["checks"]}))
