"""Verbs for a session without an owner: show its work or its receipt, land it, discard it."""

import contextlib
from collections.abc import AsyncGenerator
from pathlib import Path

from donewhen.errors import BadInput
from donewhen.events import Landed
from donewhen.judge.verdict import Verdict
from donewhen.records import frozen
from donewhen.session.check import receipts
from donewhen.session.check.judge_tree import TreeToJudge, judge_tree
from donewhen.session.conclude import land as landing
from donewhen.session.conclude.conclude import Ending, landing_plan
from donewhen.session.log.notes import Discarded, LandingIntent
from donewhen.session.log.open_archive import any_archive, local_settings
from donewhen.session.log.start_record import StartRecord
from donewhen.session.log.state import SessionState, replay_log
from donewhen.session.log.writer import LogWriter
from donewhen.session.outcome import Outcome
from donewhen.session.person.gates import GateDecision, GateKind, Gates
from donewhen.session.verbs import discard as discarding
from donewhen.session.verbs import offline
from donewhen.session.workplace import Workplace, open_workplace
from donewhen.storage.archive import Archive
from donewhen.workspace.trees import orphans


@frozen
class FinishedSession:
    """A session of the archive, with its repository open."""

    archive: Archive
    workplace: Workplace
    start_record: StartRecord
    state: SessionState


@contextlib.asynccontextmanager
async def open_finished(prefix: str) -> AsyncGenerator[FinishedSession]:
    with any_archive() as archive:
        session = archive.find(prefix)
        state = replay_log(archive.records(session))
        if not state.start_note:
            raise BadInput(f"session {session} never started completely")
        if state.discarded:
            raise BadInput(f"session {session} was discarded; only its log is left")
        start_record = StartRecord.load(state.start_note, local_settings())
        async with open_workplace(Path(start_record.repo), held=start_record.settings) as workplace:
            yield FinishedSession(archive, workplace, start_record, state)


async def diff(prefix: str) -> bytes:
    """Return the work of a session so far, as a patch against its base."""
    async with open_finished(prefix) as found:
        tree = _newest_work(found.state) or await orphans.saved_tree(found.workplace.trees, found.state.tree or "none")
        base = await found.workplace.store.tree_of(found.start_record.base)
        return await found.workplace.store.patch(base, tree) if tree else b""


def _newest_work(state: SessionState) -> str:
    """Return the tree that landed or would land; else the last candidate."""
    if state.landing is not None:
        return state.landing.tree
    made = [one.attempted.candidate for one in state.rounds if one.attempted and one.attempted.candidate]
    return made[-1] if made else ""


async def receipt(prefix: str) -> str:
    """Return the receipt of a verified session."""
    async with open_finished(prefix) as found:
        plan = _require_verified(found)
        file = receipts.kept_file(found.workplace, plan.receipt)
        if not file.is_file():
            raise BadInput(
                f"session {found.start_record.session}: its receipt {file.stem[:12]} is no longer on this machine"
            )
        return file.read_text()


def _require_verified(found: FinishedSession) -> LandingIntent:
    if found.state.landing is None:
        outcome = found.state.finished.outcome if found.state.finished is not None else found.state.run_state
        raise BadInput(f"session {found.start_record.session} is not verified: {outcome}")
    return found.state.landing


async def land(prefix: str, onto: str) -> landing.Landing | landing.LandingRefused:
    """Land a verified session on a branch: its own, or the one that is named."""
    async with open_finished(prefix) as found:
        plan = landing_plan(found.start_record, _require_verified(found))
        with offline.own(found.archive, found.start_record.session) as log:
            _require_not_discarded(log)
            landed = await (_land_onto(found, plan, onto, log) if onto else landing.land_branch(found.workplace, plan))
            if isinstance(landed, landing.Landing):
                await _record_landing(found, log, plan.tree, landed)
            return landed


def _require_not_discarded(log: LogWriter) -> None:
    """Raise BadInput if the session was discarded before we owned its log."""
    if log.state.discarded:
        raise BadInput(f"session {log.session} was discarded; only its log is left")


async def _record_landing(found: FinishedSession, log: LogWriter, tree: str, landed: landing.Landing) -> None:
    """Log the landing. A session that waited for its landing, or died in it, ends with this."""
    event = Landed(branch=landed.branch, commit=landed.commit, note=landed.note)
    if log.state.run_state == "finished":
        log.write(event, sync=True)
        return
    Gates(log, None).decide(True, "land")
    await Ending(found.workplace, found.start_record, log).finish(
        Outcome.VERIFIED, "every check passed", event, tree=tree
    )


async def _land_onto(
    found: FinishedSession, plan: landing.LandingPlan, branch: str, log: LogWriter
) -> landing.Landing | landing.LandingRefused:
    """Land on a branch. If it has moved, judge again as the session did, and write a new receipt."""
    contract = found.start_record.contract
    gate = found.state.gates.get(GateKind.AMENDMENT)
    amended = gate is not None and gate.decision == GateDecision.APPROVED

    async def rejudge(base: str, tree: str) -> Verdict:
        to_judge = TreeToJudge(base=base, candidate=tree, as_is=amended)
        return await judge_tree(found.workplace, contract, to_judge, log.emit)

    async def write_receipt(verdict: Verdict) -> str:
        costs = receipts.ReceiptCosts.of(found.state)
        text = await receipts.receipt_text(found.workplace, verdict, contract, costs, as_is=amended, amended=amended)
        return await receipts.keep(found.workplace, text)

    return await landing.land_onto(found.workplace, plan, branch, rejudge, write_receipt)


async def discard(prefix: str) -> str:
    """Remove the trees and the branch of a session. Return in one line what was left."""
    async with open_finished(prefix) as found:
        with offline.own(found.archive, found.start_record.session) as log:
            _require_not_discarded(log)
            left = await discarding.discard(found.workplace, found.archive, found.start_record.session)
            if log.state.run_state == "finished":
                log.write(note=Discarded().note())
            else:
                offline.end(log, "a person discarded it", note=Discarded().note())
            return left
