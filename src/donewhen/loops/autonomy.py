"""Earned autonomy: which level of a loop is in force, and the evidence for a promotion or a demotion.

A loop that was demoted, or promoted by a person, has another level than its file states. A work that was reverted, that
came in red, or that a person denied demotes by itself. Nothing is promoted without a person.
"""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import replace

from donewhen.loops.loop_records import LoopState, LoopWork, WorkStatus
from donewhen.loops.spec import ActionKind, LoopGate, LoopGateKind, LoopLevel, LoopSpec
from donewhen.loops.spec_files import StatedLoop
from donewhen.records import frozen

PROMOTED_AFTER = 5
"""Verified works in a row that nobody reverted or denied, before a promotion is proposed."""
DECIDES = ("level", "action", "gate", "allow", "never")
"""Keys of a loop that say what it may do alone."""
NOT_PROMOTED = (ActionKind.REPORT, ActionKind.NONE)
"""Actions that change nothing: a person reads what they deliver."""
FAULTS = {
    WorkStatus.DENIED: "a person denied the work of session {}",
    WorkStatus.REVERTED: "the work of session {} was reverted",
    WorkStatus.RED: "a check is red at the commit at which the work of session {} came in",
}
"""What ends a row of good works, and why a loop is demoted for it."""


@frozen
class Evidence:
    """The newest works of a loop that count for a promotion, the newest first."""

    sessions: tuple[str, ...]
    fault: str
    """What ended an earlier row; empty if nothing did."""

    @property
    def is_enough(self) -> bool:
        return len(self.sessions) >= PROMOTED_AFTER


def digest_of(loop: StatedLoop) -> str:
    """Return a text that changes when the table of a loop does."""
    table = json.dumps(loop.entry, sort_keys=True, default=str)
    return hashlib.sha256(table.encode("utf-8", "replace")).hexdigest()[:32]


def in_force(loop: StatedLoop, state: LoopState) -> StatedLoop:
    """Return a loop with the level that counts now. A promotion ends when the table of the loop is changed."""
    spec = loop.spec
    if state.level == LoopLevel.ASSISTED and spec.level is LoopLevel.UNATTENDED:
        return asking(loop)
    if state.level == LoopLevel.UNATTENDED and may_be_promoted(loop) and state.level_of == digest_of(loop):
        allow = tuple(dict.fromkeys((*spec.allow, spec.action.kind)))
        gate = LoopGate(LoopGateKind.ALLOW_LIST) if spec.gate.kind is LoopGateKind.ASK else spec.gate
        promoted = replace(spec, level=LoopLevel.UNATTENDED, allow=allow, gate=gate)
        keys = {"level": LoopLevel.UNATTENDED.value, "allow": [kind.value for kind in allow], "gate": str(gate)}
        return replace(loop, spec=promoted, entry={**loop.entry, **keys})
    return loop


def why_not_alone(now: StatedLoop | None, state: LoopState, recorded: LoopSpec) -> str:
    """Return why a round must not act alone although it might when it began; empty if it still may.

    `now` is the loop as its file states it now, and `recorded` the one that the round began with.
    """
    if now is None:
        return "the loop is not in its file any more: a person decides"
    if not now.is_trusted:
        return f"{now.file.name} was changed while the round was running, and is not trusted: a person decides"
    if state.paused:
        return f"the loop is paused: {state.paused}"
    if state.level == LoopLevel.ASSISTED:
        return "the loop was demoted while the round was running: a person decides"
    spec = in_force(now, state).spec
    changed = next((key for key in DECIDES if getattr(spec, key) != getattr(recorded, key)), "")
    return f"'{changed}' of the loop was changed while the round was running: a person decides" if changed else ""


def asking(loop: StatedLoop) -> StatedLoop:
    """Return a loop about whose work a person decides."""
    spec = replace(loop.spec, level=LoopLevel.ASSISTED)
    return replace(loop, spec=spec, entry={**loop.entry, "level": LoopLevel.ASSISTED.value})


def may_be_promoted(loop: StatedLoop) -> bool:
    """Return True if a promotion would let this loop do something alone. A stated `gate = "ask"` stays."""
    always_asks = loop.entry.get("gate") == LoopGateKind.ASK
    return loop.spec.level is LoopLevel.ASSISTED and loop.spec.action.kind not in NOT_PROMOTED and not always_asks


def evidence(works: Sequence[LoopWork], state: LoopState) -> Evidence:
    """Return the evidence since the last promotion or demotion. `works` are those of the loop, the newest first."""
    good: list[str] = []
    for work in works:
        if state.level_since is not None and work.at <= state.level_since:
            break
        if work.status in FAULTS:
            return Evidence(tuple(good), FAULTS[work.status].format(work.session))
        if work.status is WorkStatus.KEPT and work.is_verified:
            good.append(work.session)
    return Evidence(tuple(good), "")


def proposal(loop: StatedLoop, state: LoopState, works: Sequence[LoopWork]) -> str:
    """Return why a loop may be promoted; empty if no promotion is proposed."""
    if not may_be_promoted(loop) or in_force(loop, state) is not loop:
        return ""
    found = evidence(works, state)
    if not found.is_enough:
        return ""
    count = len(found.sessions)
    return f"{count} verified works in a row, none of them reverted or denied: {', '.join(found.sessions)}"
