"""Verified work into the user's repository: a branch of its own, the files of a clean checkout, or another branch.

What lands is exactly the tree that was judged. Where the receiving branch moved meanwhile, the work is merged in our
store and judged again on the new base; nothing is ever forced. Every function may be repeated after a crash at any
point: what was landed is recognised, what stopped half-way is finished. The caller writes its intent to the log before
and the fact after; how bytes get into the repository is `workspace.landing`'s business.
"""

import datetime
import re
from collections.abc import Awaitable, Callable
from dataclasses import replace

from donewhen.errors import BadInput
from donewhen.judge.receipt import TRAILER
from donewhen.judge.verdict import Status, Verdict
from donewhen.records import frozen
from donewhen.session.workplace import Workplace
from donewhen.workspace import refs
from donewhen.workspace.landing.apply import apply_to_checkout, refuse_to_apply
from donewhen.workspace.landing.branches import (
    held_branch,
    move_branch,
    refuse_checked_out,
    remove_branch,
    tip,
    worktrees_on,
)
from donewhen.workspace.landing.commits import commit_for, stamp
from donewhen.workspace.landing.delivery import deliver
from donewhen.workspace.landing.refusals import Moved, NotLanded
from donewhen.workspace.objects import shown
from donewhen.workspace.repo import Repo
from donewhen.workspace.store import mirror
from donewhen.workspace.store.merge import merge

SESSION_TRAILER = "Donewhen-Session"
LONGEST_SUBJECT = 72
MOST_ROUNDS = 5
MOST_LOOKED_AT = 1000
"""Commits on a branch among which an earlier landing of the same work is looked for."""
MOST_NAMED = 5
FORGERY = re.compile(r"---|donewhen-[a-z-]*\s*:", re.IGNORECASE)
"""Lines of an intent that some reader of the message could take for a trailer of ours, or for the end before one."""

Rejudge = Callable[[str, str], Awaitable[Verdict]]
"""Judge a tree over a new base commit."""
WriteReceipt = Callable[[Verdict], Awaitable[str]]
"""Write the receipt of such a verdict; its digest."""


@frozen(kw_only=True)
class Plan:
    """What is to be landed; recorded, so that a repeated landing is the same commit."""

    session: str
    intent: str
    base: str
    tree: str
    """The judged tree (J)."""
    parent: str
    receipt_digest: str
    at: str
    """ISO time with a zone."""


@frozen
class Landing:
    branch: str
    commit: str
    applied: bool = False
    """The files of the checkout are those of the commit."""
    note: str = ""
    """What a person should know, such as why the files were left alone; one line."""


@frozen
class Refused:
    reason: str
    """One line; the repository is as it was."""
    paths: tuple[str, ...] = ()


# -- the commit --


def branch_name(session: str) -> str:
    return f"donewhen/{session}"


def message(plan: Plan) -> str:
    """The intent, and apart from it, as the last paragraph, who did it and where the evidence is."""
    lines = [_harmless(line) for line in _printable(plan.intent).splitlines()]
    text = "\n".join(lines).strip()
    first, _, rest = text.partition("\n")
    subject = subject_line(first) or f"The work of session {plan.session}"
    body = text if subject.endswith("…") else rest.strip("\n")
    trailers = f"{SESSION_TRAILER}: {plan.session}\n{TRAILER}: {plan.receipt_digest}\n"
    return "\n\n".join(part for part in (subject, body, trailers) if part)


def subject_line(text: str) -> str:
    """Somebody else's words as the first line of a message, or as a part of a trailer."""
    return _cut(" ".join(_printable(text).split()))


def _printable(text: str) -> str:
    plain = text.encode("utf-8", "replace").decode()
    return re.sub(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029]", " ", plain.replace("\r\n", "\n"))


def _harmless(line: str) -> str:
    return f"> {line.strip()}" if FORGERY.match(line.strip()) else line.rstrip()


def _cut(subject: str) -> str:
    """One line, cut between words where that leaves enough of it."""
    if len(subject) <= LONGEST_SUBJECT:
        return subject
    start = subject[: LONGEST_SUBJECT - 1]
    words = start.rpartition(" ")[0]
    return (words if len(words) > LONGEST_SUBJECT // 2 else start).rstrip() + "…"


def _commit(place: Workplace, plan: Plan) -> str:
    return commit_for(
        place.store, place.repo, tree=plan.tree, parent=plan.parent, message=message(plan), at=_time(plan)
    )


def _time(plan: Plan) -> datetime.datetime:
    return datetime.datetime.fromisoformat(plan.at)


# -- a branch of its own --


async def land_branch(place: Workplace, plan: Plan) -> Landing:
    """The work as the branch donewhen/ID. There may be none yet, or the very one that an earlier try made."""
    name = branch_name(plan.session)
    commit = _commit(place, plan)
    try:
        await _keep(place, plan.session, commit)
        await deliver(place.store, place.repo, commit)
        move_branch(place.repo, name, None, commit)
        await deliver(place.store, place.repo, commit)  # a garbage collection may have come in between
    except Moved as moved:
        if moved.there is None or not await _is_landing_of(place, plan, moved.there):
            raise
        # The user's name changed between two tries; the work is the same.
        await _keep(place, plan.session, moved.there)
        return Landing(name, moved.there)
    return Landing(name, commit)


async def land_apply(place: Workplace, plan: Plan) -> Landing:
    """The branch, and the files of the checkout if it is clean and shows the base; otherwise a note says why not."""
    landing = await land_branch(place, plan)
    store, repo = place.store, place.repo
    head = refs.follow(refs.read(repo.git, "HEAD"), repo.common)
    await mirror.refresh(store.bare, repo)  # the user may have committed a moment ago
    before = await store.tree_of(head) if head else ""
    if before not in (await store.tree_of(plan.base), plan.tree):
        return replace(landing, note=_left(landing, "HEAD is not at the files that the work began with"))
    try:
        await apply_to_checkout(store, repo, before, plan.tree)
    except NotLanded as refusal:
        return replace(landing, note=_left(landing, str(refusal)))
    return replace(landing, applied=True)


def _left(landing: Landing, why: str) -> str:
    return f"the files of the checkout were left alone ({why}); the work is on {landing.branch}"


def landed_already(repo: Repo, session: str, commit: str) -> bool:
    """Whether the session's branch points to a commit, for whoever recovers from a crash."""
    return tip(repo, branch_name(session)) == commit


# -- another branch --


async def land_onto(
    place: Workplace, plan: Plan, branch: str, rejudge: Rejudge, write_receipt: WriteReceipt
) -> Landing | Refused:
    """The work as one commit on top of a branch; judged again, with a receipt of its own, if the branch moved."""
    try:
        for _ in range(MOST_ROUNDS):
            landed = await _land_on_tip(place, plan, branch, rejudge, write_receipt)
            if landed is not None:
                return landed
    except NotLanded as refusal:
        return Refused(str(refusal))
    return Refused(f"the branch {shown(branch)} moved {MOST_ROUNDS} times while the work was judged for it")


async def _land_on_tip(
    place: Workplace, plan: Plan, branch: str, rejudge: Rejudge, write_receipt: WriteReceipt
) -> Landing | Refused | None:
    """One try; None when the branch moved meanwhile."""
    with held_branch(place.repo, branch) as held:  # also takes away a lock that a killed try left
        before = held.value
    if before is None:
        raise BadInput(f"{shown(branch)} is not a branch of {shown(str(place.repo.root))}")
    await mirror.refresh(place.store.bare, place.repo)  # after the look, so that what it saw is there
    earlier = await _earlier_landing(place, plan, before)
    if earlier:
        return Landing(branch, earlier, note=f"{shown(branch)} has this work already")
    if before != plan.parent:
        judged = await _judged_on(place, plan, before, branch, rejudge, write_receipt)
        if isinstance(judged, Refused):
            return judged
        plan = judged
    commit = _commit(place, plan)
    await place.store.keep(f"sessions/{plan.session}/onto", commit)
    try:
        applied = await _advance(place, branch, before, commit)
    except Moved:
        return None
    return Landing(branch, commit, applied)


async def _judged_on(
    place: Workplace, plan: Plan, before: str, branch: str, rejudge: Rejudge, write_receipt: WriteReceipt
) -> Plan | Refused:
    """The plan for a branch that moved: the work merged with what is there, and judged."""
    merged = await _merged(place, plan, before)
    if isinstance(merged, Refused):
        return merged
    if merged == await place.store.tree_of(before):
        return Refused(f"{shown(branch)} has the same files already; there is nothing to land")
    if place.repo.git_dir in worktrees_on(place.repo, branch):  # before minutes are spent on judging
        await refuse_to_apply(place.store, place.repo, await place.store.tree_of(before), merged)
    verdict = await rejudge(before, merged)
    if not verdict.green:
        red = [result.name for result in verdict.results if not result.quarantined and result.status is not Status.PASS]
        return Refused(f"not green on top of {shown(branch)} at {before[:12]}: {', '.join(red) or 'no check decides'}")
    if verdict.tree != merged:
        paths = tuple(edit.path for edit in verdict.edits)
        return Refused(f"protected paths would be taken back on top of {shown(branch)}: {_named(paths)}", paths)
    return replace(plan, tree=merged, parent=before, base=before, receipt_digest=await write_receipt(verdict))


async def _merged(place: Workplace, plan: Plan, before: str) -> str | Refused:
    """What the work changed, put on top of another commit, whatever the real history of the branch is by now."""
    store = place.store
    merged = await merge(store.bare, await store.tree_of(plan.parent), await store.tree_of(before), plan.tree)
    if not merged.conflicts:
        return merged.tree
    paths = tuple(sides.path for sides in merged.conflicts)
    return Refused(f"the work and the branch changed the same lines: {_named(paths)}", paths)


def _named(paths: tuple[str, ...]) -> str:
    more = f" and {len(paths) - MOST_NAMED} more" if len(paths) > MOST_NAMED else ""
    return ", ".join(shown(path) for path in paths[:MOST_NAMED]) + more


async def _advance(place: Workplace, branch: str, before: str, commit: str) -> bool:
    """Move the branch, and the files of the checkout that stands on it; whether there was one.

    The files go first: a crash in between leaves changes that git shows, and not a branch whose work seems undone.
    """
    store, repo = place.store, place.repo
    await deliver(store, repo, commit)
    with held_branch(repo, branch) as held:
        held.expect(before)
        on_it = worktrees_on(repo, branch)
        refuse_checked_out(repo, branch, [git_dir for git_dir in on_it if git_dir != repo.git_dir])
        if on_it:
            await apply_to_checkout(store, repo, await store.tree_of(before), await store.tree_of(commit))
        await deliver(store, repo, commit)
        held.move(commit)
    await deliver(store, repo, commit)
    return bool(on_it)


# -- what was landed before --


async def _earlier_landing(place: Workplace, plan: Plan, end: str) -> str:
    """A commit on the branch that is this very landing, by an earlier try or merged by the user."""
    options = (f"--max-count={MOST_LOOKED_AT}", "--fixed-strings", f"--grep={SESSION_TRAILER}: {plan.session}")
    answer = await place.store.bare.run("rev-list", *options, end, f"^{plan.parent}")
    for commit in answer.decode().split():
        if await _is_landing_of(place, plan, commit, anywhere=True):
            return commit
    return ""


async def _is_landing_of(place: Workplace, plan: Plan, commit: str, anywhere: bool = False) -> bool:
    """Whether a commit was made for this plan: the same words at the same time; whoever the user was then."""
    await mirror.refresh(place.store.bare, place.repo)
    (content,) = await place.store.bare.contents([commit])
    head, _, said = content.decode("utf-8", "surrogateescape").partition("\n\n")
    lines = head.split("\n")
    made_then = any(line.startswith("author ") and line.endswith(f" {stamp(_time(plan))}") for line in lines)
    same_place = {f"tree {plan.tree}", f"parent {plan.parent}"} <= set(lines)
    same_words = said.partition(f"\n{SESSION_TRAILER}: ")[0] == message(plan).partition(f"\n{SESSION_TRAILER}: ")[0]
    return made_then and same_words and f"\n{SESSION_TRAILER}: {plan.session}\n" in said and (anywhere or same_place)


async def _keep(place: Workplace, session: str, commit: str) -> None:
    """Remember which commit the session's branch is made for, before anybody can see it."""
    await place.store.keep(f"sessions/{session}/landed", commit)


# -- taking it back --


async def discard(place: Workplace, session: str) -> str:
    """Remove the session's branch if it is still what we landed, and let go of its objects; what was left, or nothing.

    What the user made of the branch, and what landed on other branches, stays.
    """
    pins = await _pins(place, session)
    left = ""
    landed = pins.get("landed")
    there = tip(place.repo, branch_name(session))
    if landed is not None:
        try:
            remove_branch(place.repo, branch_name(session), landed)
        except NotLanded as refusal:
            left = f"the branch {branch_name(session)} was left: {refusal}"
    elif there is not None:
        left = f"the branch {branch_name(session)} was left: it is not known to be this session's"
    for name in sorted(pins, key=lambda name: name == "landed"):
        await place.store.release(f"sessions/{session}/{name}")
    return left


async def _pins(place: Workplace, session: str) -> dict[str, str]:
    prefix = f"refs/donewhen/sessions/{session}/"
    answer = await place.store.bare.run("for-each-ref", "--format=%(objectname) %(refname)", prefix)
    lines = [line.split(" ", 1) for line in answer.decode().splitlines()]
    return {name.removeprefix(prefix): id for id, name in lines}
