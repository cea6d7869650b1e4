"""What can be done with a session when nobody works on it: look at its work, land it, take it away."""

import contextlib
from collections.abc import AsyncGenerator
from pathlib import Path

from donewhen.errors import BadInput
from donewhen.events import Landed
from donewhen.judge.verdict import Verdict
from donewhen.records import frozen
from donewhen.session import discarding, entries, landing, receipts
from donewhen.session import opened as opening
from donewhen.session.archives import any_archive, near
from donewhen.session.checking import judge_tree
from donewhen.session.ending import Ending, landing_plan
from donewhen.session.gates import Gates
from donewhen.session.opened import Opened
from donewhen.session.recorder import Recorder
from donewhen.session.story import DISCARDED, Plain, Story, told
from donewhen.session.workplace import Workplace, open_workplace
from donewhen.storage.archive import Archive
from donewhen.workspace import leftovers


@frozen
class Found:
    """A session of the archive, with its repository opened."""

    archive: Archive
    place: Workplace
    known: Opened
    story: Story


@contextlib.asynccontextmanager
async def found(prefix: str) -> AsyncGenerator[Found]:
    with any_archive() as archive:
        session = archive.find(prefix)
        story = told(archive.records(session))
        if not story.opened:
            raise BadInput(f"session {session} was never opened completely")
        if story.discarded:
            raise BadInput(f"session {session} was discarded; only its log is left")
        known = opening.from_plain(story.opened, near())
        async with open_workplace(Path(known.repo), held=known.settings) as place:
            yield Found(archive, place, known, story)


async def diff(prefix: str) -> bytes:
    """The work of a session so far, as a patch against its base."""
    async with found(prefix) as at:
        tree = _work_of(at.story) or await leftovers.saved(at.place.trees, at.story.tree or "none")
        base = await at.place.store.tree_of(at.known.base)
        return await at.place.store.patch(base, tree) if tree else b""


def _work_of(story: Story) -> str:
    """What landed or would land; else what was made last."""
    if story.landing is not None:
        return str(story.landing["tree"])
    made = [one.attempted["candidate"] for one in story.rounds if one.attempted and "candidate" in one.attempted]
    return str(made[-1]) if made else ""


async def receipt(prefix: str) -> str:
    """The evidence bundle of a verified session."""
    async with found(prefix) as at:
        plan = _verified(at)
        name = str(plan["receipt"]).removeprefix("sha256:")
        file = at.place.trees.directory / "receipts" / f"{name}.json"
        if not file.is_file():
            raise BadInput(f"session {at.known.session}: its receipt {name[:12]} is not on this machine any more")
        return file.read_text()


def _verified(at: Found) -> Plain:
    if at.story.landing is None:
        outcome = (at.story.finished or {}).get("outcome", at.story.state)
        raise BadInput(f"session {at.known.session} is not verified: {outcome}")
    return at.story.landing


async def land(prefix: str, onto: str) -> landing.Landing | landing.Refused:
    """Bring a verified session into a branch: its own, or the one that is named."""
    async with found(prefix) as at:
        plan = landing_plan(at.known, _verified(at))
        with entries.owning(at.archive, at.known.session) as recorder:
            _require_there(recorder)
            landed = await (_onto(at, plan, onto, recorder) if onto else landing.land_branch(at.place, plan))
            if isinstance(landed, landing.Landing):
                await _tell_landed(at, recorder, plan.tree, landed)
            return landed


def _require_there(recorder: Recorder) -> None:
    """Somebody else may have taken it away before the log was ours."""
    if recorder.story.discarded:
        raise BadInput(f"session {recorder.session} was discarded; only its log is left")


async def _tell_landed(at: Found, recorder: Recorder, tree: str, landed: landing.Landing) -> None:
    """A session that waited for its landing, or died in it, has come to its end with this."""
    event = Landed(branch=landed.branch, commit=landed.commit, note=landed.note)
    if recorder.story.state == "finished":
        recorder.write(event, sync=True)
        return
    Gates(recorder, None).decide(True, "land")
    await Ending(at.place, at.known, recorder).finish("verified", "every check passed", event, tree=tree)


async def _onto(at: Found, plan: landing.Plan, branch: str, recorder: Recorder) -> landing.Landing | landing.Refused:
    """A branch that has moved on is judged again, as the session was, and gets a receipt of its own."""
    contract, story = at.known.contract, at.story
    gate = story.gates.get("amendment")
    amended = gate is not None and gate.decision == "approved"

    async def rejudge(base: str, tree: str) -> Verdict:
        return await judge_tree(at.place, contract, base=base, candidate=tree, emit=recorder.emit, as_is=amended)

    async def write_receipt(verdict: Verdict) -> str:
        costs = receipts.Costs(duration_ms=round(story.active_secs * 1000), tokens=story.tokens, usd=story.usd)
        text = await receipts.made(at.place, verdict, contract, costs, as_is=amended, amended=amended)
        return await receipts.keep(at.place, text)

    return await landing.land_onto(at.place, plan, branch, rejudge, write_receipt)


async def discard(prefix: str) -> str:
    """Remove the trees and the branch of a session; what was left alone, in one line."""
    async with found(prefix) as at:
        with entries.owning(at.archive, at.known.session) as recorder:
            _require_there(recorder)
            left = await discarding.discard(at.place, at.archive, at.known.session)
            if recorder.story.state == "finished":
                recorder.write(note=(DISCARDED, {}))
            else:
                entries.end(recorder, "a person discarded it", note=(DISCARDED, {}))
            return left
