"""How a session comes to its end: it lands, it finishes, or it waits. Intents are durable before their effects."""

import datetime
from collections.abc import Sequence
from typing import Any

from donewhen.events import DiffReady, Event, Landed, SessionFinished, StateChanged
from donewhen.session import handoff, landing, receipts
from donewhen.session.opened import Opened
from donewhen.session.outcome import Outcome
from donewhen.session.recorder import Recorder
from donewhen.session.story import LANDING, Plain
from donewhen.session.workplace import Workplace

WELL = ("verified", "already_satisfied", "no_change")
"""Endings after which nothing is left to do."""


class Ending:
    def __init__(self, place: Workplace, opened: Opened, recorder: Recorder) -> None:
        self._place = place
        self._opened = opened
        self._recorder = recorder

    async def intend(self, tree: str, receipt_text: str, results: Sequence[Plain]) -> Plain:
        """What will be landed, written down before anything is written to the user's repository."""
        digest = await receipts.keep(self._place, receipt_text)
        await self._place.store.keep(f"sessions/{self._opened.session}/judged", tree)
        now = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
        plan: dict[str, Any] = {"tree": tree, "receipt": digest, "at": now, "results": list(results)}
        self._recorder.write(await self._diff(tree), note=(LANDING, plan), sync=True)
        return plan

    async def land(self, plan: Plain) -> Outcome:
        """Bring the judged tree to where it was asked for; repeating it after a crash changes nothing."""
        how = self._opened.settings.text("engine", "land")
        events: list[Event] = []
        if how != "none":
            land = landing.land_apply if how == "apply" else landing.land_branch
            landed = await land(self._place, landing_plan(self._opened, plan))
            events.append(Landed(branch=landed.branch, commit=landed.commit, note=landed.note))
        return await self.finish("verified", "every check passed", *events, tree=str(plan["tree"]))

    async def finish(self, name: str, reason: str, *events: Event, tree: str = "") -> Outcome:
        """Write the last word; after an ending that is no success also what helps a person to go on."""
        story, opened = self._recorder.story, self._opened
        judged = story.last_judged or {}
        results = (story.landing or judged or story.baseline or {}).get("results", [])
        told = list(events)
        if not tree and judged.get("tree"):
            tree = str(judged["tree"])
            told.append(await self._diff(tree))
        passed = sum(one["status"] == "pass" for one in results)
        summary = f"{name}: {passed} of {len(results)} checks passed"
        if refused := "" if story.landing else str(judged.get("refused", "")):
            reason = f"{reason}; the last work was refused and not judged: {refused}"
            summary = f"{name}: the last work was refused and not judged: {refused}"
        finished = SessionFinished(
            outcome=name,
            reason=reason,
            iterations=story.iterations,
            results=tuple(results),
            summary=summary,
            tree=tree or await self._place.store.tree_of(opened.base),
            refused=tuple(judged.get("refused_paths", ())) if refused else (),
        )
        moved = [StateChanged(from_=story.state, to="finished")] if story.state != "finished" else []
        self._recorder.write(*told, *moved, finished, sync=True)
        if name in WELL:
            handoff.remove(opened.session)  # of an earlier ending
        else:
            handoff.write(opened.session, story)
        return Outcome(opened.session, name, reason)

    def wait(self, *events: Event, reason: str) -> Outcome:
        """Leave it to a person, or to time."""
        story = self._recorder.story
        moved = [StateChanged(from_=story.state, to="waiting")] if story.state != "waiting" else []
        if events or moved:
            self._recorder.write(*events, *moved, sync=True)
        return Outcome(self._opened.session, "waiting", reason)

    async def _diff(self, tree: str) -> DiffReady:
        size = await self._place.store.diffstat(await self._place.store.tree_of(self._opened.base), tree)
        return DiffReady(files=size.files, insertions=size.insertions, deletions=size.deletions)


def landing_plan(opened: Opened, plan: Plain) -> landing.Plan:
    return landing.Plan(
        session=opened.session,
        intent=opened.intent,
        base=opened.base,
        tree=str(plan["tree"]),
        parent=opened.parent,
        receipt_digest=str(plan["receipt"]),
        at=str(plan["at"]),
    )
