"""Changes of the level of a loop: a demotion by its own works, and what a person decides. `autonomy` has the rules."""

import datetime

from donewhen.errors import BadInput
from donewhen.loops.autonomy import (
    FAULTS,
    PROMOTED_AFTER,
    digest_of,
    evidence,
    in_force,
    may_be_promoted,
    proposal,
)
from donewhen.loops.loop_records import LoopWork, repo_key
from donewhen.loops.loop_store import LoopStore
from donewhen.loops.spec import LoopLevel
from donewhen.loops.spec_files import StatedLoop
from donewhen.loops.work_review import Statuses, changed_works
from donewhen.session.workplace import Workplace


async def review(loop: StatedLoop, workplace: Workplace, store: LoopStore, statuses: Statuses) -> str:
    """Look at what became of the works of a loop, and demote it if one of them went wrong. Return a line if it did."""
    repo, name, lines = repo_key(loop.top), loop.spec.name, list[str]()
    for work in await changed_works(workplace, store.works.of_loop(repo, name), statuses):
        if work.status in FAULTS:  # first, because a work is not looked at again after it is known what became of it
            lines.append(demote_for(store, repo, name, loop.spec.level, work))
        store.works.put(repo, name, work)
    return next(filter(None, lines), "")


def demote_for(store: LoopStore, repo: str, loop: str, level: LoopLevel, work: LoopWork) -> str:
    """Demote a loop for a work that went wrong. `level` is that of its file, or the one that was in force for the work.

    Return a line about it; empty if the loop acts only with a person. A promotion ends also while it does not count,
    because the table of the loop is another one at the moment.
    """
    set_level = store.state(repo, loop).level
    is_alone = level is LoopLevel.UNATTENDED and set_level != LoopLevel.ASSISTED
    if not is_alone and set_level != LoopLevel.UNATTENDED:
        return ""
    reason = FAULTS[work.status].format(work.session)
    store.set_level(repo, loop, LoopLevel.ASSISTED.value, reason, _now())
    return f"loop {loop} is {LoopLevel.ASSISTED} from now on: {reason}; donewhen loop promote {loop}"


def promote(loop: StatedLoop, store: LoopStore) -> str:
    """Let a loop carry out alone what it does: a person has decided so. Return the reason."""
    repo, name = repo_key(loop.top), loop.spec.name
    state, works = store.state(repo, name), store.works.of_loop(repo, name)
    if loop.spec.level is LoopLevel.UNATTENDED:
        if in_force(loop, state) is loop:
            raise BadInput(f"loop '{name}' is {loop.spec.level} already")
        reason = f"a person promoted it again, after: {state.level_reason}"
        store.set_level(repo, name, "", reason, _now())
        return reason
    if not may_be_promoted(loop):
        raise BadInput(f"loop '{name}' cannot be promoted: {_why_not(loop)}")
    if in_force(loop, state) is not loop:
        raise BadInput(f"loop '{name}' is promoted already")
    reason = proposal(loop, state, works)
    if not reason:
        found = evidence(works, state)
        count = f"{len(found.sessions)} of the {PROMOTED_AFTER} verified works in a row that a promotion needs"
        raise BadInput(f"loop '{name}' has {count}{f', since {found.fault}' if found.fault else ''}")
    loop.require_trust()
    store.set_level(repo, name, LoopLevel.UNATTENDED.value, f"a person promoted it: {reason}", _now(), digest_of(loop))
    return reason


def demote(loop: StatedLoop, store: LoopStore) -> None:
    """Let a person decide about everything that a loop does, and begin to count its works again."""
    repo, name = repo_key(loop.top), loop.spec.name
    if loop.spec.level is LoopLevel.REPORT:
        raise BadInput(f"loop '{name}' only reports already")
    store.set_level(repo, name, LoopLevel.ASSISTED.value, "a person demoted it", _now())


def _why_not(loop: StatedLoop) -> str:
    if loop.spec.level is LoopLevel.REPORT:
        return "its level is report; change 'level' in its file"
    if loop.spec.gate.kind.value == loop.entry.get("gate"):
        return f'its file states gate = "{loop.spec.gate}"'
    return f"its action is {loop.spec.action}"


def _now() -> datetime.datetime:
    return datetime.datetime.now(datetime.UTC)
