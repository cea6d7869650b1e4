"""Union of finished branches and patches: gated, merged, judged together, and landed as a branch. No model is used.

There is one commit for each patch that is in, on top of the base. The tree of the last one is exactly what was judged.
`patches_of` turns the names that a person gives (branches, commits, patch files) into patches over one base.
"""

import datetime
import hashlib
import os
from collections.abc import Sequence
from pathlib import Path

from donewhen.errors import BadInput
from donewhen.event_records import CheckResult
from donewhen.events import Emit, Landed, SessionFinished
from donewhen.judge.contract import Contract
from donewhen.records import frozen
from donewhen.session.check.judge_tree import started_event
from donewhen.session.check.regression_judge import regression_judge
from donewhen.session.conclude.land import subject_line
from donewhen.session.log.open_archive import Say
from donewhen.session.loop.worker_services import editable
from donewhen.session.outcome import Outcome
from donewhen.session.settings import contract_file
from donewhen.session.workplace import Workplace, open_workplace
from donewhen.union.combine import Combiner, United
from donewhen.union.gate import PatchGate
from donewhen.union.integrate import Integration
from donewhen.union.parser_client import ParserClient
from donewhen.union.patch import Patch
from donewhen.workspace.git.landing.branches import move_branch, tip
from donewhen.workspace.git.landing.commits import commit_for
from donewhen.workspace.git.landing.deliver_objects import deliver
from donewhen.workspace.git.landing.refusals import Moved, NotLanded
from donewhen.workspace.git.objects import shown
from donewhen.workspace.git.store import patches, revisions
from donewhen.workspace.git.store.merge_trees import merge


async def patches_of(workplace: Workplace, base: str, names: Sequence[str], start: Path) -> list[Patch]:
    """Return a patch for each name, in order. Names of files are relative to `start`."""
    seen: set[str] = set()
    made: list[Patch] = []
    for name in names:
        if name in seen:
            raise BadInput(f"{shown(name)} is named twice")
        seen.add(name)
        made.append(await _patch(workplace, base, name, start / name))
    return made


async def _patch(workplace: Workplace, base: str, name: str, file: Path) -> Patch:
    commit = await _commit_named(workplace, name)
    if file.is_dir() and not commit:
        raise BadInput(f"{shown(name)} is a directory; name patch files, or branches")
    if file.is_file() and commit and os.sep not in name:
        raise BadInput(f"{shown(name)} is a file and a branch; write ./{shown(name)} or refs/heads/{shown(name)}")
    if commit:
        return await _of_commit(workplace, base, name, commit)
    if file.is_file():
        return await _of_file(workplace, base, name, file)
    raise BadInput(f"{shown(name)} is neither a commit of {shown(str(workplace.repo.root))} nor a file")


async def _commit_named(workplace: Workplace, name: str) -> str:
    try:
        return await workplace.store.resolve(name)
    except BadInput:
        return ""


async def _of_commit(workplace: Workplace, base: str, name: str, commit: str) -> Patch:
    """Return what a branch changed since it diverged from the base, applied to the base."""
    store = workplace.store
    diverged = await revisions.merge_base(store.bare, base, commit)
    if not diverged:
        raise BadInput(f"{shown(name)} has no history in common with the base {base[:12]}")
    (about,) = await store.bare.contents([commit])
    title = about.partition(b"\n\n")[2].split(b"\n", 1)[0].decode("utf-8", "replace")
    merged = await merge(
        store.bare, await store.tree_of(diverged), await store.tree_of(base), await store.tree_of(commit)
    )
    if merged.conflicts:
        paths = ", ".join(shown(sides.path) for sides in merged.conflicts[:3])
        return Patch(id=name, tree="", title=title, origin=commit, apply_problem=f"does not apply to the base: {paths}")
    return Patch(id=name, tree=merged.tree, title=title, origin=commit)


async def _of_file(workplace: Workplace, base: str, name: str, file: Path) -> Patch:
    try:
        content = file.read_bytes()
    except OSError as error:
        raise BadInput(f"{shown(name)} cannot be read: {error.strerror}") from error
    title = patches.subject(content) or file.name
    try:
        tree = await patches.apply_patch(workplace.store.bare, await workplace.store.tree_of(base), content)
    except BadInput as error:
        raise BadInput(f"{shown(name)}: {error}") from error
    except patches.DoesNotApply as refused:
        return Patch(id=name, tree="", title=title, apply_problem=f"does not apply to the base: {refused}")
    return Patch(id=name, tree=tree, title=title)


PART_TRAILER = "Donewhen-Part"


@frozen(kw_only=True)
class Combined:
    united: United
    branch: str
    commit: str
    note: str
    """Which branches had moved in the end, if any; one line."""

    @property
    def summary(self) -> str:
        united = self.united
        counts = f"{len(united.kept)} of {len(united.gated)} are in"
        searched = f"; {united.runs} verdicts and {united.confirmations} confirmations" if united.runs else ""
        branch = f"; branch {self.branch} ({self.commit[:12]})" if self.branch else "; no branch was made"
        return counts + searched + branch


async def union(start: Path, base: str, names: Sequence[str], say: Say, emit: Emit) -> Combined:
    """Combine branches and patches in the repository that contains `start`, onto `base` or HEAD."""
    async with open_workplace(start) as workplace:
        contract = contract_file.contract_in(workplace.settings)
        commit = await workplace.store.resolve(base) if base else workplace.repo.head
        if not commit:
            raise BadInput(f"{workplace.repo.root} has no commit yet")
        for line in (*workplace.repo.notes, *contract_file.warnings(workplace.settings, contract)):
            say(f"note: {line}")
        if not contract.checks:
            say("note: there is no contract, so only the build is judged; `donewhen init` proposes one")
        if not names:
            raise BadInput("name the branches or patch files to combine: donewhen union REF|PATCH...")
        patches = await patches_of(workplace, commit, names, start)
        combined = await combine(workplace, contract, commit, patches, emit)
        emit(_finished_event(combined))
        return combined


async def combine(
    workplace: Workplace, contract: Contract, base: str, patches: Sequence[Patch], emit: Emit
) -> Combined:
    emit(started_event(workplace, contract, base))
    judge = await regression_judge(workplace, contract, base, emit)
    store, reader = workplace.store, ParserClient(workplace.launcher, workplace.probe)
    tree = await store.tree_of(base)
    integration = Integration(store, tree, reader, {patch.id: patch for patch in patches})
    gate = PatchGate(store=store, base=tree, parser=reader, judging=judge, allowed=editable(contract))
    united = await Combiner(gate, integration, judge, emit).combine_all(patches)
    moved = [patch.id for patch in patches if patch.origin and await _has_moved(workplace, patch)]
    note = f"moved during the run; judged at their earlier commits: {', '.join(moved)}" if moved else ""
    branch, commit = await _land(workplace, base, united, integration) if united.kept else ("", "")
    if branch:
        emit(Landed(branch=branch, commit=commit, note=note))
    return Combined(united=united, branch=branch, commit=commit, note=note)


async def _land(workplace: Workplace, base: str, united: United, integration: Integration) -> tuple[str, str]:
    """Land the union as its own branch. The same union is the same branch."""
    trees = [(await integration.apply(united.kept[: n + 1])).tree for n in range(len(united.kept))]
    named = hashlib.sha256("\n".join((base, *trees)).encode()).hexdigest()[:8]
    branch = f"donewhen/union-{named}"
    at, commit = datetime.datetime.now().astimezone(), base
    for id, tree in zip(united.kept, trees, strict=True):
        patch = integration.patches[id]
        name, origin = subject_line(patch.id), f" {patch.origin}" if patch.origin else ""
        message = f"{subject_line(patch.title) or name}\n\n{PART_TRAILER}: {name}{origin}\n"
        commit = commit_for(workplace.store, workplace.repo, tree=tree, parent=commit, message=message, at=at)
    await workplace.store.keep(f"unions/{named}", commit)
    await deliver(workplace.store, workplace.repo, commit)
    try:
        move_branch(workplace.repo, branch, None, commit)
    except Moved as moved:
        if moved.there is None or await workplace.store.tree_of(moved.there) != trees[-1]:
            raise
        commit = moved.there
    await deliver(workplace.store, workplace.repo, commit)  # a garbage collection may have run in between
    await workplace.store.release(f"unions/{named}")
    return branch, commit


async def _has_moved(workplace: Workplace, patch: Patch) -> bool:
    try:
        return (tip(workplace.repo, patch.id) or patch.origin) != patch.origin
    except (BadInput, NotLanded):
        return False


def _finished_event(combined: Combined) -> SessionFinished:
    united, summary = combined.united, combined.summary
    deltas = united.check_deltas.deltas if united.check_deltas else ()
    results = tuple(CheckResult(delta.name, delta.status, delta.exit_code, delta.duration_ms) for delta in deltas)
    # All patches may be in while a check is still red as on the base: then the contract is not met.
    green = bool(deltas) and all(delta.status == "pass" or delta.quarantined for delta in deltas)
    return SessionFinished(
        outcome=Outcome.VERIFIED if united.is_complete and green else Outcome.RED,
        reason=summary,
        iterations=0,
        results=results,
        summary=summary,
        tree=united.together.tree,
    )
