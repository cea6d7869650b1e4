"""Verbs for a session without an owner: show its work or its receipt, land it, discard it."""

import contextlib
from collections.abc import AsyncGenerator
from dataclasses import replace
from pathlib import Path

from donewhen.errors import BadInput
from donewhen.events import Landed
from donewhen.judge.verdict import Verdict
from donewhen.records import frozen
from donewhen.session.check import receipts
from donewhen.session.check.rejudging import Rejudging
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
from donewhen.workspace.git.landing.branches import tip
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


async def diff(prefix: str, candidate: bool = False) -> bytes:
    """Return the work of a session so far, as a patch against its base.

    `candidate`: all that was made, with the edits of protected paths that are not graded.
    """
    async with open_finished(prefix) as found:
        tree = _last_candidate(found.state) if candidate else _newest_work(found.state)
        tree = tree or await orphans.saved_tree(found.workplace.trees, found.state.tree or "none")
        base = await found.workplace.store.tree_of(found.start_record.base)
        return await found.workplace.store.patch(base, tree) if tree else b""


def _newest_work(state: SessionState) -> str:
    """Return the tree that landed or would land; else the last candidate."""
    if state.left_out is not None and state.left_out.intent is not None:
        return state.left_out.intent.tree
    return state.landing.tree if state.landing is not None else _last_candidate(state)


def _last_candidate(state: SessionState) -> str:
    made = [one.attempted.candidate for one in state.rounds if one.attempted and one.attempted.candidate]
    return made[-1] if made else ""


async def receipt(prefix: str, amended: bool = False) -> str:
    """Return the receipt of a verified session; with `amended`, that of its second commit."""
    async with open_finished(prefix) as found:
        plan = _require_verified(found)
        intent = found.state.left_out.intent if found.state.left_out is not None else None
        if amended and intent is None:
            raise BadInput(f"session {found.start_record.session} has no approved left-out edits")
        if not plan.receipt:
            raise BadInput(f"session {found.start_record.session} has no receipt: its contract was not green")
        file = receipts.kept_file(found.workplace, intent.receipt if amended and intent else plan.receipt)
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


def _require_proceeded(found: FinishedSession) -> None:
    """Raise BadInput for a round of a loop whose work nobody and no gate accepted, or whose contract was red."""
    session, ended = found.start_record.session, found.state.finished
    if ended is None:
        raise BadInput(f"session {session} is a loop round; decide about its work: donewhen approve {session}")
    if Outcome.of(ended.outcome) is not Outcome.VERIFIED:
        raise BadInput(f"session {session} is not verified: {ended.outcome} ({ended.reason})")
    if not _require_verified(found).receipt:
        raise BadInput(f"session {session} has no work with a green contract")


async def land(prefix: str, onto: str) -> landing.Landing | landing.LandingRefused:
    """Land a verified session on a branch: its own, or the one that is named."""
    async with open_finished(prefix) as found:
        if found.start_record.loop is not None:
            _require_proceeded(found)
        plan = landing_plan(found.start_record, _require_verified(found))
        with offline.own(found.archive, found.start_record.session) as log:
            _require_not_discarded(log)
            if log.state.left_out is not None and log.state.left_out.intent is not None:
                return await _land_both(found, log, plan, onto)
            landed = await (_land_onto(found, plan, onto, log) if onto else landing.land_branch(found.workplace, plan))
            if isinstance(landed, landing.Landing):
                await _record_landing(found, log, plan.tree, landed)
            return landed


async def _land_both(
    found: FinishedSession, log: LogWriter, plan: landing.LandingPlan, onto: str
) -> landing.Landing | landing.LandingRefused:
    """Land verified work and its approved left-out edits. The session's own branch always has two commits."""
    own = landing.branch_name(plan.session)
    if not onto and tip(found.workplace.repo, own) is None:
        await _record_landing(found, log, plan.tree, await landing.land_branch(found.workplace, plan))
    landed = await land_amended(found, log, onto or own)
    if isinstance(landed, landing.Landing):
        log.write(Landed(branch=landed.branch, commit=landed.commit, note=landed.note, amended=True), sync=True)
    return landed


async def land_amended(
    found: FinishedSession, log: LogWriter, branch: str, only_on: str = ""
) -> landing.Landing | landing.LandingRefused:
    """Land work with its approved left-out edits: on top of the first landing, or all of it on another branch.

    `only_on` refuses a branch that is no longer at this commit.
    """
    edits, verified = log.state.left_out, log.state.landing
    assert edits is not None and edits.intent is not None and verified is not None  # the callers require it
    plan = replace(landing_plan(found.start_record, edits.intent), amended=True, only_on=only_on)
    there = tip(found.workplace.repo, branch)
    is_first = any(one.commit == there for one in log.state.landings)
    if there is not None and is_first and await found.workplace.store.tree_of(there) == verified.tree:
        plan = replace(plan, parent=there)  # exactly what was judged comes out, so it is not judged again
    return await _land_onto(found, plan, branch, log)


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
    gate = found.state.gates.get(GateKind.AMENDMENT)
    amended = plan.amended or (gate is not None and gate.decision == GateDecision.APPROVED)
    judge = Rejudging(found.workplace, found.start_record.contract, log, amended)
    return await landing.land_onto(found.workplace, plan, branch, judge.rejudge, judge.write_receipt)


async def keep_receipt(found: FinishedSession, log: LogWriter, verdict: Verdict, amended: bool) -> str:
    """Write the receipt of a new verdict on a finished session. Return its digest."""
    return await Rejudging(found.workplace, found.start_record.contract, log, amended).write_receipt(verdict)


async def discard(prefix: str) -> str:
    """Remove the trees and the branch of a session. Return in one line what was left."""
    async with open_finished(prefix) as found:
        with offline.own(found.archive, found.start_record.session) as log:
            _require_not_discarded(log)
            if found.start_record.loop is not None and (decision := offline.decision_to_carry_out(log.state)):
                raise BadInput(
                    f"session {log.session} was {decision}, which is not carried out yet; first: donewhen resume "
                    f"{log.session}, or donewhen cancel {log.session}"
                )
            left = await discarding.discard(found.workplace, found.archive, found.start_record.session)
            if log.state.run_state == "finished":
                log.write(note=Discarded().note())
            else:
                offline.end(log, "a person discarded it", note=Discarded().note())
            return left
