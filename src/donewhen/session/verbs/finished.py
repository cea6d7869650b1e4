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
from donewhen.session.log import start_record as opening
from donewhen.session.log.notes import Discarded, LandingIntent
from donewhen.session.log.open_archive import any_archive, near
from donewhen.session.log.start_record import StartRecord
from donewhen.session.log.state import SessionState, told
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
    place: Workplace
    known: StartRecord
    story: SessionState


@contextlib.asynccontextmanager
async def found(prefix: str) -> AsyncGenerator[FinishedSession]:
    with any_archive() as archive:
        session = archive.find(prefix)
        story = told(archive.records(session))
        if not story.opened:
            raise BadInput(f"session {session} never started completely")
        if story.discarded:
            raise BadInput(f"session {session} was discarded; only its log is left")
        known = opening.from_plain(story.opened, near())
        async with open_workplace(Path(known.repo), held=known.settings) as place:
            yield FinishedSession(archive, place, known, story)


async def diff(prefix: str) -> bytes:
    """Return the work of a session so far, as a patch against its base."""
    async with found(prefix) as at:
        tree = _work_of(at.story) or await orphans.saved_tree(at.place.trees, at.story.tree or "none")
        base = await at.place.store.tree_of(at.known.base)
        return await at.place.store.patch(base, tree) if tree else b""


def _work_of(story: SessionState) -> str:
    """Return the tree that landed or would land; else the last candidate."""
    if story.landing is not None:
        return story.landing.tree
    made = [one.attempted.candidate for one in story.rounds if one.attempted and one.attempted.candidate]
    return made[-1] if made else ""


async def receipt(prefix: str) -> str:
    """Return the receipt of a verified session."""
    async with found(prefix) as at:
        plan = _verified(at)
        name = plan.receipt.removeprefix("sha256:")
        file = at.place.trees.directory / "receipts" / f"{name}.json"
        if not file.is_file():
            raise BadInput(f"session {at.known.session}: its receipt {name[:12]} is no longer on this machine")
        return file.read_text()


def _verified(at: FinishedSession) -> LandingIntent:
    if at.story.landing is None:
        outcome = at.story.finished.outcome if at.story.finished is not None else at.story.state
        raise BadInput(f"session {at.known.session} is not verified: {outcome}")
    return at.story.landing


async def land(prefix: str, onto: str) -> landing.Landing | landing.LandingRefused:
    """Land a verified session on a branch: its own, or the one that is named."""
    async with found(prefix) as at:
        plan = landing_plan(at.known, _verified(at))
        with offline.owning(at.archive, at.known.session) as recorder:
            _require_not_discarded(recorder)
            landed = await (_land_onto(at, plan, onto, recorder) if onto else landing.land_branch(at.place, plan))
            if isinstance(landed, landing.Landing):
                await _record_landing(at, recorder, plan.tree, landed)
            return landed


def _require_not_discarded(recorder: LogWriter) -> None:
    """Raise BadInput if the session was discarded before we owned its log."""
    if recorder.story.discarded:
        raise BadInput(f"session {recorder.session} was discarded; only its log is left")


async def _record_landing(at: FinishedSession, recorder: LogWriter, tree: str, landed: landing.Landing) -> None:
    """Log the landing. A session that waited for its landing, or died in it, ends with this."""
    event = Landed(branch=landed.branch, commit=landed.commit, note=landed.note)
    if recorder.story.state == "finished":
        recorder.write(event, sync=True)
        return
    Gates(recorder, None).decide(True, "land")
    await Ending(at.place, at.known, recorder).finish(Outcome.VERIFIED, "every check passed", event, tree=tree)


async def _land_onto(
    at: FinishedSession, plan: landing.LandingPlan, branch: str, recorder: LogWriter
) -> landing.Landing | landing.LandingRefused:
    """Land on a branch. If it has moved, judge again as the session did, and write a new receipt."""
    contract, story = at.known.contract, at.story
    gate = story.gates.get(GateKind.AMENDMENT)
    amended = gate is not None and gate.decision == GateDecision.APPROVED

    async def rejudge(base: str, tree: str) -> Verdict:
        to_judge = TreeToJudge(base=base, candidate=tree, as_is=amended)
        return await judge_tree(at.place, contract, to_judge, recorder.emit)

    async def write_receipt(verdict: Verdict) -> str:
        costs = receipts.ReceiptCosts(duration_ms=round(story.active_secs * 1000), tokens=story.tokens, usd=story.usd)
        text = await receipts.made(at.place, verdict, contract, costs, as_is=amended, amended=amended)
        return await receipts.keep(at.place, text)

    return await landing.land_onto(at.place, plan, branch, rejudge, write_receipt)


async def discard(prefix: str) -> str:
    """Remove the trees and the branch of a session. Return in one line what was left."""
    async with found(prefix) as at:
        with offline.owning(at.archive, at.known.session) as recorder:
            _require_not_discarded(recorder)
            left = await discarding.discard(at.place, at.archive, at.known.session)
            if recorder.story.state == "finished":
                recorder.write(note=Discarded().note())
            else:
                offline.end(recorder, "a person discarded it", note=Discarded().note())
            return left
