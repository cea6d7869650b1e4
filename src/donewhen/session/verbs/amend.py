"""Approval of the edits that a verified session left out: judged, and landed as a second commit with its own receipt.

The first landing stays whatever happens. The decision is recorded before the edits are judged, and what will be landed
before it is landed. A second approval after a crash continues there.
"""

import datetime
from dataclasses import replace

from donewhen.events import Landed
from donewhen.records import frozen
from donewhen.session.check.judge_tree import TreeToJudge, judge_tree, summary
from donewhen.session.conclude import land as landing
from donewhen.session.log.notes import AmendmentIntent, AmendmentRed
from donewhen.session.log.writer import LogWriter
from donewhen.session.person import left_out
from donewhen.session.person.watch import SessionWatcher
from donewhen.session.verbs import offline
from donewhen.session.verbs.finished import FinishedSession, keep_receipt, land_amended, open_finished
from donewhen.workspace.git.landing.branches import tip


@frozen(kw_only=True)
class Amended:
    """What became of approved edits."""

    session: str
    landed: landing.Landing | None = None
    """None if the session lands nothing by itself, or if there is a problem."""
    problem: str = ""
    """One line: what is red, or why nothing could be landed. The first landing is unchanged."""


@frozen
class FirstLanding:
    """Where the first commit of a session is; two empty texts if nothing was landed."""

    branch: str = ""
    commit: str = ""


async def amend(prefix: str, watch: SessionWatcher) -> Amended:
    """Approve the left-out edits of a session, judge the work with them, and land it if it is green."""
    async with open_finished(prefix) as found:
        session = found.start_record.session
        with offline.own(found.archive, session, on_record=watch.on_record, barrier=watch.barrier) as log:
            edits = left_out.require_decidable(log, approved=True)
            if edits.intent is None:
                first = _first_landing(found, log)
                if isinstance(first, landing.LandingRefused):
                    return Amended(session=session, problem=f"not landed: {first.reason}; nothing was changed")
                left_out.decide(log, True, "a person")
                if red := await _judge(found, log, first):
                    why = f"approved, but not green with these edits: {red}; the first landing stays"
                    return Amended(session=session, problem=why)
            landed = await _land(found, log)
            if isinstance(landed, landing.LandingRefused):
                return Amended(session=session, problem=f"not landed: {landed.reason}")
            return Amended(session=session, landed=landed)


def _first_landing(found: FinishedSession, log: LogWriter) -> FirstLanding | landing.LandingRefused:
    """Return the newest landing whose branch is still at our commit. Refuse if there were landings and all moved."""
    repo, landings = found.workplace.repo, log.state.landings
    for one in reversed(landings):
        if tip(repo, one.branch) == one.commit:
            return FirstLanding(one.branch, one.commit)
    if not landings:
        return FirstLanding()
    last = landings[-1]
    return landing.LandingRefused(landing.has_moved(last.branch, tip(repo, last.branch), last.commit))


async def _judge(found: FinishedSession, log: LogWriter, first: FirstLanding) -> str:
    """Judge the candidate as it is, and record what will be landed. Return what is red; empty if it is green."""
    start_record, judged = found.start_record, log.state.last_judged
    assert judged is not None and judged.candidate is not None  # only judged work has left-out edits
    tree = TreeToJudge(base=start_record.base, candidate=judged.candidate, as_is=True)
    verdict = await judge_tree(found.workplace, start_record.contract, tree, log.emit)
    if not verdict.green:
        log.write(note=AmendmentRed(reason=summary(verdict)).note(), sync=True)
        return summary(verdict)
    intent = AmendmentIntent(
        tree=verdict.tree,
        receipt=await keep_receipt(found, log, verdict, amended=True),
        at=datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        branch=first.branch,
        parent=first.commit,
    )
    log.write(note=intent.note(), sync=True)
    return ""


async def _land(found: FinishedSession, log: LogWriter) -> landing.Landing | landing.LandingRefused | None:
    """Land what is recorded. Return None if nothing of the session was landed: then nothing is landed now."""
    edits, verified = log.state.left_out, log.state.landing
    assert edits is not None and edits.intent is not None and verified is not None  # recorded a moment ago, or before
    intent = edits.intent
    if not intent.branch:
        return None
    landed = await land_amended(found, log, intent.branch, only_on=intent.parent)
    if isinstance(landed, landing.LandingRefused):
        return landed
    landed = replace(landed, note="")  # that it is there already is normal after a crash
    is_own = intent.branch == landing.branch_name(log.session)
    if is_own and found.start_record.settings.text("engine", "land") == "apply":
        landed = await landing.apply_amended(
            found.workplace, landed, found.start_record.base, verified.tree, intent.tree
        )
    log.write(Landed(branch=landed.branch, commit=landed.commit, note=landed.note, amended=True), sync=True)
    return landed
