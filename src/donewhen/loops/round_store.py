"""What a loop round reads from the loop store and writes to it: earlier rounds, limits and findings."""

import datetime
import os
from collections.abc import Callable, Container
from pathlib import Path

from donewhen.errors import BadInput, MachineryBroke
from donewhen.events import RoundFinished
from donewhen.loops import limits
from donewhen.loops.autonomy import why_not_alone
from donewhen.loops.levels import demote_for
from donewhen.loops.limits import Spent
from donewhen.loops.loop_memory import LoopMemory
from donewhen.loops.loop_records import FindingStatus, LoopFinding, LoopUsage, LoopWork, RoundEnd
from donewhen.loops.loop_store import LoopStore
from donewhen.loops.spec import ActionKind, LoopSpec
from donewhen.loops.spec_files import usable_loops
from donewhen.loops.work_review import is_in
from donewhen.session.conclude.land import branch_name
from donewhen.session.outcome import STOPPED
from donewhen.session.settings.trust import TrustBook
from donewhen.session.workplace import Workplace
from donewhen.workspace.git.landing.branches import tip
from donewhen.workspace.git.store import object_mirror
from donewhen.workspace.state_dir import state_root

KNOWN_WORDS = {
    FindingStatus.OPEN: "the same finding waits already",
    FindingStatus.LANDED: "the same finding was dealt with",
    FindingStatus.REFUSED: "a person said no to the same finding",
    FindingStatus.REPORTED: "the same finding was reported",
    FindingStatus.NOTHING: "there was nothing to do",
}
UNSETTLED = (FindingStatus.OPEN, FindingStatus.REFUSED)
"""What is red may be red again after it was repaired, but not while the repair waits, or after a person's no."""
STATUS_OF_ACTION = {
    ActionKind.BRANCH: FindingStatus.OPEN,
    ActionKind.OPEN_PR: FindingStatus.OPEN,
}
"""What a finding is after an action; every other action is the end of it."""


class RoundStore:
    def __init__(self, store: LoopStore, repo: str, memory: LoopMemory, waits: Callable[[str], bool]) -> None:
        """`waits` returns True if a session waits for a person."""
        self._store = store
        self._repo = repo
        self._memory = memory
        self._waits = waits

    def spent(self, loop: str) -> tuple[Spent, Spent]:
        """Return what was spent today, by the day of UTC, and in all rounds."""
        midnight = _now().replace(hour=0, minute=0, second=0, microsecond=0)
        return _spent(self._store.usage(self._repo, loop, midnight)), _spent(self._store.usage(self._repo, loop))

    def used_up(self, spec: LoopSpec) -> str:
        return limits.used_up(spec.budget, *self.spent(spec.name))

    def recalled(self, loop: str) -> tuple[str, ...]:
        """Return one line for each of the last rounds, the newest first."""
        return self._memory.recalled(loop)

    def known(self, loop: str, key: str, statuses: Container[FindingStatus] = KNOWN_WORDS) -> str:
        """Return why a finding with one of these statuses is not worked on again; empty if it is new."""
        found = self._store.findings.get(self._repo, loop, key) if key else None
        if found is None or found.status not in statuses:
            return ""
        reason = f": {found.reason}" if found.reason and found.status is FindingStatus.REFUSED else ""
        return f"{KNOWN_WORDS[found.status]} (session {found.session}){reason}"

    async def known_on_forge(self, workplace: Workplace, spec: LoopSpec, keys: tuple[str, ...]) -> str:
        """Return why the forge says that a finding, the first key, is not worked on; empty if it is new there.

        Another machine, or one whose records were lost, may have opened a request about it.
        """
        if spec.action.kind is not ActionKind.OPEN_PR or not keys[0]:
            return ""
        from donewhen.loops import forge_actions

        try:
            found = await forge_actions.request_about(workplace, spec.name, keys[0])
        except (BadInput, MachineryBroke):  # it cannot be asked now: the work is not lost for that
            return ""
        if found is None:
            return ""
        pull, status = found
        reason = f"pull request #{pull.number}"
        self._put(spec.name, keys, status, pull.branch.rpartition("/")[2], reason)
        return f"{KNOWN_WORDS[status]} ({reason})"

    async def too_many_open(self, workplace: Workplace, spec: LoopSpec) -> str:
        """Return why no further work may be opened; empty if it may. Work that a person merged or removed is closed."""
        if spec.action.kind is ActionKind.OPEN_PR:
            from donewhen.loops import forge_actions  # loaded on use: most loops need no forge

            if full := await forge_actions.too_many_open(workplace, spec):
                return full
        still_open: list[str] = []
        for finding in self._store.findings.of_status(self._repo, spec.name, FindingStatus.OPEN):
            works = self._store.works.of_loop(self._repo, spec.name)
            onto = next((one.onto for one in works if one.session == finding.session), "")
            status = await _status_now(workplace, spec, finding, onto, self._waits(finding.session))
            if status is not FindingStatus.OPEN:
                self._put(spec.name, (finding.key,), status, finding.session, finding.reason)
            elif finding.session not in still_open:
                still_open.append(finding.session)
        if not spec.max_open or len(still_open) < spec.max_open:
            return ""
        first = still_open[0]
        words = f"session {first} waits" if self._waits(first) else f"merge or remove {branch_name(first)}"
        return f"{len(still_open)} of {spec.max_open} open already: {words}"

    def decided(self, session: str, finished: RoundFinished) -> None:
        """Write to the history how a round ended after a decision, before its session ends: then it cannot be lost."""
        self._store.change_end(self._repo, finished.loop, session, round_end(finished))

    def why_not_alone(self, top: Path, recorded: LoopSpec) -> str:
        """Return why a round must not act alone any more, by the file of its loop as it is now; empty if it may."""
        loops, _ = usable_loops(top, TrustBook(state_root(os.environ)))
        now = next((one for one in loops if one.spec.name == recorded.name), None)
        return why_not_alone(now, self._store.state(self._repo, recorded.name), recorded)

    # -- what became of a finding --

    def opened(self, loop: str, keys: tuple[str, ...], session: str, reason: str) -> None:
        self._put(loop, keys, FindingStatus.OPEN, session, reason)

    def acted(self, loop: str, keys: tuple[str, ...], work: LoopWork, summary: str) -> None:
        """Record that the action of a round was carried out."""
        status = STATUS_OF_ACTION.get(ActionKind(work.action), FindingStatus.LANDED)
        self._put(loop, keys, status, work.session, summary)
        self._store.works.put(self._repo, loop, work)

    def expired(self, loop: str, keys: tuple[str, ...], session: str, reason: str) -> None:
        self._put(loop, keys, FindingStatus.REFUSED, session, reason)

    def denied(self, spec: LoopSpec, keys: tuple[str, ...], work: LoopWork, reason: str) -> str:
        """Record a person's no. Return a line if the loop is demoted for it."""
        line = demote_for(self._store, self._repo, spec.name, spec.level, work)
        self._put(spec.name, keys, FindingStatus.REFUSED, work.session, reason)
        self._store.works.put(self._repo, spec.name, work)
        return line

    def reported(self, loop: str, keys: tuple[str, ...], session: str) -> None:
        self._put(loop, keys, FindingStatus.REPORTED, session, "")

    def nothing_to_do(self, loop: str, occasion: str, session: str) -> None:
        """Note that nothing is to be done, until the commit or an input is another one."""
        self._put(loop, (occasion,), FindingStatus.NOTHING, session, "")

    def _put(self, loop: str, keys: tuple[str, ...], status: FindingStatus, session: str, reason: str) -> None:
        for key in filter(None, keys):
            finding = LoopFinding(key=key, status=status, session=session, reason=reason, at=_now())
            self._store.findings.put(self._repo, loop, finding)


async def _status_now(
    workplace: Workplace, spec: LoopSpec, finding: LoopFinding, onto: str, waits: bool
) -> FindingStatus:
    """Return what became of open work: its branch may be merged into `onto`, or a person may have removed it.

    A request on the forge counts more than a branch here, which a person may have made to look at the request.
    """
    store, repo = workplace.store, workplace.repo
    if spec.action.kind is ActionKind.OPEN_PR and not waits:
        from donewhen.loops import forge_actions

        if (status := await forge_actions.status_now(workplace, finding.session)) is not None:
            return status
    there = tip(repo, branch_name(finding.session))
    if there is None:
        return FindingStatus.OPEN if waits else FindingStatus.CLOSED  # comments have no branch
    await object_mirror.refresh(store.bare, repo)
    commit = (tip(repo, onto) if onto else None) or repo.head
    return FindingStatus.LANDED if await is_in(store, there, commit) else FindingStatus.OPEN


def round_end(finished: RoundFinished) -> RoundEnd:
    """Return the end of a round as the store keeps it."""
    return RoundEnd(
        outcome=finished.outcome,
        reason=finished.reason,
        finding=finished.finding,
        input_tokens=finished.input_tokens,
        output_tokens=finished.output_tokens,
        usd=finished.usd,
        is_stopped=finished.reason == STOPPED,
    )


def _spent(usage: LoopUsage) -> Spent:
    return Spent(usage.input_tokens + usage.output_tokens, usage.known_usd)


def _now() -> datetime.datetime:
    return datetime.datetime.now(datetime.UTC)
