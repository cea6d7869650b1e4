"""Landing of verified work in the user's repository: on its own branch, in a clean checkout, or on another branch.

Exactly the judged tree is landed. If the receiving branch moved meanwhile, the work is merged in our store and judged
again on the new base. Nothing is ever forced. Every function may be repeated after a crash at any point: it recognises
what was landed and finishes what was interrupted. The caller logs its intent before the call and the fact after it.
`workspace.git.landing` writes to the repository.
"""

import datetime
import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace

from donewhen.errors import BadInput
from donewhen.judge.receipt import TRAILER
from donewhen.judge.verdict import CheckStatus, Verdict
from donewhen.records import frozen
from donewhen.session.workplace import Workplace
from donewhen.workspace.git import refs
from donewhen.workspace.git.landing.apply import apply_to_checkout, refuse_to_apply
from donewhen.workspace.git.landing.branches import (
    hold_branch,
    move_branch,
    refuse_checked_out,
    remove_branch,
    tip,
    worktrees_on,
)
from donewhen.workspace.git.landing.commits import commit_for, stamp
from donewhen.workspace.git.landing.deliver_objects import deliver
from donewhen.workspace.git.landing.refusals import Moved, NotLanded
from donewhen.workspace.git.objects import shown
from donewhen.workspace.git.store import object_mirror
from donewhen.workspace.git.store.merge_trees import merge

SESSION_TRAILER = "Donewhen-Session"
AMENDED = "Amended: "
"""Begins the subject of a commit with left-out edits that a person approved."""
LONGEST_SUBJECT = 72
MOST_ROUNDS = 5
MOST_LOOKED_AT = 1000
"""Number of commits on a branch that are searched for an earlier landing of the same work."""
MOST_NAMED = 5
FORGERY = re.compile(r"---|donewhen-[a-z-]*\s*:", re.IGNORECASE)
"""Lines of an intent that a reader of the message could take for one of our trailers, or for the end of the message
before one.
"""

Rejudge = Callable[[str, str], Awaitable[Verdict]]
"""Judges a tree over a new base commit."""
WriteReceipt = Callable[[Verdict], Awaitable[str]]
"""Writes the receipt of such a verdict and returns its digest."""


@frozen(kw_only=True)
class LandingPlan:
    """What is to be landed. It is recorded, so that a repeated landing creates the same commit."""

    session: str
    intent: str
    base: str
    tree: str
    """The judged tree."""
    parent: str
    receipt_digest: str
    """Empty for work of a loop that is not green and waits for a person."""
    at: str
    """ISO time with a time zone."""
    amended: bool = False
    """True for verified work with its left-out edits, which a person approved afterwards."""
    only_on: str = ""
    """The commit at which the receiving branch must be; empty if it may have moved."""
    signed_off_by: str = ""
    """Name and address for a Signed-off-by line; empty without one."""


@frozen
class Landing:
    branch: str
    commit: str
    applied: bool = False
    """True if the files of the checkout are those of the commit."""
    note: str = ""
    """One line that a person should know, such as why the files were not changed."""


@frozen
class LandingRefused:
    reason: str
    """One line. The repository is unchanged."""
    paths: tuple[str, ...] = ()


# -- the commit --


def branch_name(session: str) -> str:
    return f"donewhen/{session}"


def message(plan: LandingPlan) -> str:
    """Return the commit message: the intent, and trailers with the session and the receipt digest as the last
    paragraph.
    """
    lines = [_harmless(line) for line in _printable(plan.intent).splitlines()]
    text = "\n".join(lines).strip()
    first, _, rest = text.partition("\n")
    subject = subject_line(f"{AMENDED if plan.amended else ''}{first}") or f"The work of session {plan.session}"
    body = text if subject.endswith("…") else rest.strip("\n")
    trailers = f"{SESSION_TRAILER}: {plan.session}\n"
    if plan.receipt_digest:
        trailers += f"{TRAILER}: {plan.receipt_digest}\n"
    if plan.signed_off_by:
        trailers += f"Signed-off-by: {plan.signed_off_by}\n"
    return "\n\n".join(part for part in (subject, body, trailers) if part)


def subject_line(text: str) -> str:
    """Return untrusted text as the first line of a message, or as a part of a trailer."""
    return _cut(" ".join(_printable(text).split()))


def _printable(text: str) -> str:
    plain = text.encode("utf-8", "replace").decode()
    return re.sub(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029]", " ", plain.replace("\r\n", "\n"))


def _harmless(line: str) -> str:
    return f"> {line.strip()}" if FORGERY.match(line.strip()) else line.rstrip()


def _cut(subject: str) -> str:
    """Cut a line to the longest subject, between words if enough of it remains."""
    if len(subject) <= LONGEST_SUBJECT:
        return subject
    start = subject[: LONGEST_SUBJECT - 1]
    words = start.rpartition(" ")[0]
    return (words if len(words) > LONGEST_SUBJECT // 2 else start).rstrip() + "…"


def commit_of(workplace: Workplace, plan: LandingPlan) -> str:
    """Write the commit of a plan to our store. Repeating it gives the same commit."""
    return commit_for(
        workplace.store, workplace.repo, tree=plan.tree, parent=plan.parent, message=message(plan), at=_time(plan)
    )


def _time(plan: LandingPlan) -> datetime.datetime:
    return datetime.datetime.fromisoformat(plan.at)


# -- the session's own branch --


async def land_branch(workplace: Workplace, plan: LandingPlan) -> Landing:
    """Land the work as the branch donewhen/ID. The branch must be new, or the one that an earlier attempt made."""
    name = branch_name(plan.session)
    commit = commit_of(workplace, plan)
    try:
        await _keep(workplace, plan.session, commit)
        await deliver(workplace.store, workplace.repo, commit)
        move_branch(workplace.repo, name, None, commit)
        await deliver(workplace.store, workplace.repo, commit)  # a garbage collection may have run in between
    except Moved as moved:
        if moved.there is None or not await _is_landing_of(workplace, plan, moved.there):
            raise
        # The user's name changed between two attempts; the work is the same.
        await _keep(workplace, plan.session, moved.there)
        return Landing(name, moved.there)
    return Landing(name, commit)


async def land_apply(workplace: Workplace, plan: LandingPlan) -> Landing:
    """Land the branch, and update the checkout if it is clean and at the base. Otherwise a note says why not."""
    landing = await land_branch(workplace, plan)
    before = await _tree_of_head(workplace)
    if before not in (await workplace.store.tree_of(plan.base), plan.tree):
        return replace(landing, note=_left(landing, "the files of HEAD are not those that the work started from"))
    return await _apply(workplace, landing, before, plan.tree)


async def apply_amended(workplace: Workplace, landing: Landing, base: str, first: str, second: str) -> Landing:
    """Update a clean checkout from the tree of the first landing to that of the second. Else a note says why not."""
    if await _tree_of_head(workplace) not in (await workplace.store.tree_of(base), first, second):
        return replace(landing, note=_left(landing, "the files of HEAD are not those that the work started from"))
    return await _apply(workplace, landing, first, second)


async def _tree_of_head(workplace: Workplace) -> str:
    store, repo = workplace.store, workplace.repo
    head = refs.follow(refs.read(repo.git, "HEAD"), repo.common)
    await object_mirror.refresh(store.bare, repo)  # the user may have committed a moment ago
    return await store.tree_of(head) if head else ""


async def _apply(workplace: Workplace, landing: Landing, before: str, after: str) -> Landing:
    try:
        await apply_to_checkout(workplace.store, workplace.repo, before, after)
    except NotLanded as refusal:
        return replace(landing, note=_left(landing, str(refusal)))
    return replace(landing, applied=True)


def _left(landing: Landing, why: str) -> str:
    return f"the files of the checkout were not changed ({why}); the work is on {landing.branch}"


# -- another branch --


async def land_onto(
    workplace: Workplace, plan: LandingPlan, branch: str, rejudge: Rejudge, write_receipt: WriteReceipt
) -> Landing | LandingRefused:
    """Land the work as one commit on top of a branch. If the branch moved, judge again and write a new receipt."""
    try:
        for _ in range(MOST_ROUNDS):
            landed = await _land_on_tip(workplace, plan, branch, rejudge, write_receipt)
            if landed is not None:
                return landed
    except NotLanded as refusal:
        return LandingRefused(str(refusal))
    return LandingRefused(f"the branch {shown(branch)} moved {MOST_ROUNDS} times while the work was judged for it")


async def _land_on_tip(
    workplace: Workplace, plan: LandingPlan, branch: str, rejudge: Rejudge, write_receipt: WriteReceipt
) -> Landing | LandingRefused | None:
    """Make one attempt. Return None if the branch moved meanwhile."""
    with hold_branch(workplace.repo, branch) as held:  # also removes a lock that a killed attempt left
        before = held.value
    if before is None:
        raise BadInput(f"{shown(branch)} is not a branch of {shown(str(workplace.repo.root))}")
    await object_mirror.refresh(
        workplace.store.bare, workplace.repo
    )  # after reading the tip, so that its objects are present
    earlier = await _earlier_landing(workplace, plan, before)
    if earlier:
        return Landing(branch, earlier, note=f"{shown(branch)} has this work already")
    if plan.only_on and before != plan.only_on:
        return LandingRefused(has_moved(branch, before, plan.only_on))
    if before != plan.parent:
        judged = await _judged_on(workplace, plan, before, branch, rejudge, write_receipt)
        if isinstance(judged, LandingRefused):
            return judged
        plan = judged
    commit = commit_of(workplace, plan)
    await workplace.store.keep(f"sessions/{plan.session}/{'amended' if plan.amended else 'onto'}", commit)
    try:
        applied = await _advance(workplace, branch, before, commit)
    except Moved:
        return None
    return Landing(branch, commit, applied)


def has_moved(branch: str, there: str | None, expected: str) -> str:
    """Return why a second commit has no place on a branch."""
    where = f"is at {there[:12]}" if there else "does not exist"
    return f"the branch {shown(branch)} {where}, and no longer at the landed commit {expected[:12]}"


async def _judged_on(
    workplace: Workplace, plan: LandingPlan, before: str, branch: str, rejudge: Rejudge, write_receipt: WriteReceipt
) -> LandingPlan | LandingRefused:
    """Return the plan for a branch that moved: the work merged with the branch, and judged."""
    merged = await _merge_onto(workplace, plan, before)
    if isinstance(merged, LandingRefused):
        return merged
    if merged == await workplace.store.tree_of(before):
        return LandingRefused(f"{shown(branch)} has the same files already; there is nothing to land")
    if workplace.repo.git_dir in worktrees_on(workplace.repo, branch):  # checked before minutes are spent on judging
        await refuse_to_apply(workplace.store, workplace.repo, await workplace.store.tree_of(before), merged)
    verdict = await rejudge(before, merged)
    if not verdict.green:
        red = [
            result.name
            for result in verdict.results
            if not result.quarantined and result.status is not CheckStatus.PASS
        ]
        return LandingRefused(
            f"not green on top of {shown(branch)} at {before[:12]}: {', '.join(red) or 'no check decides'}"
        )
    if verdict.tree != merged:
        paths = tuple(edit.path for edit in verdict.edits)
        return LandingRefused(
            f"the work changes paths that are protected on {shown(branch)}: {_name_list(paths)}", paths
        )
    return replace(plan, tree=merged, parent=before, base=before, receipt_digest=await write_receipt(verdict))


async def _merge_onto(workplace: Workplace, plan: LandingPlan, before: str) -> str | LandingRefused:
    """Merge the changes of the work onto another commit, whatever the real history of the branch is."""
    store = workplace.store
    merged = await merge(store.bare, await store.tree_of(plan.parent), await store.tree_of(before), plan.tree)
    if not merged.conflicts:
        return merged.tree
    paths = tuple(sides.path for sides in merged.conflicts)
    return LandingRefused(f"the work and the branch changed the same lines: {_name_list(paths)}", paths)


def _name_list(paths: tuple[str, ...]) -> str:
    more = f" and {len(paths) - MOST_NAMED} more" if len(paths) > MOST_NAMED else ""
    return ", ".join(shown(path) for path in paths[:MOST_NAMED]) + more


async def _advance(workplace: Workplace, branch: str, before: str, commit: str) -> bool:
    """Move the branch, and update the files of the checkout on it. Return True if there is such a checkout.

    The files are written first: after a crash in between, git shows changes, and not a branch whose work seems undone.
    """
    store, repo = workplace.store, workplace.repo
    await deliver(store, repo, commit)
    with hold_branch(repo, branch) as held:
        held.expect(before)
        on_it = worktrees_on(repo, branch)
        refuse_checked_out(repo, branch, [git_dir for git_dir in on_it if git_dir != repo.git_dir])
        if on_it:
            await apply_to_checkout(store, repo, await store.tree_of(before), await store.tree_of(commit))
        await deliver(store, repo, commit)
        held.move(commit)
    await deliver(store, repo, commit)
    return bool(on_it)


# -- earlier landings --


async def _earlier_landing(workplace: Workplace, plan: LandingPlan, end: str) -> str:
    """Return a commit on the branch that is this landing, from an earlier attempt or merged by the user; else empty."""
    options = (f"--max-count={MOST_LOOKED_AT}", "--fixed-strings", f"--grep={SESSION_TRAILER}: {plan.session}")
    answer = await workplace.store.bare.run("rev-list", *options, end, f"^{plan.parent}")
    for commit in answer.decode().split():
        if await _is_landing_of(workplace, plan, commit, anywhere=True):
            return commit
    return ""


async def _is_landing_of(workplace: Workplace, plan: LandingPlan, commit: str, anywhere: bool = False) -> bool:
    """Return True if a commit was made for this plan: the same message at the same time. The author may differ.

    Unless `anywhere` is set, the tree and the parent must match as well.
    """
    await object_mirror.refresh(workplace.store.bare, workplace.repo)
    (content,) = await workplace.store.bare.contents([commit])
    head, _, text = content.decode("utf-8", "surrogateescape").partition("\n\n")
    lines = head.split("\n")
    made_then = any(line.startswith("author ") and line.endswith(f" {stamp(_time(plan))}") for line in lines)
    same_place = {f"tree {plan.tree}", f"parent {plan.parent}"} <= set(lines)
    same_words = text.partition(f"\n{SESSION_TRAILER}: ")[0] == message(plan).partition(f"\n{SESSION_TRAILER}: ")[0]
    return made_then and same_words and f"\n{SESSION_TRAILER}: {plan.session}\n" in text and (anywhere or same_place)


async def _keep(workplace: Workplace, session: str, commit: str) -> None:
    """Remember which commit the session's branch is made for, before the branch becomes visible."""
    await workplace.store.keep(f"sessions/{session}/landed", commit)


# -- discarding --


async def discard(workplace: Workplace, session: str) -> str:
    """Remove the session's branch if it is still what we landed, and release its objects. Return what was left, or
    empty.

    A branch that the user has changed stays, and so does what landed on other branches.
    """
    pins = await _pins(workplace, session)
    left = _remove_own_branch(workplace, session, pins)
    for name in sorted(pins, key=lambda name: name == "landed"):
        await workplace.store.release(f"sessions/{session}/{name}")
    return left


async def remove_landed_branch(workplace: Workplace, session: str) -> str:
    """Remove the session's branch if it is still what we landed. Its objects stay. Return what was left, or empty."""
    return _remove_own_branch(workplace, session, await _pins(workplace, session))


async def _pins(workplace: Workplace, session: str) -> dict[str, str]:
    """Return the objects that the store keeps for a session, by name."""
    prefix = f"refs/donewhen/sessions/{session}/"
    answer = await workplace.store.bare.run("for-each-ref", "--format=%(objectname) %(refname)", prefix)
    lines = [line.split(" ", 1) for line in answer.decode().splitlines()]
    return {name.removeprefix(prefix): id for id, name in lines}


def _remove_own_branch(workplace: Workplace, session: str, pins: Mapping[str, str]) -> str:
    there = tip(workplace.repo, branch_name(session))
    landed = there if there is not None and there == pins.get("amended") else pins.get("landed")
    if landed is None:
        return "" if there is None else f"the branch {branch_name(session)} was kept: it may not belong to this session"
    try:
        remove_branch(workplace.repo, branch_name(session), landed)
    except NotLanded as refusal:
        return f"the branch {branch_name(session)} was kept: {refusal}"
    return ""
