"""Looks at what became of the works of a loop in the user's repository: merged, reverted, red, or gone.

Observation, not words: a work is in a branch if its commit is, or if every path that it changes has the work's content
there (a squashed or rebased commit). It is reverted if it was seen there, and every path is again as before the work,
or a later commit says in git's own words that it reverts it.
"""

from collections.abc import Callable, Collection, Mapping
from dataclasses import replace

from donewhen.errors import BadInput, MachineryBroke
from donewhen.judge.verdict import CheckStatus
from donewhen.loops.loop_records import FindingStatus, LoopWork, WorkStatus
from donewhen.loops.spec import ActionKind
from donewhen.session.conclude.land import branch_name
from donewhen.session.workplace import Workplace
from donewhen.workspace.git.landing.branches import tip
from donewhen.workspace.git.store import Store, object_mirror

MOST_LOOKED_AT = 20
"""The newest works of a loop that are looked at."""
UNDECIDED = (WorkStatus.OPEN, WorkStatus.KEPT)
OF_A_REQUEST: Mapping[FindingStatus | None, WorkStatus] = {
    None: WorkStatus.GONE,
    FindingStatus.OPEN: WorkStatus.OPEN,
    FindingStatus.LANDED: WorkStatus.KEPT,
    FindingStatus.REFUSED: WorkStatus.DENIED,
    FindingStatus.CLOSED: WorkStatus.GONE,
}
"""What became of the work of a pull request."""
RED = CheckStatus.FAIL.value
Statuses = Callable[[str], Mapping[str, str]]
"""Returns the status of each check that decides, from the newest baseline of a commit."""


async def changed_works(workplace: Workplace, works: Collection[LoopWork], statuses: Statuses) -> list[LoopWork]:
    """Return those of the works, the newest first, of which something new is known."""
    looked_at = [one for one in works if one.made and one.status in UNDECIDED][:MOST_LOOKED_AT]
    if looked_at:
        await object_mirror.refresh(workplace.store.bare, workplace.repo)
    changed: list[LoopWork] = []
    for work in looked_at:
        commit = tip(workplace.repo, work.onto) if work.onto else workplace.repo.head
        now = await _now(workplace, work, commit) if commit else work
        if now.status is WorkStatus.OPEN:
            now = replace(now, status=await _open_status(workplace, now))
        if now.status is WorkStatus.KEPT and now.is_verified and await _came_in_alone(workplace.store, now):
            is_red = RED in (statuses(now.seen_at).values())
            now = replace(now, status=WorkStatus.RED) if is_red else now
        changed += [now] if now != work else []
    return changed


async def _now(workplace: Workplace, work: LoopWork, commit: str) -> LoopWork:
    store = workplace.store
    try:
        if not work.seen_at and await is_in(store, work.made, commit):
            work = replace(work, status=WorkStatus.KEPT, seen_at=commit)
        is_reverted = work.seen_at and await _is_reverted(store, work, commit)
    except MachineryBroke:  # a shallow history, or an object that was removed: nothing is known
        return work
    return replace(work, status=WorkStatus.REVERTED) if is_reverted else work


async def _open_status(workplace: Workplace, work: LoopWork) -> WorkStatus:
    """Return what became of work that is not seen in its branch yet: a person may have merged, closed or removed it."""
    if work.action != ActionKind.OPEN_PR:
        return WorkStatus.OPEN if tip(workplace.repo, branch_name(work.session)) else WorkStatus.GONE
    from donewhen.loops import forge_actions  # loaded on use: most loops need no forge

    try:
        return OF_A_REQUEST[await forge_actions.status_now(workplace, work.session)]
    except (BadInput, MachineryBroke):  # it cannot be asked now
        return WorkStatus.OPEN


async def is_in(store: Store, made: str, commit: str) -> bool:
    """Return True if a commit, or its content, is in the history or the files of another commit."""
    ahead = await store.bare.run("rev-list", "--max-count=1", made, f"^{commit}")
    return not ahead.strip() or await _has_content(store, made, commit, made)


async def _came_in_alone(store: Store, work: LoopWork) -> bool:
    """Return True if nothing else came in together with the work, so that a check which is red there is its fault."""
    if not work.seen_at or work.seen_at == work.made:
        return bool(work.seen_at)
    try:
        parents = (await store.bare.run("rev-list", "--max-count=1", "--parents", work.seen_at)).decode().split()[1:]
        return work.made in parents or await store.tree_of(work.seen_at) == await store.tree_of(work.made)
    except MachineryBroke:
        return False


async def _is_reverted(store: Store, work: LoopWork, commit: str) -> bool:
    made = work.made
    before = (await store.bare.run("rev-parse", f"{made}^")).decode().strip()
    if await _has_content(store, made, commit, made):
        return False
    if await _has_content(store, made, commit, before):
        return True
    merges = (await store.bare.run("rev-list", "--merges", "--parents", f"{made}..{commit}")).decode().splitlines()
    brought = [line.split()[0] for line in merges if made in line.split()[1:]]
    brought += [work.seen_at] if await _came_in_alone(store, work) else []
    words = [f"--grep=This reverts commit {one}" for one in (made, *brought)]
    found = await store.bare.run("log", "-1", "--format=%H", "--fixed-strings", *words, f"{made}..{commit}")
    return bool(found.strip())


async def _has_content(store: Store, made: str, commit: str, other: str) -> bool:
    """Return True if every path that the commit `made` changes is the same in two other commits."""
    before = (await store.bare.run("rev-parse", f"{made}^")).decode().strip()
    touched = {change.path for change in await store.diff(await store.tree_of(before), await store.tree_of(made))}
    differing = {change.path for change in await store.diff(await store.tree_of(other), await store.tree_of(commit))}
    return bool(touched) and not touched & differing
