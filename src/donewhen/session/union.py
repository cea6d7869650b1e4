"""Finished branches and patches combined: gated, merged, judged together, and landed as a branch. No model is asked.

One commit for each patch that is in, on top of the base; the last one's tree is exactly what was judged.
"""

import datetime
import hashlib
from collections.abc import Sequence

from donewhen.errors import BadInput
from donewhen.events import Emit, Landed
from donewhen.judge.contract import Contract
from donewhen.records import frozen
from donewhen.session.beside import beside
from donewhen.session.checking import started
from donewhen.session.hands import editable
from donewhen.session.landing import subject_line
from donewhen.session.parts import parts
from donewhen.session.workplace import Workplace
from donewhen.union.asking import Reader
from donewhen.union.gate import Gate
from donewhen.union.integrate import Integration
from donewhen.union.patch import Patch
from donewhen.union.uniting import United, Uniting
from donewhen.workspace.landing.branches import move_branch, tip
from donewhen.workspace.landing.commits import commit_for
from donewhen.workspace.landing.delivery import deliver
from donewhen.workspace.landing.refusals import Moved, NotLanded

PART_TRAILER = "Donewhen-Part"


@frozen(kw_only=True)
class Combined:
    united: United
    branch: str
    commit: str
    note: str
    """Which branches were somewhere else when all was over, if any; one line."""


async def combine(place: Workplace, contract: Contract, base: str, words: Sequence[str], emit: Emit) -> Combined:
    if not words:
        raise BadInput("name the branches or patch files to combine: donewhen union REF|PATCH...")
    patches = await parts(place, base, words)
    emit(started(place, contract, base))
    judging = await beside(place, contract, base, emit)
    store, reader = place.store, Reader(place.launcher, place.probe)
    tree = await store.tree_of(base)
    integration = Integration(store, tree, reader, {patch.id: patch for patch in patches})
    gate = Gate(store=store, base=tree, reader=reader, judging=judging, allowed=editable(contract))
    united = await Uniting(gate, integration, judging, emit).united(patches)
    moved = [patch.id for patch in patches if patch.origin and await _is_elsewhere(place, patch)]
    note = f"moved since, and judged as they were before: {', '.join(moved)}" if moved else ""
    branch, commit = await _land(place, base, united, integration) if united.kept else ("", "")
    if branch:
        emit(Landed(branch=branch, commit=commit, note=note))
    return Combined(united=united, branch=branch, commit=commit, note=note)


async def _land(place: Workplace, base: str, united: United, integration: Integration) -> tuple[str, str]:
    """The union as a branch of its own; the same union is the same branch."""
    trees = [(await integration.together(united.kept[: n + 1])).tree for n in range(len(united.kept))]
    named = hashlib.sha256("\n".join((base, *trees)).encode()).hexdigest()[:8]
    branch = f"donewhen/union-{named}"
    at, commit = datetime.datetime.now().astimezone(), base
    for id, tree in zip(united.kept, trees, strict=True):
        message = _message(integration.patches[id])
        commit = commit_for(place.store, place.repo, tree=tree, parent=commit, message=message, at=at)
    await place.store.keep(f"unions/{named}", commit)
    await deliver(place.store, place.repo, commit)
    try:
        move_branch(place.repo, branch, None, commit)
    except Moved as moved:
        if moved.there is None or await place.store.tree_of(moved.there) != trees[-1]:
            raise
        commit = moved.there
    await deliver(place.store, place.repo, commit)  # a garbage collection may have come in between
    await place.store.release(f"unions/{named}")
    return branch, commit


def _message(patch: Patch) -> str:
    name, origin = subject_line(patch.id), f" {patch.origin}" if patch.origin else ""
    return f"{subject_line(patch.title) or name}\n\n{PART_TRAILER}: {name}{origin}\n"


async def _is_elsewhere(place: Workplace, patch: Patch) -> bool:
    try:
        return (tip(place.repo, patch.id) or patch.origin) != patch.origin
    except (BadInput, NotLanded):
        return False
